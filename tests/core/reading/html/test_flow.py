"""The visible text: white space, lists, preformatted text."""

from __future__ import annotations

from itertools import pairwise

from fixture_cases import examples

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


@examples
def test_visible_text(source: str, text: str) -> None:
    assert read(source) == text


@examples
def test_white_space_in_a_table(source: str, text: str) -> None:
    assert read(source) == text


@examples
def test_lists(source: str, text: str) -> None:
    assert read(source) == text


Run = tuple[str, int, bool]  # its text, its place in the page, whether it is a copy


def runs(source: str) -> list[Run]:
    text, _, layout = read_html(source)
    starts, places, exact = (
        layout.source_map.text_starts,
        layout.source_map.source_starts,
        layout.source_map.exact,
    )
    assert (starts[-1], places[-1]) == (len(text), len(source))
    return [
        (text[start:end], place, is_copy)
        for (start, end), place, is_copy in zip(
            pairwise(starts), places[:-1], exact[:-1], strict=True
        )
    ]


@examples
def test_every_run_leads_back_to_its_place(source: str, expected: list[Run]) -> None:
    assert runs(source) == expected


@examples
def test_what_the_look_of_text_says(source: str, text: str) -> None:
    assert read(source) == text


@examples
def test_a_formula_is_there_once(source: str, text: str) -> None:
    assert read(source) == text


@examples
def test_macros_of_confluence(source: str, text: str) -> None:
    assert read(source) == text
