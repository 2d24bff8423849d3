"""Our own backend tasks about fees, prices, points and marks: numbers with rules behind them."""

from __future__ import annotations

from trainer.worlds.colbench.tasks.family import Family, Secret

_LATE_FEE = Family(
    name="late-fee",
    story=(
        "I run $place and people keep our $things too long. Please write a Python function that "
        "works out what they owe."
    ),
    signature="def $fn(days_late, is_member)",
    reference="""\
    if days_late <= $grace:
        return 0.0
    fee = (days_late - $grace) * $rate
    if is_member:
        fee = fee * $share
    return round(min(fee, $cap), 2)
""",
    secrets=(
        Secret("edge_case", "days_late <= $grace costs nothing",
               "The first $grace days are free and are not counted afterwards either.",
               ("grace period", "free days", "short delay")),
        Secret("constant", "fee rate per late day is $rate",
               "Each counted day costs $rate.", ("daily rate", "price per day", "cost of a day")),
        Secret("branch", "is_member multiplies the fee by $share",
               "Members pay the sum times $share.", ("members discount", "membership")),
        Secret("constant", "min(fee, $cap) as the upper bound",
               "Nobody ever pays more than $cap.", ("maximum", "upper limit", "cap")),
        Secret("return_shape", "round(fee, 2) as a float",
               "I want an amount with cents, so two places after the point.",
               ("rounding", "decimals", "result format", "return")),
    ),
    calls=(
        "$fn(0, False)", "$fn($grace, False)", "$fn($grace + 1, False)", "$fn(7, True)",
        "$fn(9, False)", "$fn(15, True)", "$fn(400, False)", "$fn(400, True)", "$fn(-3, True)",
        "$fn(12, False)",
    ),
    variants=(
        {"fn": "late_fee", "place": "a toy library", "things": "board games", "grace": 2,
         "rate": 0.35, "share": 0.5, "cap": 12},
        {"fn": "overdue_charge", "place": "a tool shed for the village", "things": "drills",
         "grace": 1, "rate": 1.15, "share": 0.8, "cap": 40},
        {"fn": "tent_penalty", "place": "a camping club", "things": "tents", "grace": 3,
         "rate": 2.45, "share": 0.6, "cap": 75},
        {"fn": "score_fine", "place": "the archive of a brass band", "things": "scores",
         "grace": 4, "rate": 0.15, "share": 0.25, "cap": 6},
        {"fn": "costume_fine", "place": "the wardrobe of a theatre", "things": "costumes",
         "grace": 5, "rate": 3.05, "share": 0.7, "cap": 90},
    ),
)  # fmt: skip

_PARCEL = Family(
    name="parcel",
    story="Our $shop sends parcels. I need a Python function that tells the price of one.",
    signature="def $fn(weight, zone)",
    reference="""\
    prices = {"$near": $base, "$far": $base_far}
    if zone not in prices:
        return -1
    kilos = -(-weight // 1000)
    price = prices[zone] + kilos * $kilo
    if kilos > $heavy:
        price += $extra
    return price
""",
    secrets=(
        Secret("signature", "weight is an int in grams",
               "Our scales show grams, and every begun kilo counts as a whole one.",
               ("unit of the weight", "grams or kilos", "scales")),
        Secret("constant", "base prices $near $base and $far $base_far",
               "It starts at $base for '$near' and at $base_far for '$far'.",
               ("base price of each zone", "zones", "start price")),
        Secret("constant", "each kilo adds $kilo",
               "On top of that comes $kilo for every kilo.", ("price per kilo", "kilo")),
        Secret("branch", "above $heavy kilos add $extra",
               "Beyond $heavy kilos the carrier wants $extra more, once.",
               ("heavy parcels", "surcharge")),
        Secret("edge_case", "unknown zone returns -1",
               "For any other destination name give me minus one.",
               ("unknown destination", "invalid zone", "other names")),
    ),
    calls=(
        "$fn(1, '$near')", "$fn(1000, '$near')", "$fn(1001, '$far')", "$fn(0, '$far')",
        "$fn($heavy * 1000, '$near')", "$fn($heavy * 1000 + 1, '$near')", "$fn(2500, 'moon')",
        "$fn(25000, '$far')", "$fn(3999, '$far')", "$fn(500, '')",
    ),
    variants=(
        {"fn": "parcel_price", "shop": "honey shop", "near": "valley", "far": "abroad",
         "base": 4, "base_far": 11, "kilo": 2, "heavy": 5, "extra": 6},
        {"fn": "shipping_cost", "shop": "pottery", "near": "inland", "far": "island",
         "base": 6, "base_far": 14, "kilo": 3, "heavy": 8, "extra": 9},
        {"fn": "postage", "shop": "seed exchange", "near": "home", "far": "overseas",
         "base": 2, "base_far": 7, "kilo": 5, "heavy": 3, "extra": 4},
        {"fn": "freight", "shop": "bicycle workshop", "near": "city", "far": "country",
         "base": 9, "base_far": 16, "kilo": 4, "heavy": 10, "extra": 25},
        {"fn": "crate_price", "shop": "cider press", "near": "county", "far": "coast",
         "base": 5, "base_far": 13, "kilo": 6, "heavy": 7, "extra": 17},
    ),
)  # fmt: skip

_POINTS = Family(
    name="points",
    story=(
        "Customers of our $shop collect points. Write a Python function that adds them up for "
        "a list of purchases."
    ),
    signature="def $fn(amounts, level)",
    reference="""\
    total = 0
    for amount in amounts:
        if amount < 0:
            continue
        points = int(amount) * $per_unit
        if amount >= $large:
            points += $bonus
        total += points
    if level == "$level":
        total = total * $factor
    return (total, "$high" if total >= $border else "$low")
""",
    secrets=(
        Secret("constant", "points are int(amount) * $per_unit",
               "Every whole coin spent gives $per_unit, cents are ignored.",
               ("points per coin", "rate", "how many for each")),
        Secret("branch", "amount >= $large adds a bonus of $bonus",
               "A single purchase of $large or more earns $bonus on top.",
               ("large purchase bonus", "extra")),
        Secret("branch", "level '$level' multiplies the total by $factor",
               "With '$level' the sum counts $factor times.", ("level", "status", "multiplier")),
        Secret("edge_case", "negative amounts are skipped",
               "Refunds show up below zero; leave them out.", ("negative values", "refunds")),
        Secret("return_shape", "tuple of total and '$high' from $border on, else '$low'",
               "Give me the sum and a word: '$high' from $border on, before that '$low'.",
               ("result", "return value", "output format")),
    ),
    calls=(
        "$fn([], 'none')", "$fn([3.9], 'none')", "$fn([$large], 'none')",
        "$fn([$large, 5.5, -4], '$level')", "$fn([-1, -2.5], '$level')", "$fn([12.25, 30], 'x')",
        "$fn([200, 300], '$level')", "$fn([$border], 'none')", "$fn([1, 1, 1, 0.99], '$level')",
        "$fn([$large - 0.01], 'none')",
    ),
    variants=(
        {"fn": "count_points", "shop": "bakery", "per_unit": 3, "large": 25, "bonus": 10,
         "level": "gold", "factor": 2, "border": 150, "high": "regular", "low": "guest"},
        {"fn": "collect_beans", "shop": "coffee bar", "per_unit": 2, "large": 18, "bonus": 7,
         "level": "roaster", "factor": 3, "border": 90, "high": "friend", "low": "newcomer"},
        {"fn": "sum_stamps", "shop": "bookshop", "per_unit": 5, "large": 40, "bonus": 30,
         "level": "patron", "factor": 2, "border": 400, "high": "bookworm", "low": "reader"},
        {"fn": "tally_leaves", "shop": "plant nursery", "per_unit": 4, "large": 60, "bonus": 15,
         "level": "grower", "factor": 5, "border": 320, "high": "oak", "low": "sprout"},
        {"fn": "add_shells", "shop": "aquarium", "per_unit": 6, "large": 35, "bonus": 21,
         "level": "diver", "factor": 4, "border": 260, "high": "whale", "low": "shrimp"},
    ),
)  # fmt: skip

_MARK = Family(
    name="mark",
    story="I teach $subject and want a Python function that gives a student's final word.",
    signature="def $fn(scores, exam)",
    reference="""\
    if len(scores) < $least:
        return "$missing"
    kept = sorted(scores)[$drop:]
    mean = sum(kept) / len(kept)
    final = mean * $weight + exam * (1 - $weight)
    if exam < $floor:
        return "$failed"
    return "$great" if final >= $border else "$passed"
""",
    secrets=(
        Secret("edge_case", "fewer than $least scores returns '$missing'",
               "Whoever handed in less than $least sheets gets '$missing'.",
               ("too few sheets", "missing work")),
        Secret("constant", "the $drop lowest scores are dropped",
               "I strike the worst $drop before averaging.", ("worst results", "strike", "lowest")),
        Secret("constant", "course weight $weight against the exam",
               "The average counts $weight and the exam the rest of one.",
               ("weight of course and exam", "share")),
        Secret("branch", "exam below $floor returns '$failed'",
               "Under $floor in the last test it is '$failed', whatever the rest.",
               ("minimum in the exam", "fail")),
        Secret("return_shape", "'$great' from $border on, else '$passed'",
               "From $border on I write '$great', else '$passed'.",
               ("words of the result", "labels", "return")),
    ),
    calls=(
        "$fn([], 50)", "$fn([80] * $least, 90)", "$fn([10, 20, 90, 95, 99], 88)",
        "$fn([100, 100, 100, 100, 100], $floor - 1)", "$fn([60, 61, 62, 63, 64], $floor)",
        "$fn([0, 0, 0, 0, 0, 0], 100)", "$fn([70, 75, 80, 85], 72)", "$fn([$border] * 6, $border)",
        "$fn([55, 90, 20, 88, 91, 93], 79)", "$fn([1], 100)",
    ),
    variants=(
        {"fn": "final_word", "subject": "astronomy", "least": 3, "missing": "incomplete",
         "drop": 1, "weight": 0.4, "floor": 45, "failed": "retry", "border": 82,
         "great": "stellar", "passed": "orbiting"},
        {"fn": "course_word", "subject": "pottery", "least": 4, "missing": "unfinished",
         "drop": 2, "weight": 0.25, "floor": 50, "failed": "cracked", "border": 77,
         "great": "glazed", "passed": "fired"},
        {"fn": "class_result", "subject": "sailing", "least": 2, "missing": "ashore",
         "drop": 1, "weight": 0.5, "floor": 40, "failed": "sunk", "border": 70,
         "great": "captain", "passed": "crew"},
        {"fn": "term_label", "subject": "botany", "least": 4, "missing": "seed", "drop": 1,
         "weight": 0.75, "floor": 35, "failed": "wilted", "border": 86, "great": "blooming",
         "passed": "green"},
        {"fn": "chess_title", "subject": "chess", "least": 3, "missing": "absent", "drop": 2,
         "weight": 0.6, "floor": 55, "failed": "mated", "border": 79, "great": "queen",
         "passed": "knight"},
    ),
)  # fmt: skip

_ROUTE = Family(
    name="route",
    story="We plan tours by $vehicle. I need a Python function that tells how long one takes.",
    signature="def $fn(distance, stops, at_night)",
    reference="""\
    if distance <= 0:
        return "$nothing"
    minutes = distance * 60 / $speed + stops * $pause
    if at_night:
        minutes = minutes * $slow
    if stops > $many:
        minutes += $rest
    whole = int(minutes + 0.5)
    return f"{whole // 60}$mark{whole % 60:02d}"
""",
    secrets=(
        Secret("constant", "travel speed $speed km per hour",
               "We make about $speed kilometres in an hour.", ("speed", "how fast")),
        Secret("constant", "each stop adds $pause minutes",
               "A halt takes $pause minutes.", ("time of a stop", "halts")),
        Secret("branch", "at_night multiplies minutes by $slow",
               "In the dark everything takes $slow times as long.", ("night", "darkness")),
        Secret("branch", "more than $many stops adds $rest minutes",
               "After more than $many halts the crew rests once, for $rest minutes.",
               ("rest of the crew", "many halts")),
        Secret("return_shape", "hours $mark two-digit minutes as a string",
               "Write it like 1${mark}05: hours, then '$mark', then two digits; half up.",
               ("output format", "result", "return", "string")),
        Secret("edge_case", "distance <= 0 returns '$nothing'",
               "Without any way to go, answer '$nothing'.",
               ("zero or negative distance", "empty tour")),
    ),
    calls=(
        "$fn(0, 3, False)", "$fn(10, 0, False)", "$fn(25, 2, True)", "$fn(100, $many, False)",
        "$fn(100, $many + 1, False)", "$fn(7.5, 1, True)", "$fn(-4, 0, True)",
        "$fn(240, 12, True)", "$fn(1, 0, False)", "$fn(61.3, 5, False)",
    ),
    variants=(
        {"fn": "tour_time", "vehicle": "cargo bike", "speed": 18, "pause": 4, "slow": 1.25,
         "many": 6, "rest": 20, "mark": ":", "nothing": "none"},
        {"fn": "ferry_time", "vehicle": "ferry", "speed": 24, "pause": 11, "slow": 1.5,
         "many": 3, "rest": 35, "mark": "h", "nothing": "docked"},
        {"fn": "sledge_time", "vehicle": "dog sledge", "speed": 15, "pause": 9, "slow": 1.75,
         "many": 4, "rest": 50, "mark": ".", "nothing": "asleep"},
        {"fn": "van_time", "vehicle": "bookmobile", "speed": 40, "pause": 25, "slow": 1.2,
         "many": 5, "rest": 45, "mark": "-", "nothing": "parked"},
        {"fn": "canoe_time", "vehicle": "canoe", "speed": 6, "pause": 15, "slow": 2.5,
         "many": 2, "rest": 30, "mark": "/", "nothing": "dry"},
    ),
)  # fmt: skip

FAMILIES = (_LATE_FEE, _PARCEL, _POINTS, _MARK, _ROUTE)
