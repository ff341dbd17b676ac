"""From a host framework's documents to those of structrag."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fixture_cases import examples

from structrag.integrations.documents import (
    HostDocument,
    is_pdf,
    json_values,
    read_document,
    stable_uuid,
)


@examples
def test_pdf_is_told_by_type_or_suffix(
    name: Any, media_type: Any, answer: bool
) -> None:
    assert is_pdf(name, media_type) is answer


@pytest.mark.parametrize(
    "place",
    [
        {"element_id": "e7"},
        {"start_seconds": 120},
        {"start_time": timedelta(minutes=2)},
        {"page_number": 3},
        {"id": UUID(int=7)},
        {"line": 0},
        {"chunkIndex": 0},
        {"Clause No.": "4a"},
    ],
)
def test_what_tells_parts_of_a_source_apart_is_in_their_ids(
    place: dict[str, Any],
) -> None:
    part = HostDocument(
        "text", {"source": "talk", **place, "title": None, "version": 2}
    )
    name = read_document(part).id
    assert name == f"talk#{next(iter(place))}={json_values(next(iter(place.values())))}"
    assert read_document(replace(part, text="other")).id == name


@pytest.mark.slow
def test_both_frameworks_give_one_document_one_fingerprint() -> None:
    langchain, llama_index = (
        pytest.importorskip("langchain_structrag"),
        pytest.importorskip("llama_index_structrag"),
    )
    from langchain_core.documents import Document
    from llama_index.core.schema import Document as LlamaDocument

    text = "# A\n\nwords\n"
    metadata = {
        "source": "a.md",
        "when": datetime(2020, 1, 2, 3, 4),
        "tags": {"b", "a"},
    }
    first = langchain.MultiViewRetriever.from_documents(
        [Document(text, metadata=metadata, id="a")]
    )
    second = llama_index.MultiViewRetriever.from_documents(
        [LlamaDocument(text=text, metadata=metadata, id_="a")]
    )
    fingerprint = first.index.store.stored("a").fingerprint
    assert fingerprint == second.index.store.stored("a").fingerprint is not None


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


@pytest.mark.parametrize("name", ["NA", "NaT"])
def test_what_is_missing_in_a_table_is_none(name: str) -> None:
    missing = getattr(pytest.importorskip("pandas"), name)
    assert json_values({"a": missing, "b": [missing]}) == {"a": None, "b": [None]}


FLAT = "Plain words stand here, and nothing else. " * 80  # 3,360 characters
PAGE = {"source": "manual.pdf", "page": 0, "file_type": "application/pdf"}


def warnings_of(pages: list[HostDocument]) -> list[int]:
    """After which of the documents read was warned of lost headings."""
    warned = []
    for number, page in enumerate(pages):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read_document(page)
        warned += [number] * len(caught)
    return warned


@examples
def test_long_documents_without_a_heading_are_warned_of(
    metadata: dict[str, Any], warned: list[int]
) -> None:
    assert warnings_of([HostDocument(FLAT * 3, metadata)]) == warned
    assert warnings_of([HostDocument(FLAT, metadata)]) == []


@examples
def test_a_document_is_long_from_8000_characters_on(
    length: int, warned: list[int]
) -> None:
    text = (FLAT * 3)[:length]
    assert warnings_of([HostDocument(text, {"source": "x.pdf"})]) == warned
    page = {**PAGE, "source": f"{length}.pdf"}
    halves = [
        HostDocument(text[:4_000], page),
        HostDocument(text[4_000:], page),
    ]
    assert warnings_of(halves) == [1] * len(warned)


def test_a_class_of_records_is_no_record() -> None:
    assert json_values({"kind": Author}) == {"kind": Author}


def test_ids_are_uuids_that_depend_on_the_parts_alone() -> None:
    first = stable_uuid("a", 1, "\ud800")
    assert str(UUID(first)) == first == stable_uuid("a", 1, "\ud800")
    assert (
        len({stable_uuid("a", "b"), stable_uuid("ab"), stable_uuid("b", "a"), first})
        == 4
    )


def test_what_has_no_form_in_json_is_left_for_others_to_refuse() -> None:
    stranger = object()
    assert json_values({"a": [stranger]}) == {"a": [stranger]}


def test_pages_of_one_file_are_warned_of_once_and_together() -> None:
    pages = [
        HostDocument(FLAT, {**PAGE, "source": f"{name}.pdf"}) for name in "aaaabbbb"
    ]
    # 3,360 characters a page: 8,000 are passed by the third.
    assert warnings_of(pages) == [2, 6]
    # One that comes between begins the count again.
    mixed = [HostDocument(FLAT, {**PAGE, "source": f"{name}.pdf"}) for name in "ccdccd"]
    assert warnings_of(mixed) == []


def test_texts_of_one_file_that_are_no_pages_count_alone() -> None:
    parts = [HostDocument(FLAT, {"source": "parts.pdf"}) for _ in range(4)]
    assert warnings_of(parts) == []


def test_keys_that_are_strings_of_another_class_become_plain() -> None:
    (key,) = json_values({np.str_("a"): 1})
    assert type(key) is str
