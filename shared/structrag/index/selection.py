"""Conditions on documents as the rows that a search may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter
from structrag.index.tables import Member

Selection = slice | NDArray[np.bool_]  # rows start to stop, or one truth value per row
Condition = Mapping[str, Any] | Callable[[dict[str, Any]], bool]


def select_rows(members: Mapping[str, Member], n_rows: int, where: Condition) -> Selection:
    """The rows of the documents that meet a condition.

    A slice if they follow each other, else a mask (n_rows,). A mapping asks each of its keys,
    "doc_id" or a key of the documents' metadata, for the given value or one of a list of values;
    metadata that is itself a list meets it with any of its items. A callable is asked for each
    document with its metadata and "doc_id" in one dict. Raises InvalidParameter for a key that no
    document has, and for a callable that raises.
    """
    if isinstance(where, Mapping):
        chosen = _meeting(members, {key: _as_list(value) for key, value in where.items()})
    elif callable(where):
        chosen = [member for member in members.values() if _asked(where, member)]
    else:
        raise InvalidParameter(
            "where must be None, a dict such as {'doc_id': 'report'}, or a callable on a "
            f"document's metadata; got {where!r}."
        )
    return _rows_of(sorted(chosen, key=lambda member: member.start), n_rows)


def _meeting(
    members: Mapping[str, Member], allowed_values: Mapping[str, list[Any]]
) -> list[Member]:
    """The documents that have one of the allowed values under every key."""
    _check_keys(members, allowed_values)
    if set(allowed_values) == {"doc_id"}:
        # Ids are looked up, so that a search in one document does not read all records.
        ids = dict.fromkeys(allowed_values["doc_id"])
        return [members[doc_id] for doc_id in ids if doc_id in members]
    return [
        member
        for member in members.values()
        if all(_meets(member, key, values) for key, values in allowed_values.items())
    ]


def check_selection(where: Selection, n_rows: int) -> Selection:
    """A selection that fits the rows, ends of a slice filled in.

    Raises InvalidParameter if it does not fit.
    """
    if isinstance(where, slice):
        start, stop, step = where.indices(n_rows)
        if step != 1:
            raise InvalidParameter(f"where must be a slice without a step; got {where!r}.")
        return slice(start, max(start, stop))
    if where.shape != (n_rows,) or where.dtype != np.bool_:
        raise InvalidParameter(
            f"where must be a bool array with one value for each of the {n_rows} rows; got "
            f"{where.dtype} of shape {where.shape}. Select again after the store has changed."
        )
    return where


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _facts(member: Member) -> dict[str, Any]:
    return {**member.record["meta"], "doc_id": member.record["id"]}


def _asked(where: Callable[[dict[str, Any]], bool], member: Member) -> bool:
    try:
        return bool(where(_facts(member)))
    except Exception as error:
        raise InvalidParameter(
            "where must be a function that answers for every document; for "
            f"{member.record['id']!r} it raised {type(error).__name__}: {error}. "
            "Use metadata.get(key) for keys that some documents lack."
        ) from error


def _check_keys(members: Mapping[str, Member], keys: Iterable[str]) -> None:
    unknown = {key for key in keys if key != "doc_id"}
    for member in members.values():
        unknown -= member.record["meta"].keys()
        if not unknown:
            return
    if unknown and members:
        metadata_keys = {key for member in members.values() for key in member.record["meta"]}
        allowed = sorted(metadata_keys | {"doc_id"})
        raise InvalidParameter(
            f"where must use keys of the documents' metadata: {', '.join(map(repr, allowed))}; got "
            f"{', '.join(sorted(map(repr, unknown)))}."
        )


def _meets(member: Member, key: str, values: list[Any]) -> bool:
    meta = member.record["meta"]
    if key == "doc_id":
        return member.record["id"] in values
    return key in meta and any(item in values for item in _as_list(meta[key]))


def _rows_of(chosen: list[Member], n_rows: int) -> Selection:
    chosen = [member for member in chosen if member.n_rows]
    if not chosen:
        return slice(0, 0)
    first, last = chosen[0].start, chosen[-1].stop
    if last - first == sum(member.n_rows for member in chosen):
        return slice(first, last)
    mask = np.zeros(n_rows, dtype=bool)
    for member in chosen:
        mask[member.start : member.stop] = True
    return mask
