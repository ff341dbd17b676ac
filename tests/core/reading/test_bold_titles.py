"""Bold lines that stand for headings."""

from __future__ import annotations

from fixture_cases import examples

from structrag import read_text
from structrag.reading.sections import unmarked_headings

TWO = "**Pumps**\n\nThey leak.\n\n**Taps**\n\nThey drip.\n"


def titles(text: str) -> list[str]:
    for heading in unmarked_headings(text):
        assert text[heading.start : heading.end].lstrip().startswith("**")
    return [heading.title for heading in unmarked_headings(text)]


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
