"""Tags and text runs of HTML."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from fixture_cases import examples

from structrag.reading.html.reader import read_html
from structrag.reading.html.tokens import (
    START,
    TEXT,
    Token,
    tokens,
)


@examples
def test_what_a_page_shows(source: str, expected: str) -> None:
    assert read_html(source)[0].strip() == expected


@examples
def test_tokens_by_example(source: str, expected: list[str]) -> None:
    assert shown(source, tokens(source)) == expected


def shown(source: str, found: Iterable[Token]) -> list[str]:
    """Tokens as text: + before a start tag's name, - before an end tag's."""
    return [
        (f"{'+' if kind == START else '-'}{name} " if kind != TEXT else "")
        + source[start:end]
        for kind, name, start, end in found
    ]


@pytest.mark.slow
@examples
def test_time_is_linear_on_hostile_input(piece: str) -> None:
    source = piece * (1_000_000 // len(piece))
    start = time.process_time()
    read_html(source + ">")
    assert time.process_time() - start < 20  # about 1 s; a quadratic reader needs hours
