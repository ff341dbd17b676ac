"""Headings of Markdown and pages that mark none: bold lines, and what is one in plain text."""

from __future__ import annotations

from fixture_cases import examples

from structrag import parse, read_text
from structrag.reading.sections import unmarked_headings

TWO = "**Pumps**\n\nThey leak.\n\n**Taps**\n\nThey drip.\n"


def titles(text: str) -> list[str]:
    headings = unmarked_headings(text)
    for heading in headings:
        shown = text[heading.start : heading.end]
        assert shown.replace("*", "").split()[0] == heading.title.split()[0]
        assert not text[: heading.start].rstrip(" ").endswith("*")
    return [heading.title for heading in headings]


@examples
def test_what_is_a_heading(text: str, expected: list[str]) -> None:
    assert titles(text) == expected


def test_text_with_some_is_markdown() -> None:
    assert read_text(TWO).format == "text"
    assert read_text(TWO + "\n**Valves**\n\nThey stop it.\n").format == "markdown"


@examples
def test_a_title_is_short_and_no_sentence(title: str, is_heading: bool) -> None:
    text = f"{TWO}\n**{title}**\n\nIt goes on.\n"
    assert titles(text) == ["Pumps", "Taps", *([title] if is_heading else [])]


@examples
def test_fenced_code_is_one_paragraph(code: str, expected: list[str]) -> None:
    assert titles(f"**A**\n\n{code}\n\n**C**\n\nd\n\ne") == expected


def test_a_page_without_headings_has_those_of_its_words() -> None:
    clauses = "".join(
        f"<p>Article {number}</p><p>The pump is cleaned.</p>" for number in (1, 2)
    )
    page = read_text(
        f"<table><tr><td>Article 3</td></tr></table>{clauses}", format="html"
    )
    assert [s.path for s in parse(page).sections] == [
        (),
        ("Article 1",),
        ("Article 2",),
    ]
