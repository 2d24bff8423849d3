"""Forms: the fields of a kind of record, and the one order in which they stand.

What a tool shows of a record depends on the order of its fields, so a database is brought into
form once, when it is read. A field that no form knows is refused, never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Form:
    """The fields of one kind of record."""

    def __init__(self, *fields: str) -> None:
        """Take the names of the fields, in their order."""
        self.fields = fields
        self._known = frozenset(fields)

    def of(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record in this form; fields that are not there stay out.

        Raises:
            ValueError: if the record has a field that the form does not know.
        """
        if tuple(record) == self.fields and isinstance(record, dict):
            return record
        if not record.keys() <= self._known:
            unknown = sorted(record.keys() - self._known)
            raise ValueError(f"a record has the fields {unknown}; known are {self.fields}")
        return {field: record[field] for field in self.fields if field in record}
