"""Requests: what an agent's words ask the user to do on their own phone, read by rule.

A tool of the phone is asked for by its name, with or without arguments, or in plain words. Where
words name the state that is wanted ("turn airplane mode off"), a user looks first and switches only
what is not so yet. What the agent says of itself, or asks not to be done, is no request. The same
words on the same phone always ask for the same calls; nothing is called here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trainer.worlds.tau2.case import NamedCall, Side
from trainer.worlds.tau2.office import Office

MAX_CALLS = 4
"""Calls that a user makes for one message; what is asked beyond them is not done."""
MAX_CHARS = 4_000
"""Of a longer message only the beginning is read."""


class Switch(NamedTuple):
    """A setting that a tool turns into its opposite."""

    tool: str
    setting: str
    """Field of the phone."""
    words: str
    """Pattern of its name in plain words."""


SWITCHES = (
    Switch("toggle_airplane_mode", "airplane_mode", r"(?:air ?plane|flight) mode"),
    Switch("toggle_data", "data_enabled", r"(?:mobile|cellular) data"),
    Switch("toggle_roaming", "roaming_enabled", r"(?:data )?roaming"),
    Switch("toggle_data_saver_mode", "data_saver_mode", r"data saver"),
    Switch("toggle_wifi_calling", "wifi_calling_enabled", r"wi-?fi calling"),
    Switch("toggle_wifi", "wifi_enabled", r"wi-?fi(?! calling)"),
)

_THE = r"(?:(?:your|the|their) )?(?:phone's )?"
_LOOK = (
    r"(?:check|verify|confirm|look at|see|tell me|let me know|what is|what's|what does|read|show"
    r"|(?:^|[.!?;\n]\s*)(?:is|are)|\b(?:is|are) (?:your|the|you))\b[^.!?\n]{0,50}?"
)

PHRASES: Mapping[str, str] = {
    "check_status_bar": r"status bar",
    "check_network_status": r"network (?:connection )?status|"
    + _LOOK
    + r"(?:air ?plane mode|flight mode|(?:mobile|cellular) data\b(?! saver)|roaming"
    r"|signal|service)",
    "check_network_mode_preference": _LOOK + r"(?:network mode|preferred network)",
    "run_speed_test": r"speed ?test|(?:try|test) [^.!?\n]{0,30}(?:mobile data|internet|brows)",
    "check_sim_status": r"sim(?: card)? status|" + _LOOK + r"\bsim\b",
    "check_data_restriction_status": r"data restriction|" + _LOOK + r"data saver",
    "check_apn_settings": _LOOK + r"\bapn\b",
    "check_wifi_status": r"wi-?fi status|" + _LOOK + r"\bwi-?fi\b(?! calling)",
    "check_wifi_calling_status": _LOOK + r"wi-?fi calling",
    "check_vpn_status": _LOOK + r"\bvpn\b",
    "check_installed_apps": r"installed apps|apps (?:are|do you have) installed",
    "check_app_permissions": _LOOK + r"permissions?",
    "can_send_mms": r"(?:try|trying|able|attempt) (?:to )?send(?:ing)? [^.!?\n]{0,20}"
    r"(?:mms|picture|photo)|can (?:you )?(?:now )?send [^.!?\n]{0,20}(?:mms|picture|photo)",
    "check_payment_request": _LOOK
    + r"payment request|(?:receive|got|get)d? [^.!?\n]{0,20}payment request",
    "reseat_sim_card": r"re-?seat|re-?insert|(?:remove|take out) [^.!?\n]{0,20}\bsim\b",
    "reset_apn_settings": r"reset " + _THE + r"apn",
    "connect_vpn": r"\bconnect (?:to )?" + _THE + r"vpn|(?:turn|switch) on " + _THE + r"vpn",
    "disconnect_vpn": r"\bdisconnect (?:from )?" + _THE + r"vpn|"
    r"(?:turn|switch) off " + _THE + r"vpn|(?:turn|switch) " + _THE + r"vpn off",
    "set_network_mode_preference": r"(?:set|change|switch) [^.!?\n]{0,40}network[^.!?\n]{0,40}"
    r"\b[2345]g",
    "grant_app_permission": r"(?:grant|give|allow) [^.!?\n]{0,60}permission",
    "reboot_device": r"\b(?:reboot|restart)\b",
    "make_payment": r"(?:make|complete|accept|proceed with) (?:the |a |this )?payment\b"
    r"(?! request)|pay (?:the|your|this|that) (?:overdue )?bill",
}
"""What plain words ask for a tool of the phone, by its name; switches have words of their own."""

MODES = (
    (r"5g", "4g_5g_preferred"),
    (r"4g", "4g_only"),
    (r"3g", "3g_only"),
    (r"2g", "2g_only"),
)
"""The network mode that words mean, the first that occurs in this order."""

# What an agent does itself, or wants left alone, is not asked for: seen from the match backwards.
_NOT_ASKED = re.compile(
    r"(?:\b(?:i|we)(?:'ll|'ve|'m|'re| will| can| have| am| are| could| did| just)\b"
    r"(?:(?!\byou\b)[^.!?;\n])*"
    r"|\b(?:i|we) +|\blet me\b(?! know)[^.!?;\n]*"
    r"|\b(?:do not|don't|never|without|no need to)\b[^.!?;\n]*)$"
)
_CLAUSE_END = re.compile(r"[.!?;\n]")
_ARGUMENT = re.compile(r"""(?:(\w+)\s*[=:]\s*)?["'`]?([\w./-]+)["'`]?""")


class _Found(NamedTuple):
    start: int
    tool: str
    given: str
    """The text between the parentheses after a name, or the words of the request."""
    wanted: bool | None


def asked_of(office: Office, words: str) -> tuple[NamedCall, ...]:
    """Return the calls that an agent's words ask of the user, in the order of the words.

    Args:
        office: Both databases; only the phone is looked at, to see what is switched already.
        words: What the agent said.
    """
    text = words[:MAX_CHARS].casefold().replace("\u2019", "'")
    calls: list[NamedCall] = []
    for found in sorted(_found(text)):
        if _NOT_ASKED.search(text, 0, found.start) and not _is_named(text, found):
            continue
        for arguments in _arguments(office, found, _clause(text, found.start)):
            call = _settled(office, found, arguments)
            if call not in calls:
                calls.append(call)
    return tuple(calls[:MAX_CALLS])


def _settled(office: Office, found: _Found, arguments: Mapping[str, Any]) -> NamedCall:
    """Return the call that brings about what is wanted: a look, where it is so already."""
    if found.wanted is not None:
        setting = next(one.setting for one in SWITCHES if one.tool == found.tool)
        if office.user.get("device", setting) is found.wanted:
            return NamedCall(Side.USER, "check_network_status")
    return NamedCall(Side.USER, found.tool, arguments)


def _found(text: str) -> Iterator[_Found]:
    plain = list(text)
    for match in _NAMED.finditer(text):
        yield _Found(match.start(), match.group(1), match.group(2) or "", None)
        plain[match.start() : match.end()] = " " * (match.end() - match.start())
    rest = "".join(plain)
    for tool, wanted, pattern in _PLAIN:
        for match in pattern.finditer(rest):
            yield _Found(match.start(), tool, "", wanted)
    yield from _pronouns(rest)


def _pronouns(text: str) -> Iterator[_Found]:
    """What "turn it off" means: the switch that was named last before it."""
    for match in _PRONOUN.finditer(text):
        named = [
            (before.end(), switch.tool)
            for switch in SWITCHES
            for before in re.finditer(switch.words, text[: match.start()])
        ]
        if named:
            word = match.group(1) or {"enable": "on", "disable": "off"}[match.group(2)]
            yield _Found(match.start(), max(named)[1], "", word == "on")


def _is_named(text: str, found: _Found) -> bool:
    return text.startswith(found.tool, found.start)


def _clause(text: str, start: int) -> str:
    end = _CLAUSE_END.search(text, start)
    return text[start : end.start() if end else len(text)]


def _arguments(office: Office, found: _Found, clause: str) -> list[dict[str, Any]]:
    """Return the arguments of each call that a request amounts to."""
    names = list(office.domain.user.tools[found.tool].parameters["properties"])
    if not names:
        return [{}]
    if found.given.strip():
        pairs = _ARGUMENT.findall(found.given)[: len(names)]
        return [{key or name: value for name, (key, value) in zip(names, pairs, strict=False)}]
    if found.tool == "set_network_mode_preference":
        mode = next((mode for pattern, mode in MODES if re.search(pattern, clause)), "")
        return [{"mode": mode}] if mode else []
    app = "browser" if "browser" in clause else "messaging"
    if found.tool == "grant_app_permission":
        wanted = [one for one in ("storage", "sms", "phone", "network") if one in clause]
        return [{"app_name": app, "permission": permission} for permission in wanted]
    if names == ["app_name"]:
        return [{"app_name": app}]
    return []


def _switch_patterns() -> Iterator[tuple[str, bool | None, re.Pattern[str]]]:
    for switch in SWITCHES:
        named = rf"{_THE}{switch.words}\b"
        for word, verb, wanted in (("on", "enable", True), ("off", "disable", False)):
            pattern = (
                rf"\b(?:turn|switch) {word} {named}"
                rf"|\b(?:turn|switch|toggle) {named}(?: mode)? {word}\b|\b{verb} {named}"
                rf"|\b(?:make sure|ensure)[^.!?\n]{{0,20}} {named} is (?:turned )?{word}\b"
            )
            yield switch.tool, wanted, re.compile(pattern)
        yield switch.tool, None, re.compile(rf"\btoggle {named}(?!(?: mode)? (?:on|off)\b)")


_PRONOUN = re.compile(
    r"\b(?:turn|switch|toggle) (?:it|that|this)(?: back)? (on|off)\b"
    r"|\b(enable|disable) (?:it|that)\b"
)
_PLAIN = (
    *((tool, None, re.compile(pattern)) for tool, pattern in PHRASES.items()),
    *_switch_patterns(),
)
_NAMED = re.compile(
    rf"\b({'|'.join(sorted({*PHRASES, *(one.tool for one in SWITCHES)}, key=len, reverse=True))}"
    r"|check_app_status|set_apn_settings)\b\s*(?:\(([^()]*)\))?"
)
