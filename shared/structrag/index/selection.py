"""Conditions on documents as the rows that a search may see, and the filters of a host, which
folders and engines both understand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter, check_choice

Selection = slice | NDArray[np.bool_]  # rows start to stop, or one truth value per row
Condition = Mapping[str, Any] | Callable[[dict[str, Any]], bool]


class Documents(Protocol):
    """The documents of an index at one moment, as conditions see them."""

    def __len__(self) -> int:
        """The number of rows."""

    def __contains__(self, doc_id: object) -> bool: ...

    def rows_of(self, doc_id: str) -> range:
        """The rows of a document."""

    def records(self) -> Iterable[tuple[Mapping[str, Any], range]]:
        """Every document's record and rows, in row order. A record has "id" and "meta"."""


def select_rows(documents: Documents, where: Condition) -> Selection:
    """The rows of the documents that meet a condition.

    A slice if they follow each other, else a mask (n_rows,). A mapping asks each of its keys,
    "doc_id" or a key of the documents' metadata, for the given value or one of a list of values;
    metadata that is itself a list meets it with any of its items. A callable is asked for each
    document with its metadata and "doc_id" in one dict. Raises InvalidParameter for a key that no
    document has, for values that `allowed_values` refuses, and for a callable that raises.
    """
    if isinstance(where, Mapping):
        chosen = _meeting(documents, allowed_values(where))
    elif callable(where):
        chosen = [rows for record, rows in documents.records() if _asked(where, record)]
    else:
        raise InvalidParameter(
            "where must be None, a dict such as {'doc_id': 'report'}, or a callable on a "
            f"document's metadata; got {where!r}."
        )
    return _rows_of(sorted(chosen, key=lambda rows: rows.start), len(documents))


def _meeting(
    documents: Documents, allowed_values: Mapping[str, list[Any]]
) -> list[range]:
    """The rows of the documents that meet every condition. They have one of the allowed values
    under every key."""
    if set(allowed_values) == {"doc_id"}:
        # Ids are looked up, so that a search in one document does not read all records.
        ids = dict.fromkeys(allowed_values["doc_id"])
        return [documents.rows_of(doc_id) for doc_id in ids if doc_id in documents]
    records = list(documents.records())
    _check_keys([record for record, _ in records], allowed_values)
    return [
        rows
        for record, rows in records
        if all(_meets(record, key, values) for key, values in allowed_values.items())
    ]


def check_selection(where: Selection, n_rows: int) -> Selection:
    """A selection that fits the rows, ends of a slice filled in. Raises InvalidParameter if it does
    not fit."""
    if isinstance(where, slice):
        start, stop, step = where.indices(n_rows)
        if step != 1:
            raise InvalidParameter(
                f"where must be a slice without a step; got {where!r}."
            )
        return slice(start, max(start, stop))
    if where.shape != (n_rows,) or where.dtype != np.bool_:
        raise InvalidParameter(
            f"where must be a bool array with one value for each of the {n_rows} rows; got "
            f"{where.dtype} of shape {where.shape}. Select again after the store has changed."
        )
    return where


def row_numbers(selection: Selection | None, n_rows: int) -> Sequence[int]:
    """Return the rows of a selection, ascending; None selects all."""
    if selection is None:
        return range(n_rows)
    if isinstance(selection, slice):
        return range(n_rows)[selection]
    rows: list[int] = np.flatnonzero(selection).tolist()
    return rows


def as_list(value: Any) -> list[Any]:
    """The values that a condition allows."""
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def allowed_values(where: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values that a condition allows under each of its keys.

    Dates and times count as their ISO 8601 text, as metadata has them.

    Example:
        >>> from datetime import date
        >>> allowed_values({"year": [2020, 2021], "day": date(2020, 1, 2)})
        {'year': [2020, 2021], 'day': ['2020-01-02']}

    Raises:
        InvalidParameter: an operator such as {"$gt": 2020}, or what no metadata can hold.
    """
    return {
        key: [_plain(key, item) for item in as_list(value)]
        for key, value in where.items()
    }


def _plain(key: str, value: Any) -> Any:
    """A value in the types that metadata has."""
    if isinstance(value, date | time):
        return value.isoformat()
    is_operator = isinstance(value, Mapping) and any(
        str(name).startswith("$") for name in value
    )
    is_plain = value is None or isinstance(
        value, str | int | float | list | Mapping | np.generic
    )
    if is_operator or not is_plain:
        raise InvalidParameter(
            "where must map keys of the metadata to the values they must equal, such as "
            f"{{'year': [2020, 2021]}}; got {value!r} for {key!r}. For any other condition pass a "
            "function of the metadata, such as lambda metadata: metadata['year'] > 2020."
        )
    return value


def _asked(where: Callable[[dict[str, Any]], bool], record: Mapping[str, Any]) -> bool:
    try:
        return bool(where({**record["meta"], "doc_id": record["id"]}))
    except Exception as error:
        raise InvalidParameter(
            f"where must be a function that works for every document; for {record['id']!r} it "
            f"raised {type(error).__name__}: {error}. Use metadata.get(key) for keys that some "
            "documents do not have."
        ) from error


def _check_keys(records: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> None:
    unknown = {key for key in keys if key != "doc_id"}
    for record in records:
        unknown -= record["meta"].keys()
        if not unknown:
            return
    if unknown and records:
        metadata_keys = {key for record in records for key in record["meta"]}
        allowed = sorted(metadata_keys | {"doc_id"})
        raise InvalidParameter(
            f"where must use keys of the documents' metadata: {', '.join(map(repr, allowed))}; got "
            f"{', '.join(sorted(map(repr, unknown)))}."
        )


def _meets(record: Mapping[str, Any], key: str, values: list[Any]) -> bool:
    meta = record["meta"]
    if key == "doc_id":
        return record["id"] in values
    return key in meta and any(item in values for item in as_list(meta[key]))


def _rows_of(chosen: list[range], n_rows: int) -> Selection:
    chosen = [rows for rows in chosen if rows]
    if not chosen:
        return slice(0, 0)
    first, last = chosen[0].start, chosen[-1].stop
    if last - first == sum(map(len, chosen)):
        return slice(first, last)
    mask = np.zeros(n_rows, dtype=bool)
    for rows in chosen:
        mask[rows.start : rows.stop] = True
    return mask


# Functions of one item of metadata and one value.
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
    parts: Sequence[Condition]

    def __post_init__(self) -> None:
        check_choice("condition of the filters", self.how, HOWS)

    def __call__(self, metadata: Mapping[str, Any]) -> bool:
        met = [_holds(part, metadata) for part in self.parts]
        if self.how == "not":
            return not any(met)
        return any(met) if self.how == "or" and met else all(met)


def _holds(where: Condition, metadata: Mapping[str, Any]) -> bool:
    if not isinstance(where, Mapping):
        return where(dict(metadata))
    values = allowed_values(where)
    return all(Filter(key, "in", values[key])(metadata) for key in values)


def narrowed(where: Condition | None, further: Condition | None) -> Condition | None:
    """A condition that holds where both do; None sets none.

    Example:
        >>> both = narrowed({"tenant": "a"}, lambda metadata: metadata["year"] > 2020)
        >>> both({"tenant": "a", "year": 2021}), both({"tenant": "b", "year": 2021})
        (True, False)
    """
    if where is None or further is None:
        return further if where is None else where
    return Filters("and", (where, further))
