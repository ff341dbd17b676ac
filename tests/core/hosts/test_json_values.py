"""Metadata of any types, spelt in one way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from structrag.hosts.json_values import json_values


class Kind(str, Enum):
    LAW = "law"


class Level(Enum):
    TOP = (1, "top")


@dataclass
class Author:
    name: str
    born: date


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04:00"),
        (datetime(2020, 1, 2, 3, 4, tzinfo=timezone.utc), "2020-01-02T03:04:00+00:00"),
        (date(2020, 1, 2), "2020-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=2), 120.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b.md"), "/a/b.md"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (b"\xff\x00", "/wA="),
        (bytearray(b"a"), "YQ=="),
        (Kind.LAW, "law"),
        (Level.TOP, [1, "top"]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        ((1, (2, 3)), [1, [2, 3]]),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.datetime64("2020-01-02T03:04:00", "ns"), "2020-01-02T03:04:00"),
        (np.datetime64("2020-01-02"), "2020-01-02"),
        (np.timedelta64(1, "ns"), 0.0),
        (np.array(["2020-01-02"], dtype="datetime64[ns]"), ["2020-01-02T00:00:00"]),
        ({1: date(2020, 1, 2), Kind.LAW: 2}, {"1": "2020-01-02", "law": 2}),
        (Author("A", date(2020, 1, 2)), {"name": "A", "born": "2020-01-02"}),
        (None, None),
        ("text", "text"),
        (True, True),
    ],
)
def test_each_type_has_one_spelling(value: Any, plain: Any) -> None:
    assert json_values(value) == plain
    assert type(json_values(value)) is type(plain)
    assert json.loads(json.dumps(json_values({"deep": [value]}))) == {"deep": [plain]}


def test_what_has_no_form_in_json_is_left_for_others_to_refuse() -> None:
    stranger = object()
    assert json_values({"a": [stranger]}) == {"a": [stranger]}


def test_it_is_a_copy() -> None:
    metadata = {"tags": ["a"], "deep": {"n": [1]}}
    copy = json_values(metadata)
    copy["tags"].append("b")
    copy["deep"]["n"].append(2)
    assert metadata == {"tags": ["a"], "deep": {"n": [1]}}
