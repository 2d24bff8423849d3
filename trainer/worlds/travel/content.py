"""The closed vocabulary of our own travel tasks: topics, values, and how users voice them.

Every value is one word and belongs to one topic of one aspect, every statement belongs to one
value, so a script can read a user's wish back from the words alone. Nothing here knows about
single tasks; only the generator and scripted players read it.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """One thing a traveller may have a preference about, within an aspect."""

    direct: str
    """A statement that names the value, `{}` standing for it."""
    wish: str
    """The preference in plain words, `{}` standing for the value; it is the secret."""
    cues: tuple[str, ...]
    """Further words of a question that asks for this topic."""
    hints: dict[str, tuple[str, ...]]
    """For each value: statements that imply it without naming it."""


SMALL_TOPICS: dict[str, tuple[str, str]] = {
    "flight": ("time", "seat"),
    "hotel": ("room", "area"),
    "restaurant": ("food", "mood"),
}
"""The aspects and topics of the small tier: always both topics, nothing else is listed."""

TOPICS: dict[str, dict[str, Topic]] = {
    "flight": {
        "time": Topic(
            "I want the {} flight.",
            "the flight has to leave at this time of day: {}",
            ("departure", "leave", "depart", "when"),
            {
                "morning": ("I am wide awake at dawn.", "I want the whole day ahead of me."),
                "noon": ("I would like to board around lunch.",),
                "evening": ("I can only leave once my office has closed.",),
                "night": ("I would rather sleep my way through the trip.",),
            },
        ),
        "seat": Topic(
            "I like the {} seat.",
            "the seat on the plane has to be: {}",
            ("sit", "row"),
            {
                "window": ("I love to watch the clouds.", "I lean on the wall when I doze."),
                "aisle": ("I get up and stretch my legs a lot.",),
                "front": ("I hate waiting to get off the plane.",),
                "rear": ("I enjoy being close to the galley.",),
            },
        ),
        "stops": Topic(
            "Make it {} on the way.",
            "the number of stops on the way has to be: {}",
            ("stop", "layover", "connection", "transfer"),
            {
                "nonstop": ("Changing planes makes me nervous.",),
                "onestop": ("One short break on the ground does me good.",),
                "stopover": ("I would enjoy a night in a city on the way.",),
            },
        ),
        "bag": Topic(
            "I travel with {} luggage.",
            "the fare has to include this luggage: {}",
            ("luggage", "baggage", "suitcase"),
            {
                "cabin": ("I own one small backpack.",),
                "checked": ("I pack far too many clothes.",),
                "sports": ("My skis come along.",),
            },
        ),
    },
    "hotel": {
        "room": Topic(
            "A {} room, please.",
            "the hotel room has to be: {}",
            ("bedroom", "sleep", "chamber"),
            {
                "quiet": ("I am a light sleeper.", "Noise keeps me up."),
                "sunny": ("Dark places make me gloomy.",),
                "large": ("I do yoga beside the bed.",),
                "modern": ("Old furniture makes me sneeze.",),
            },
        ),
        "area": Topic(
            "Near the {}, please.",
            "the hotel has to be close to: {}",
            ("location", "neighbourhood", "near", "district"),
            {
                "beach": ("I swim in the sea before breakfast.",),
                "station": ("I arrive by train with heavy cases.",),
                "park": ("I jog between trees.",),
                "museum": ("I spend my days with old paintings.",),
            },
        ),
        "meal": Topic(
            "I would take {} at the house.",
            "the hotel has to offer: {}",
            ("breakfast", "board", "dining"),
            {
                "buffet": ("I like to fill my plate myself.",),
                "halfboard": ("I am too tired to go out for dinner.",),
                "kitchenette": ("I warm up milk for my baby.",),
            },
        ),
        "leisure": Topic(
            "It should have a {}.",
            "the hotel has to have a: {}",
            ("facility", "amenity", "relax"),
            {
                "pool": ("My children live in the water.",),
                "sauna": ("Heat is good for my back.",),
                "gym": ("I lift weights every day.",),
            },
        ),
    },
    "restaurant": {
        "food": Topic(
            "I want {} food.",
            "the restaurant has to serve this kitchen: {}",
            ("cuisine", "kitchen", "eat", "dish"),
            {
                "thai": ("Lemongrass and coconut make me happy.",),
                "italian": ("I could live on pasta.",),
                "indian": ("I crave a good curry.",),
                "greek": ("Feta and olives remind me of home.",),
            },
        ),
        "mood": Topic(
            "A {} place, please.",
            "the restaurant has to feel: {}",
            ("atmosphere", "ambience", "vibe"),
            {
                "calm": ("We want to hear each other talk.",),
                "lively": ("I like a crowd around me.",),
                "cosy": ("Candles and a fireplace would be lovely.",),
                "formal": ("I will wear my best suit.",),
            },
        ),
        "table": Topic(
            "The {} for our table, please.",
            "the table has to be on the: {}",
            ("tables", "outside", "inside"),
            {
                "terrace": ("I want to eat under the sky.",),
                "balcony": ("A view from above is what I am after.",),
                "booth": ("I like high backs around my bench.",),
            },
        ),
        "diet": Topic(
            "There must be {} dishes.",
            "the menu has to have dishes that are: {}",
            ("allergy", "diets", "avoid"),
            {
                "vegan": ("I eat nothing that comes from animals.",),
                "glutenfree": ("Wheat gives me a stomach ache.",),
                "halal": ("I follow the food rules of Islam.",),
            },
        ),
    },
    "rental_car": {
        "size": Topic(
            "I would drive a {}.",
            "the car has to be a: {}",
            ("class", "big", "small", "model"),
            {
                "compact": ("I park in narrow lanes.",),
                "van": ("There are seven of us.",),
                "estate": ("I carry a cello around.",),
            },
        ),
        "gear": Topic(
            "I shift {}.",
            "the gearbox has to be: {}",
            ("gearbox", "transmission", "shift"),
            {
                "manual": ("I like to feel the clutch.",),
                "automatic": ("My left foot is in plaster.",),
            },
        ),
        "fuel": Topic(
            "I would go {}.",
            "the engine has to be: {}",
            ("engine", "charge", "power"),
            {
                "electric": ("I only want to use a plug.",),
                "hybrid": ("I want both a plug and a tank.",),
                "diesel": ("I cover a thousand miles a day.",),
            },
        ),
        "extra": Topic(
            "I need a {} with it.",
            "the car has to come with a: {}",
            ("equipment", "accessory", "add"),
            {
                "childseat": ("My toddler rides with me.",),
                "roofrack": ("My kayak comes along.",),
                "satnav": ("I get lost without a voice telling me where to turn.",),
            },
        ),
    },
    "apartment": {
        "floor": Topic(
            "The {} storey suits me.",
            "the apartment has to be on this floor: {}",
            ("storey", "level", "stairs"),
            {
                "ground": ("Stairs hurt my knees.",),
                "middle": ("Neither street noise nor a hot roof, please.",),
                "attic": ("I want nobody walking above my head.",),
            },
        ),
        "outdoors": Topic(
            "With a {}, please.",
            "the apartment has to have a: {}",
            ("outdoor", "garden", "air"),
            {
                "yard": ("My dog needs grass.",),
                "loggia": ("I dry my laundry in the wind, but out of the rain.",),
                "rooftop": ("I look at stars with my telescope.",),
            },
        ),
        "work": Topic(
            "I need a {} there.",
            "the apartment has to offer for work a: {}",
            ("working", "office", "job"),
            {
                "desk": ("I write letters by hand for hours.",),
                "fibre": ("I upload films all day.",),
                "studio": ("I practise the drums.",),
            },
        ),
        "chores": Topic(
            "One {} is a must.",
            "the apartment has to contain a: {}",
            ("household", "appliance", "washing"),
            {
                "washer": ("I brought clothes for three days only.",),
                "dishwasher": ("I cook for ten every night.",),
                "oven": ("I bake my own bread.",),
            },
        ),
    },
}
"""Aspect -> topic -> how it is talked about."""

LETTERS = {"flight": "F", "hotel": "H", "apartment": "A", "rental_car": "C", "restaurant": "R"}
"""First letter of an option's id, by aspect."""


def values(aspect: str, topic: str) -> tuple[str, ...]:
    """Return the values a topic can take."""
    return tuple(TOPICS[aspect][topic].hints)


def statements(aspect: str, topic: str, value: str) -> tuple[str, ...]:
    """Return every sentence that voices a value, the direct one first."""
    entry = TOPICS[aspect][topic]
    return (entry.direct.format(value), *entry.hints[value])


VOICED: dict[str, tuple[str, str, str]] = {
    statement: (aspect, topic, value)
    for aspect, topics in TOPICS.items()
    for topic in topics
    for value in values(aspect, topic)
    for statement in statements(aspect, topic, value)
}
"""Statement -> the aspect, topic and value that it voices."""
