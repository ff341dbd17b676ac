"""Telling the format by looking at the text: right on small cases, linear on hostile ones."""

from __future__ import annotations

import time

import pytest

from structrag.reading.files import detect_format


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n===\n", "markdown"),
        ("a | b\n---|---\n", "markdown"),
        ("| a |\n|---|\n", "markdown"),
        ("see [x](http://y)", "markdown"),
        ("~~~\nx\n~~~", "markdown"),
        ("# h", "markdown"),
        ("Title\n=====\n\nPart\n~~~~\n\nThe method __slots__.\n", "text"),
        ("Title\n=====\n\n.. contents::\n\nText.\n", "text"),
        ("Title\n=====\n\nCode follows\n~~~~\nx = 1\n~~~~\n", "markdown"),
        ("plain text.\n\n---\nmore", "text"),
        ("", "text"),
        ("<!-- c -->\n<html><p>x", "html"),
        ("x <H1> y </H1> <P> z </P>", "html"),
        ("# h\n<div><p></p></div>", "markdown"),
    ],
)
def test_formats(text: str, expected: str) -> None:
    assert detect_format(text) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "word ",
        "x",
        "- ",
        " ",
        "](",
        "<p ",
        "<!--",
        "|",
        "\t",
        "a\n",
        "=\n",
        "a\n~~~~",
        "~",
        "\n~~~~ ",
    ],
)
def test_looking_is_linear(piece: str) -> None:
    """The sample is bounded, so a quadratic pattern shows as tens of seconds."""
    started = time.process_time()
    detect_format(piece * 200_000)
    assert time.process_time() - started < 5
