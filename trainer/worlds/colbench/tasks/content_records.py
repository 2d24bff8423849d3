"""Our own backend tasks about texts, lists and records: shapes with rules behind them."""

from __future__ import annotations

from trainer.worlds.colbench.tasks.family import Family, Secret

_CODE = Family(
    name="code",
    story="Every $thing in our $place gets a short code. Write a Python function that makes it.",
    signature="def $fn(name, number)",
    reference="""\
    letters = "".join(sign for sign in name.upper() if sign.isalpha())[:$keep]
    letters = letters.ljust($keep, "$pad")
    if number < 0:
        return letters + "$lost"
    return letters + "$sep" + str(number % $modulus).zfill($width)
""",
    secrets=(
        Secret("constant", "the first $keep letters, upper case, signs removed",
               "It opens with $keep capitals of the name; digits and blanks are left out.",
               ("letters of the name", "how many capitals")),
        Secret("edge_case", "short names are padded with '$pad'",
               "If the name has too few, I fill up with $pad.", ("short names", "padding", "fill")),
        Secret("constant", "number modulo $modulus",
               "Of the count only what is left after dividing by $modulus goes in.",
               ("big numbers", "modulo", "remainder")),
        Secret("return_shape", "separator '$sep' and $width digits with zeros",
               "Then comes '$sep' and always $width figures, zeros in front.",
               ("separator", "digits", "format")),
        Secret("branch", "negative number gives '$lost' instead of digits",
               "Below zero means it is gone: I put '$lost' behind the capitals.",
               ("negative numbers", "below zero")),
    ),
    calls=(
        "$fn('amber', 7)", "$fn('ox', 12)", "$fn('', 3)", "$fn('Blue 42 Whale', $modulus)",
        "$fn('quartz', $modulus + 5)", "$fn('zinc', -1)", "$fn('a-b-c-d-e-f', 99999)",
        "$fn('Mercury', 0)", "$fn('9', -20)", "$fn('granite', 4321)",
    ),
    variants=(
        {"fn": "make_code", "thing": "stone", "place": "museum", "keep": 3, "pad": "X",
         "modulus": 1000, "sep": "-", "width": 4, "lost": "?"},
        {"fn": "shelf_mark", "thing": "jar", "place": "pharmacy", "keep": 4, "pad": "Q",
         "modulus": 97, "sep": "/", "width": 3, "lost": "!"},
        {"fn": "tag_of", "thing": "sheep", "place": "farm", "keep": 2, "pad": "O",
         "modulus": 500, "sep": "_", "width": 5, "lost": "#"},
        {"fn": "locker_id", "thing": "locker", "place": "swimming pool", "keep": 5, "pad": "Z",
         "modulus": 64, "sep": ".", "width": 2, "lost": "*"},
        {"fn": "hull_sign", "thing": "boat", "place": "harbour", "keep": 4, "pad": "V",
         "modulus": 730, "sep": "+", "width": 6, "lost": "~"},
    ),
)  # fmt: skip

_READINGS = Family(
    name="readings",
    story="Our $device sends a list of $values. I need a Python function that sums them up.",
    signature="def $fn(values)",
    reference="""\
    kept = [value for value in values if $low <= value <= $high]
    if not kept:
        return {"$count": 0, "$mean": $empty}
    mean = round(sum(kept) / len(kept), $digits)
    report = {"$count": len(kept), "$mean": mean}
    if max(kept) - min(kept) > $spread:
        report["$alarm"] = True
    return report
""",
    secrets=(
        Secret("constant", "only $low <= value <= $high is kept",
               "Anything outside $low to $high is a glitch and does not count; both ends do.",
               ("valid range", "outliers", "glitches")),
        Secret("return_shape", "dict with '$count' and '$mean'",
               "A dictionary: '$count' for how many, '$mean' for the average.",
               ("keys of the result", "return", "dictionary")),
        Secret("constant", "mean rounded to $digits digits",
               "The average has $digits places after the point.", ("rounding", "decimals")),
        Secret("edge_case", "nothing kept gives mean $empty",
               "When no usable one is left, I want $empty as the average.",
               ("empty list", "nothing left")),
        Secret("branch", "spread above $spread adds '$alarm': True",
               "If highest and lowest lie more than $spread apart, add '$alarm' as true.",
               ("large differences", "alarm", "spread")),
    ),
    calls=(
        "$fn([])", "$fn([$low])", "$fn([$low, $high])", "$fn([$low - 1, $high + 1])",
        "$fn([$low + 1, $low + 2, $low + 2.5])", "$fn([$high - 0.123, $high - 0.456])",
        "$fn([5000, $low + 3])", "$fn([$low + 1, $low + 1 + $spread])",
        "$fn([$low + 1, $low + 1.5 + $spread])", "$fn([$low + 0.3333, $low + 0.6666, -9999])",
    ),
    variants=(
        {"fn": "sum_up", "device": "weather mast", "values": "wind speeds", "low": 0, "high": 60,
         "count": "gusts", "mean": "average", "digits": 1, "empty": -1, "spread": 25,
         "alarm": "storm"},
        {"fn": "report_of", "device": "beehive", "values": "temperatures", "low": 10, "high": 45,
         "count": "n", "mean": "warmth", "digits": 2, "empty": 0, "spread": 8, "alarm": "swarm"},
        {"fn": "digest", "device": "river gauge", "values": "water levels", "low": 20,
         "high": 900, "count": "valid", "mean": "level", "digits": 0, "empty": -99,
         "spread": 150, "alarm": "flood"},
        {"fn": "night_report", "device": "telescope", "values": "brightness values", "low": 3,
         "high": 22, "count": "frames", "mean": "light", "digits": 3, "empty": 100, "spread": 6,
         "alarm": "clouds"},
        {"fn": "oven_report", "device": "bread oven", "values": "heat values", "low": 120,
         "high": 280, "count": "probes", "mean": "heat", "digits": 2, "empty": 20, "spread": 35,
         "alarm": "uneven"},
    ),
)  # fmt: skip

_SLOTS = Family(
    name="slots",
    story="Please write a Python function that plans the $sessions of one day at our $place.",
    signature="def $fn(start, end)",
    reference="""\
    if end < start:
        end += 1440
    slots = []
    at = start
    while at + $length <= end and len(slots) < $most:
        slots.append((at, at + $length))
        at += $length + $gap
        if len(slots) % $every == 0:
            at += $pause
    return slots
""",
    secrets=(
        Secret("signature", "start and end are minutes after midnight",
               "I count in minutes since midnight, whole numbers.", ("unit of the times", "clock")),
        Secret("constant", "slot length $length with a gap of $gap",
               "One lasts $length, and $gap pass before the next.",
               ("length of a session", "duration", "gap")),
        Secret("branch", "after every $every slots pause $pause more",
               "After each $every of them there is a break of $pause more.",
               ("breaks", "pause")),
        Secret("constant", "at most $most slots",
               "We never hold more than $most.", ("maximum number", "how many")),
        Secret("edge_case", "end < start adds 1440",
               "If we close before we open, that is on the following day.",
               ("past midnight", "end before the start")),
        Secret("return_shape", "list of (start, end) tuples",
               "I need a list of pairs, from and to.", ("return", "result", "list")),
    ),
    calls=(
        "$fn(540, 540)", "$fn(540, 600)", "$fn(540, 720)", "$fn(480, 1020)", "$fn(1380, 60)",
        "$fn(0, 1439)", "$fn(540, 540 + $length)", "$fn(540, 539 + $length)", "$fn(600, 840)",
        "$fn(1200, 30)",
    ),
    variants=(
        {"fn": "plan_day", "sessions": "guided walks", "place": "lighthouse", "length": 45,
         "gap": 5, "every": 3, "pause": 30, "most": 8},
        {"fn": "tasting_times", "sessions": "tastings", "place": "cheese cellar", "length": 50,
         "gap": 10, "every": 2, "pause": 25, "most": 6},
        {"fn": "lesson_times", "sessions": "lessons", "place": "climbing hall", "length": 30,
         "gap": 0, "every": 4, "pause": 20, "most": 11},
        {"fn": "show_times", "sessions": "shows", "place": "planetarium", "length": 55, "gap": 15,
         "every": 2, "pause": 40, "most": 7},
        {"fn": "sauna_times", "sessions": "infusions", "place": "bath house", "length": 20,
         "gap": 25, "every": 5, "pause": 35, "most": 9},
    ),
)  # fmt: skip

_REORDER = Family(
    name="reorder",
    story=(
        "Write a Python function that tells what our $place has to order. It gets two "
        "dictionaries, what is there and what one week needs."
    ),
    signature="def $fn(stock, weekly)",
    reference="""\
    orders = []
    for name in sorted(weekly):
        missing = weekly[name] * $weeks - stock.get(name, 0)
        if missing <= 0 or name.startswith("$mark"):
            continue
        packs = -(-missing // $pack)
        orders.append([name, packs * $pack])
    if not orders:
        return ["$nothing"]
    return orders
""",
    secrets=(
        Secret("constant", "stock must last $weeks weeks",
               "It has to be enough for $weeks weeks.", ("number of weeks", "how long", "horizon")),
        Secret("constant", "quantities are multiples of $pack",
               "Everything comes by the $pack, so round up to that.", ("pack size", "multiples")),
        Secret("branch", "names with prefix '$mark' are skipped",
               "What begins with '$mark' we grow ourselves; skip it.",
               ("exceptions", "names that are skipped")),
        Secret("edge_case", "a name absent from stock counts as 0",
               "If something is not listed as there, we have none.",
               ("absent from the dictionary", "not listed")),
        Secret("return_shape", "sorted list of [name, quantity], or ['$nothing']",
               "Lists of name and amount by alphabet; with none, a list with '$nothing'.",
               ("return", "result", "format", "order")),
    ),
    calls=(
        "$fn({}, {})", "$fn({'salt': 3}, {'salt': 3})", "$fn({'salt': 500}, {'salt': 3})",
        "$fn({}, {'rice': 7, 'beans': 2})", "$fn({'rice': 1}, {'rice': 7, '${mark}x': 9})",
        "$fn({}, {'${mark}mint': 4})", "$fn({'tea': 11}, {'tea': 5, 'oil': 1, 'soap': 13})",
        "$fn({'a': $pack}, {'a': $pack})", "$fn({'b': 0, 'c': 2}, {'c': 1, 'b': 1})",
        "$fn({'z': -4}, {'z': 2, 'y': 30})",
    ),
    variants=(
        {"fn": "to_order", "place": "mountain hut", "weeks": 4, "pack": 6, "mark": "own_",
         "nothing": "full"},
        {"fn": "order_list", "place": "school kitchen", "weeks": 2, "pack": 10, "mark": "bed_",
         "nothing": "enough"},
        {"fn": "restock", "place": "research ship", "weeks": 9, "pack": 12, "mark": "lab_",
         "nothing": "sail"},
        {"fn": "shopping", "place": "monastery", "weeks": 3, "pack": 5, "mark": "garden_",
         "nothing": "peace"},
        {"fn": "supply", "place": "polar station", "weeks": 7, "pack": 8, "mark": "ice_",
         "nothing": "stocked"},
    ),
)  # fmt: skip

_CHECK = Family(
    name="check",
    story="People type $labels into our $place. I need a Python function that checks one.",
    signature="def $fn(label)",
    reference="""\
    label = label.strip()
    if label == "":
        return ["$empty"]
    faults = []
    if len(label) < $least:
        faults.append("$short")
    if not label.startswith("$prefix"):
        faults.append("$start")
    if sum(sign.isdigit() for sign in label) < $digits:
        faults.append("$figures")
    if "$bad" in label:
        return ["$never"]
    return faults
""",
    secrets=(
        Secret("return_shape", "list of fault words in order, empty if fine",
               "A list of words, one for each thing wrong; nothing wrong, empty list.",
               ("return", "result", "format")),
        Secret("constant", "shorter than $least adds '$short'",
               "Under $least signs it is '$short'; blanks around it are cut off first.",
               ("minimum length", "how long")),
        Secret("constant", "prefix '$prefix' missing adds '$start'",
               "It has to begin with '$prefix', else '$start'; that is my second check.",
               ("prefix", "beginning")),
        Secret("constant", "fewer than $digits digits adds '$figures'",
               "My third: at least $digits figures, else '$figures'.", ("digits", "figures")),
        Secret("branch", "'$bad' anywhere returns only '$never'",
               "With a '$bad' anywhere, '$never' is the only word I want.",
               ("forbidden signs", "not allowed")),
        Secret("edge_case", "blank label returns ['$empty']",
               "If nothing was typed, say '$empty' alone.", ("empty input", "blank")),
    ),
    calls=(
        "$fn('')", "$fn('   ')", "$fn('$prefix')", "$fn('${prefix}123456789')",
        "$fn('  ${prefix}1234567  ')", "$fn('abcdefghijklmnop')", "$fn('${prefix}ab${bad}9999')",
        "$fn('12')", "$fn('x${prefix}12345678')", "$fn('${prefix}abcdefghijkl')",
    ),
    variants=(
        {"fn": "check_label", "labels": "sample labels", "place": "laboratory", "least": 9,
         "short": "short", "prefix": "S-", "start": "prefix", "digits": 3, "figures": "digits",
         "bad": "%", "never": "rejected", "empty": "missing"},
        {"fn": "check_plate", "labels": "plate numbers", "place": "car park", "least": 6,
         "short": "small", "prefix": "KX", "start": "region", "digits": 4, "figures": "number",
         "bad": "_", "never": "forged", "empty": "nothing"},
        {"fn": "check_ticket", "labels": "ticket codes", "place": "opera", "least": 10,
         "short": "torn", "prefix": "OP", "start": "house", "digits": 5, "figures": "seat",
         "bad": "?", "never": "void", "empty": "blank"},
        {"fn": "check_key", "labels": "keys", "place": "game server", "least": 12,
         "short": "brief", "prefix": "G:", "start": "realm", "digits": 2, "figures": "count",
         "bad": "&", "never": "banned", "empty": "none"},
        {"fn": "check_crate", "labels": "crate marks", "place": "warehouse", "least": 8,
         "short": "cut", "prefix": "W=", "start": "hall", "digits": 6, "figures": "weight",
         "bad": "$", "never": "seized", "empty": "bare"},
    ),
)  # fmt: skip

FAMILIES = (_CODE, _READINGS, _SLOTS, _REORDER, _CHECK)
