"""Templates: the words of a reply with places for facts and kind, filled by joining.

Only the fields named here exist, and nothing is looked up or executed: a template is split once
and joined at every use.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

FACTS = "facts"
KIND = "kind"
FIELDS = (FACTS, KIND)


class TemplateError(ValueError):
    """A template that cannot be used; says which part and what to do."""


@dataclass(frozen=True)
class Template:
    """One variant of a reply, split into literal text and fields."""

    parts: tuple[tuple[str, str | None], ...]
    """Literal text, each with the field that follows it or None."""

    @classmethod
    def read(cls, text: str) -> Template:
        """Split a text such as `"{facts} That is all."`; a doubled brace is a brace.

        Raises:
            TemplateError: if a brace is alone, or a field is unknown or carries a format.
        """
        try:
            pieces = list(string.Formatter().parse(text))
        except ValueError as error:
            raise TemplateError(
                f"{text!r}: {error}; double a brace that is meant as text"
            ) from None
        for _, name, spec, conversion in pieces:
            if name is None:
                continue
            if name not in FIELDS or spec or conversion:
                found = (
                    name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
                )
                known = ", ".join("{" + known + "}" for known in FIELDS)
                raise TemplateError(f"unknown field {{{found}}}; the fields are {known}")
        return cls(tuple((literal, name) for literal, name, _, _ in pieces))

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields that occur."""
        return frozenset(name for _, name in self.parts if name is not None)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with its fields replaced, missing ones by nothing."""
        return "".join(
            literal if name is None else literal + values.get(name, "")
            for literal, name in self.parts
        )
