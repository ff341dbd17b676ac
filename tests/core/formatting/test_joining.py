"""Converted windows joined to one text."""

from __future__ import annotations

import re

from fixture_cases import examples
from window_making import W, around, core_of, small

from structrag.formatting.converting import (
    separator,
    with_closed_fences,
    without_overlap,
    without_padding,
)


def test_padding_that_was_converted_too_is_dropped() -> None:
    def everything(prompt: str) -> str:
        before, after = around(prompt)
        return f"{before} {core_of(prompt)} {after}"

    text = " ".join(f"w{i}" for i in range(4 * W + 3))
    formatted = small(everything).format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.fallbacks == formatted.report.retries == 0


def test_lines_that_the_last_answer_ended_with_are_dropped() -> None:
    lines = [f"line {i} of the text has these words" for i in range(12)]

    def repeating(prompt: str) -> str:
        last = re.search(r"so far:\n(.*?)\n\nThe text:", prompt, re.DOTALL)
        tail = last[1].split("\n")[-1] + "\n" if last else ""
        return tail + core_of(prompt)

    formatted = small(repeating, window_words=32, padding_words=8).format(
        "\n".join(lines)
    )
    assert formatted.document.text.split("\n") == [*lines, ""]
    assert formatted.report.retries == 0


@examples
def test_overlap(previous: str, answer: str, core: str, expected: str) -> None:
    assert without_overlap(previous, answer, core) == expected


@examples
def test_forty_repeated_lines_are_dropped(count: int, is_dropped: bool) -> None:
    lines = "\n".join(f"line {i}" for i in range(count))
    answer = f"{lines}\ncore"
    assert without_overlap(lines, answer, "core") == ("core" if is_dropped else answer)


@examples
def test_padding_at_either_end(
    answer: str, before: str, core: str, after: str, expected: str
) -> None:
    assert without_padding(answer, before, core, after) == expected


@examples
def test_eight_words_of_the_core_must_stand_beside_the_padding(
    place: int, is_dropped: bool
) -> None:
    """The word at `place`, counted from the padding, is not as in the core."""
    core = [f"c{i}" for i in range(1, 11)]
    changed = [*core[: place - 1], "other", *core[place:]]
    words = " ".join(changed)
    left = words if is_dropped else f"p {words}"
    assert without_padding(f"p {words}", "p", " ".join(core), "") == left
    words, backwards = " ".join(changed[::-1]), " ".join(core[::-1])
    left = words if is_dropped else f"{words} p"
    assert without_padding(f"{words} p", "", backwards, "p") == left


@examples
def test_what_stands_between_two_windows(
    above: str, below: str, gap: str, core: str, expected: str
) -> None:
    assert separator(above, below, gap, core) == expected


@examples
def test_fences_that_are_closed(
    parts: list[str], expected: list[str], closed: list[int]
) -> None:
    assert with_closed_fences(parts) == (expected, closed)
