"""A host framework's metadata as JSON values, spelt in one way."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID


def json_values(value: Any) -> Any:
    """A copy of metadata in JSON types.

    Equal values are spelt alike in every process. Dates and times become ISO 8601 text, with a "T"
    between date and time, and spans of time their seconds. Paths, UUIDs, decimals and fractions
    become text, bytes Base64 text. Enum members become their values, NumPy scalars and arrays plain
    numbers and lists, dataclasses dicts. Tuples become lists, and sets sorted lists. Keys become
    strings. Anything else stays as it is, for whoever needs JSON to refuse.

    Example:
        >>> from datetime import datetime
        >>> json_values({"when": datetime(2020, 1, 2, 3, 4), "tags": {"b", "a"}})
        {'when': '2020-01-02T03:04:00', 'tags': ['a', 'b']}
    """
    # Before strings and numbers, since an enum member may be one of these too.
    if isinstance(value, Enum):
        return json_values(value.value)
    # NumPy without importing it: float64 and str_ are floats and strings too, and become plain.
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return json_values(_unpacked(value))
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {_key(key): json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((json_values(item) for item in value), key=repr)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_values(getattr(value, field.name)) for field in fields(value)}
    return _as_text(value)


def _as_text(value: Any) -> Any:
    """The text or number that stands for a value."""
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID | PurePath | Decimal | Fraction):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    return value


def _unpacked(array: Any) -> Any:
    """A NumPy scalar or array in Python's types."""
    # Nanoseconds would become a bare number, which says nothing of a date.
    if str(array.dtype) in ("datetime64[ns]", "timedelta64[ns]"):
        array = array.astype(str(array.dtype).replace("[ns]", "[us]"))
    return array.tolist()


def _key(key: Any) -> str:
    return key if type(key) is str else str(json_values(key))
