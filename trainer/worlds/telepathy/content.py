"""The attributes of our own telepathy tasks: what each is called, asked and answered by.

A closed table that the loader and the scripted players share. Nothing here knows a thing that has
these attributes.
"""

from __future__ import annotations

from typing import NamedTuple


class Attribute(NamedTuple):
    """One property that a thing has, has not, or has sometimes."""

    name: str
    question: str
    """How a player asks for it."""
    cues: tuple[str, ...]
    """Words and phrases of other questions for it."""
    yes: str
    no: str
    maybe: str

    def answer(self, value: str) -> str:
        """Return the user's sentence for a value, which is `yes`, `no` or `maybe`."""
        return {"yes": self.yes, "no": self.no, "maybe": self.maybe}[value]


def _attribute(name: str, question: str, cues: tuple[str, ...], clause: str, no: str) -> Attribute:
    return Attribute(
        name, question, cues, f"Yes, {clause}.", f"No, {no}.", f"Maybe; sometimes {clause}."
    )


ATTRIBUTES = (
    _attribute(
        "alive", "Is it alive?", ("living", "living thing"), "it is alive", "it is not alive"
    ),
    _attribute(
        "animal", "Is it an animal?", ("creature", "mammal", "beast"), "it is an animal",
        "it is no animal",
    ),
    _attribute(
        "plant", "Is it a plant?", ("tree", "vegetable", "flower", "fruit", "grow"),
        "it is a plant or part of one", "it is no plant",
    ),
    _attribute(
        "edible", "Is it food?", ("eat", "food", "tasty", "eaten"), "people eat it",
        "people do not eat it",
    ),
    _attribute(
        "manmade", "Is it made by people?",
        ("man made", "artificial", "built", "manufactured", "humans", "people made"),
        "people make it", "people do not make it",
    ),
    _attribute(
        "metal", "Is it made of metal?", ("steel", "iron", "metallic"), "there is metal in it",
        "there is no metal in it",
    ),
    _attribute(
        "electric", "Does it need electricity?", ("electric", "power", "battery", "plug", "engine"),
        "it runs on electricity or an engine", "it runs on neither electricity nor an engine",
    ),
    _attribute(
        "large", "Is it larger than a person?", ("bigger", "big", "large", "huge", "size"),
        "it is larger than a person", "it is not larger than a person",
    ),
    _attribute(
        "handheld", "Does it fit in a hand?", ("hand", "small", "hold", "carry", "tiny"),
        "it fits in a hand", "it does not fit in a hand",
    ),
    _attribute(
        "household", "Is it found in a house?", ("home", "house", "kitchen", "indoors", "room"),
        "one finds it in a house", "one does not find it in a house",
    ),
    _attribute(
        "flying", "Can it fly?", ("fly", "wings", "air", "sky"), "it flies", "it does not fly"
    ),
    _attribute(
        "water", "Does it belong in water?", ("sea", "swim", "ocean", "lake", "float"),
        "it belongs in or on water", "it does not belong in water",
    ),
    _attribute(
        "wheels", "Does it have wheels?", ("wheel", "roll", "drive"), "it has wheels",
        "it has no wheels",
    ),
    _attribute(
        "sound", "Does it make a sound?", ("noise", "loud", "music", "hear"), "one can hear it",
        "it is silent",
    ),
    _attribute(
        "old", "Did it exist three hundred years ago?", ("old", "ancient", "centuries", "history"),
        "it was known three hundred years ago", "it is younger than three hundred years",
    ),
    _attribute(
        "opens", "Can it be opened or unfolded?", ("open", "fold", "close", "shut", "unfold"),
        "it can be opened or unfolded", "there is nothing to open",
    ),
)  # fmt: skip
"""Every attribute; a record gives one letter for each: y, n or m."""
