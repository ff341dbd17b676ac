"""Conditions of a host on documents' metadata, which folders and engines both understand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.errors import check_choice
from structrag.index.selection import as_list

# Of one item of metadata and one value.
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_TEXT: Mapping[str, Callable[[str, str], bool]] = {
    "text_match": operator.contains,
    "text_match_insensitive": lambda item, value: value.lower() in item.lower(),
    "contains": operator.contains,
}
COMPARED = (
    "==",
    "in",
    "any",
    "contains",
    *_ORDER,
    *_TEXT,
)  # of which one item is enough
OPERATORS = ("!=", "nin", "all", "is_empty", *dict.fromkeys(COMPARED))
HOWS = ("and", "or", "not")


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one key of a document's metadata.

    Of a list any item counts, for "all" every one. Values that cannot be compared, and keys that a
    document lacks, meet none but "!=", "nin" and "is_empty".

    Example:
        >>> Filter("year", ">=", 2020)({"year": 2021}), Filter("tags", "!=", "x")({"tags": ["x"]})
        (True, False)

    Raises:
        InvalidParameter: there is no such operator.
    """

    key: str
    operator: str
    value: Any = None

    def __post_init__(self) -> None:
        check_choice(
            f"operator of the filter on {self.key!r}", self.operator, OPERATORS
        )

    def __call__(self, metadata: Mapping[str, Any]) -> bool:
        items = [item for item in as_list(metadata.get(self.key)) if item is not None]
        if self.operator == "is_empty":
            return all(item == "" for item in items)
        if self.operator in ("!=", "nin"):
            return not any(item in self.values for item in items)
        if self.operator == "all":
            return all(value in items for value in self.values)
        return any(map(self.met_by, items))

    @property
    def values(self) -> list[Any]:
        """The values that are looked for. None, which no metadata is equal to, is left out."""
        return [value for value in as_list(self.value) if value is not None]

    def met_by(self, item: Any) -> bool:
        """Whether an item of metadata is enough, of an operator in `COMPARED`."""
        if self.operator in ("==", "in", "any", "contains") and item in self.values:
            return True
        if self.operator in _TEXT:
            are_texts = isinstance(item, str) and isinstance(self.value, str)
            return are_texts and _TEXT[self.operator](item, self.value)
        try:
            return self.operator in _ORDER and _ORDER[self.operator](item, self.value)
        except TypeError:  # such as a text and a number
            return False


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions together: all must hold ("and"), one ("or"), or none ("not")."""

    how: str
    parts: Sequence[Filter | Filters]

    def __post_init__(self) -> None:
        check_choice("condition of the filters", self.how, HOWS)

    def __call__(self, metadata: Mapping[str, Any]) -> bool:
        met = [part(metadata) for part in self.parts]
        if self.how == "not":
            return not any(met)
        return any(met) if self.how == "or" and met else all(met)
