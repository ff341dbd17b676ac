"""From a host framework's documents to those of structrag."""

from __future__ import annotations

import json
import warnings
from array import array
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.hosts.documents import (
    HostDocument,
    document_digest,
    document_name,
    is_pdf,
    json_values,
    metadata_format,
    read_document,
    stable_uuid,
    with_own_names,
)

HTML = "<html><body><h1>T</h1><p>one</p></body></html>"


@pytest.mark.parametrize(
    ("metadata", "text", "format"),
    [
        ({"source": "a/x.md"}, "x", "markdown"),
        ({"source": "https://x.org/log.TXT"}, "# x", "text"),
        ({"file_path": "/docs/x.markdown"}, "x", "markdown"),
        ({"file_name": "x.txt"}, "x", "text"),
        ({"source": "", "file_name": "x.txt"}, "x", "text"),
        ({"file_type": "text/markdown"}, "x", "markdown"),
        ({"mimetype": "Text/Markdown; charset=utf-8"}, "x", "markdown"),
        ({"content_type": "text/html; charset=utf-8"}, HTML, "html"),
        ({"file_type": "text/plain", "file_path": "x.md"}, "x", "markdown"),
        ({"file_type": "application/pdf", "file_path": "x.pdf"}, "# x", "markdown"),
        ({"source": "p.html"}, "\n " + HTML, "html"),
        ({"source": "p.html"}, "\ufeff<!-- made by hand --><p>x", "html"),
        ({"source": "p.html"}, "rendered: 1 < 2, </p>", "auto"),
        ({"source": "p.html"}, "<3 cats", "auto"),
        ({"text_format": "markdown", "source": "p.html"}, "x", "markdown"),
        ({"text_format": "rtf", "source": "p.txt"}, "x", "text"),
        ({"source": "x.unknown"}, "# x\ny", "text"),
        ({}, "x", "text"),
    ],
)
def test_metadata_tells_the_format(
    metadata: dict[str, Any], text: str, format: str
) -> None:
    assert metadata_format(metadata, text) == format


def test_a_format_that_is_chosen_counts_more_than_the_metadata() -> None:
    page = HostDocument("# A\n\nx", {"source": "a.md"})
    assert read_document(page, format="text").format == "text"
    with pytest.raises(InvalidParameter, match="format must be"):
        read_document(page, format="pdf")


def test_title_and_metadata() -> None:
    when = datetime(2020, 1, 2, 3, 4)
    document = read_document(
        HostDocument("words", {"file_path": "/a/terms.txt", "when": when})
    )
    assert document.title == "terms"
    assert document.meta == {"file_path": "/a/terms.txt", "when": "2020-01-02T03:04:00"}
    titled = HostDocument("words", {"source": "a.txt", "title": "Terms"})
    assert read_document(titled).title == "Terms"
    assert read_document(HostDocument("words", {"title": 7})).title == ""


@examples
def test_pdf_is_told_by_type_or_suffix(
    name: Any, media_type: Any, answer: bool
) -> None:
    assert is_pdf(name, media_type) is answer


def test_a_document_goes_by_its_id_or_source_and_part_or_digest() -> None:
    assert document_name(HostDocument("x", {"source": "a.pdf"}, "own")) == "own"
    assert document_name(HostDocument("x", {"source": "a.pdf"})) == "a.pdf"
    parts = {"source": "a.xlsx", "row": 3, "sheet": "S"}
    assert document_name(HostDocument("x", parts)) == "a.xlsx#row=3#sheet=S"
    nameless = HostDocument("x", {"n": 1})
    assert document_name(nameless) == document_digest(nameless)
    assert document_digest(nameless) != document_digest(HostDocument("x", {"n": 2}))


def test_digests_do_not_depend_on_the_order_of_keys_nor_on_addresses() -> None:
    first = HostDocument("x", {"a": 1, "b": object()})
    second = HostDocument("x", {"b": object(), "a": 1})
    assert document_digest(first) == document_digest(second)


def test_parts_without_a_place_are_numbered_and_equal_ones_count_once() -> None:
    source = {"source": "a.csv"}
    rows = [HostDocument(text, source) for text in ("one", "two", "one", "three")]
    assert [(name, host.text) for name, host in with_own_names(rows)] == [
        ("a.csv", "one"),
        ("a.csv#2", "two"),
        ("a.csv#3", "three"),
    ]


def test_an_id_that_was_given_twice_is_not_numbered() -> None:
    twice = [HostDocument("one", id="a"), HostDocument("two", id="a")]
    assert [name for name, _ in with_own_names(twice)] == ["a", "a"]


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
    fingerprint = first.index.store.fingerprint("a")
    assert fingerprint == second.index.store.fingerprint("a") is not None


def test_ids_are_uuids_that_depend_on_the_parts_alone() -> None:
    first = stable_uuid("a", 1, "\ud800")
    assert str(UUID(first)) == first == stable_uuid("a", 1, "\ud800")
    assert (
        len({stable_uuid("a", "b"), stable_uuid("ab"), stable_uuid("b", "a"), first})
        == 4
    )


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


def test_what_a_table_lacks_is_none() -> None:
    assert json_values({"a": float("nan"), "b": [np.float32("nan"), 1.5]}) == {
        "a": None,
        "b": [None, 1.5],
    }


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


def test_pages_of_one_file_are_warned_of_once_and_together() -> None:
    pages = [
        HostDocument(FLAT, {**PAGE, "source": f"{name}.pdf"}) for name in "aaaabbbb"
    ]
    # 3,360 characters a page: 8,000 are passed by the third.
    assert warnings_of(pages) == [2, 6]
    # One that comes between begins the count again.
    mixed = [HostDocument(FLAT, {**PAGE, "source": f"{name}.pdf"}) for name in "ccdccd"]
    assert warnings_of(mixed) == []


@examples
def test_long_documents_without_a_heading_are_warned_of(
    metadata: dict[str, Any], warned: list[int]
) -> None:
    assert warnings_of([HostDocument(FLAT * 3, metadata)]) == warned
    assert warnings_of([HostDocument(FLAT, metadata)]) == []


def test_a_file_with_a_heading_on_one_page_is_not_warned_of() -> None:
    titled = (
        "1 Introduction\n\nIt begins here.\n\n"
        "2 Pumps\n\nThey pump.\n\n3 Seals\n\nThey hold.\n\n"
    )
    pages = [
        HostDocument(text, {**PAGE, "source": "e.pdf"})
        for text in (titled, *[FLAT] * 4)
    ]
    assert warnings_of(pages) == []


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


def test_texts_of_one_file_that_are_no_pages_count_alone() -> None:
    parts = [HostDocument(FLAT, {"source": "parts.pdf"}) for _ in range(4)]
    assert warnings_of(parts) == []


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("<html><body><p>" + FLAT * 3 + "</p></body></html>", "None is marked in it"),
        (FLAT * 3, "Many loaders drop headings"),
    ],
)
def test_markup_that_arrived_as_it_is_has_lost_no_headings(
    text: str, cure: str
) -> None:
    with pytest.warns(UserWarning, match=cure):
        read_document(HostDocument(text, {"source": "x.html"}))


def test_a_digest_has_16_hexadecimal_digits() -> None:
    digest = document_digest(HostDocument("x\ud800", {}))
    assert len(digest) == 16 and int(digest, 16) >= 0


def test_what_is_like_an_array_in_part_is_none() -> None:
    numbers, typed = array("i", [1, 2]), SimpleNamespace(dtype="int64")
    assert json_values([numbers, typed]) == [numbers, typed]


def test_a_class_of_records_is_no_record() -> None:
    assert json_values({"kind": Author}) == {"kind": Author}


def test_keys_that_are_strings_of_another_class_become_plain() -> None:
    (key,) = json_values({np.str_("a"): 1})
    assert type(key) is str
