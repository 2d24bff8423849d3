"""Rule files: `user.yaml` read into a rule set, or refused with every fault's place.

The JSON Schema beside this module is the declaration of the format; its descriptions are the next
steps in the refusals. What the rules do is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from trainer.errors import Unusable
from trainer.users import rules
from trainer.users.rule_source import MAX_CHARS, Position, Source, SourceError, read_source
from trainer.users.rules import Deed, RuleSet
from trainer.users.stopping import split_marker
from trainer.users.template import FACTS, Template, TemplateError

SCHEMA_FILE = Path(__file__).with_name("rules.schema.json")
FILE_NAME = "user.yaml"
"""Name of the rule file in a world's folder."""

_VALIDATOR = Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))
_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Problem:
    """One fault of a rule file."""

    position: Position
    place: str
    """The faulty value's path, such as `rules[2].when.act`."""
    message: str
    """What is wrong and what to do."""


class RuleFileError(Unusable):
    """A rule file that cannot be used; the message has one line for each fault."""

    def __init__(self, name: str, problems: tuple[Problem, ...]) -> None:
        """Keep the faults as values beside the message."""
        self.name = name
        self.problems = problems
        super().__init__(
            "\n".join(
                f"{name}:{problem.position.line}:{problem.position.column}: "
                + (f"{problem.place}: " if problem.place else "")
                + problem.message
                for problem in problems
            )
        )


def load(path: Path) -> RuleSet:
    """Return the rules of a file.

    Raises:
        RuleFileError: if the file cannot be read as text, or see `parse_rules`.
    """
    try:
        with path.open("rb") as file:
            text = file.read(4 * MAX_CHARS + 1).decode("utf-8")
    except OSError as error:
        message = f"cannot be read ({error.strerror}); put the user's rules there"
        raise RuleFileError(str(path), (Problem(Position(1, 1), "", message),)) from error
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}; save the file as UTF-8"
        raise RuleFileError(str(path), (Problem(Position(1, 1), "", message),)) from error
    return parse_rules(text, name=str(path))


def parse_rules(text: str, *, name: str = FILE_NAME) -> RuleSet:
    """Return the rules of a YAML text; an empty text is a rule set in which no rule holds.

    Args:
        text: The content of a rule file.
        name: What the refusal calls the file.

    Raises:
        RuleFileError: if the text is not plain YAML, breaks the schema, repeats a rule's id, or
            has a template that cannot be filled; names up to 20 faults with line and column.
    """
    try:
        source = read_source(text)
    except SourceError as error:
        raise RuleFileError(name, (Problem(error.position, "", str(error)),)) from error
    if source.value is None:
        return RuleSet()
    errors = _VALIDATOR.iter_errors(source.value)
    problems = [problem for error in errors for problem in _explain(error, source)]
    problems = problems or list(_semantic_problems(source))
    if problems:
        # The schema tells of each missing key apart, and `_explain` of all of them at once.
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: problem.position)
        raise RuleFileError(name, tuple(ordered[:_MAX_PROBLEMS]))
    return rules.build(source.value)


def _explain(error: ValidationError, source: Source) -> Iterator[Problem]:
    """Turn a schema error into places and next steps."""
    path = tuple(error.absolute_path)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    value: Any = error.instance
    limit: Any = error.validator_value
    advice = schema.get("description", "see trainer/users/rules.schema.json")
    match error.validator:
        case "additionalProperties":
            known = sorted(schema.get("properties", ()))
            for key in sorted(set(value) - set(known)):
                message = f"unknown key {key!r}; known here: {', '.join(known)}"
                yield Problem(source.key_at((*path, key)), _show((*path, key)), message)
            return
        case "required":
            missing = [key for key in limit if key not in value]
            problem = f"{_list(missing)} is missing"
        case "enum":
            problem = f"{value!r} is none of {_list(limit)}"
        case "const":
            problem = f"{value!r} is not {limit!r}"
        case "type":
            expected = [limit] if isinstance(limit, str) else limit
            problem = f"{_brief(value)} is not of type {' or '.join(expected)}"
        case "minimum" | "maximum" | "maxItems" | "maxLength":
            problem = f"{_brief(value)} is beyond the limit {limit}"
        case "minItems" | "minLength" | "minProperties":
            problem = "is empty"
        case _:
            problem = f"{_brief(value)} does not have the right form"
    yield Problem(source.at(path), _show(path), f"{problem}. {advice}")


def _semantic_problems(source: Source) -> Iterator[Problem]:
    """Faults that a schema cannot express."""
    seen: dict[str, int] = {}
    for index, rule in enumerate(source.value.get("rules") or ()):
        path = ("rules", index)
        first = seen.setdefault(rule["id"], index)
        if first != index:
            message = f"the id {rule['id']!r} already names rules[{first}]; choose another"
            yield Problem(source.at((*path, "id")), _show((*path, "id")), message)
        for variant, text in enumerate(rule["say"]):
            message = _template_problem(text, Deed(rule["do"]))
            if message:
                place = (*path, "say", variant)
                yield Problem(source.at(place), _show(place), message)


def _template_problem(text: str, deed: Deed) -> str | None:
    if not text.strip():
        return "is blank; a user never sends an empty message"
    if any(ord(character) < 32 and character != "\n" for character in text):
        return "holds a control character; remove it"
    if split_marker(text).marker is not None:
        return "holds a stop marker; only `do: close` ends a conversation, so remove it"
    try:
        fields = Template.read(text).fields
    except TemplateError as error:
        return str(error)
    if deed.discloses and FACTS not in fields:
        return f"`do: {deed}` tells facts, so every variant needs {{facts}}"
    if not deed.discloses and FACTS in fields:
        return f"`do: {deed}` tells no facts; remove {{facts}} or write `do: reveal`"
    return None


def _show(path: tuple[str | int, ...]) -> str:
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return shown.removeprefix(".")


def _list(names: Any) -> str:
    return ", ".join(str(name) for name in names)


def _brief(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
