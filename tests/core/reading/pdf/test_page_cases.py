"""Pages written as text: their headings by type and number, and the Markdown they become."""

from __future__ import annotations

import re

import pytest
from fixture_cases import Case, cases
from page_making import FULL, headings, line, markdown, page, text_from

from structrag.reading.pdf.pages import Line, Page

LINE = re.compile(r"(\S+) (\S+) (\S+) ?(b?)(m?): (.*)")


def lines_of(text: str) -> list[Line]:
    if " *" in text[:8]:
        top, _, count = text.partition(" *")
        return text_from(float(top), int(count))
    match = LINE.fullmatch(text)
    assert match, text
    top, left, size = map(float, match.group(1, 2, 3))
    mono = {"mono": True} if match[5] else {}
    return [line(match[6], top, left, size, bool(match[4]), **mono)]


def pages_of(case: Case) -> list[Page]:
    parts = re.split(r"(?m)^=\n", case.text)
    return [
        page(*(one for text in part.splitlines() for one in lines_of(text)))
        for part in parts
    ]


@pytest.mark.parametrize("case", cases("pdf_headings"))
def test_headings(case: Case) -> None:
    shown = [f"{level} {title}\n" for level, title in headings(*pages_of(case))]
    assert "".join(shown) == case.expected


@pytest.mark.parametrize("case", cases("pdf_texts"))
def test_texts(case: Case) -> None:
    text = markdown(*pages_of(case))
    assert text.rstrip("\n").replace(FULL, "{full}") == case.expected.rstrip("\n")
