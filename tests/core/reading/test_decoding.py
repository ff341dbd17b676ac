"""Bytes to text: marks, UTF-8, what a page declares, and what cannot be read."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.reading.decoding import decoded


@examples
def test_a_page_says_its_encoding(label: str, encoding: str, text: str) -> None:
    for head in (
        f'<!DOCTYPE html><meta charset="{label}"><p>',
        f"\n<html><META http-equiv=Content-Type content='text/html; charset={label}'><p>",
        f'<?xml version="1.0" encoding="{label}"?><html><p>',
    ):
        page = f"{head}{text}</p>"
        assert decoded(page.encode(encoding), "a.html") == (page, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\0\0",
        b"word " * 10_000 + b"\0",  # far behind the beginning
        b"\xff\xfea\0\0\0",
        b"a\0b\0",
        b"%PDF-1.7 text",
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"'a\.txt' does not hold text"):
        decoded(data, "a.txt")


def test_a_mark_of_the_file_itself_is_not_counted() -> None:
    assert decoded("éé\ufffd".encode() + b"\xff", "a.txt") == ("éé\ufffd\ufffd", 1)
    assert decoded("\ufffd".encode(), "a.txt") == ("\ufffd", 0)


@examples
def test_what_cannot_be_read_is_replaced_and_counted(
    data: bytes, text: str | None, undecodable: int
) -> None:
    result = decoded(data, "a")
    assert text is None or result.text == text
    assert result.undecodable == undecodable


def test_an_encoding_is_declared_within_the_first_4096_bytes() -> None:
    word, declaration = "Насос", '<meta charset="koi8-r'
    for size, is_seen in ((4096, True), (4097, False)):
        head = f"<!--{'x' * (size - 7 - len(declaration))}-->{declaration}"
        assert len(head) == size
        page = f'{head}">{word}'
        text, marks = decoded(page.encode("koi8-r"), "a.html")
        assert (text == page) is is_seen and not marks
