"""Long files in which no heading was seen."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from structrag import read_file
from structrag.reading.flat import LONG, is_flat, warn_if_flat
from structrag.records import Document

PROSE = "<p>" + "The pump moves the water to the tank. " * (LONG // 30)


def test_a_long_page_without_headings_is_warned_of(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PROSE)
    with pytest.warns(UserWarning, match="A long page of HTML has no heading"):
        read_file(page)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("short.html", "<p>Short."),
        ("page.html", f"<h1>Pumps</h1>{PROSE}"),
        ("a.txt", PROSE[3:]),
    ],
)
def test_other_files_are_not(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_file(tmp_path / name)


@pytest.mark.parametrize(
    ("kind", "cure"),
    [("PDF", "read it with reader='docling'"), ("page", "None is marked in it")],
)
def test_a_document_of_just_the_length_is_long(kind: str, cure: str) -> None:
    document = Document("x" * 8000, format="text")
    with pytest.warns(
        UserWarning, match=f"A long {kind} has no heading.*{cure}"
    ) as seen:
        warn_if_flat(document, kind)
    assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_flat(Document("x" * 7999, format="text"), kind)


def test_a_document_with_one_heading_is_not_flat() -> None:
    assert is_flat(Document("a", format="markdown"))
    assert not is_flat(Document("# a", format="markdown"))
