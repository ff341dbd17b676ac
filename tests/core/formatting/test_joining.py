"""Converted windows joined to one text."""

from __future__ import annotations

import re

from fixture_cases import examples
from window_making import W, around, core_of, small

from structrag.formatting.joining import (
    separator,
    with_closed_fences,
    without_overlap,
    without_padding,
)
from structrag.reading.markdown import markdown_headings


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


def test_padding_is_only_dropped_where_nothing_of_the_core_goes() -> None:
    assert without_padding("p q # Head\nbody", "o p q", "Head body", "") == "Head\nbody"
    assert (
        without_padding("# p q\n# Head\nbody\n\nnext", "o p q", "Head body", "next")
        == "# Head\nbody"
    )
    assert without_padding("a a a", "a a", "a a a", "a a") == "a a a"
    assert without_padding("p x", "p", "x y", "") == "p x"


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


def test_an_open_fence_does_not_swallow_the_next_window() -> None:
    assert with_closed_fences(["```py\nx", "# T"]) == (["```py\nx\n```", "# T"], [0])
    assert with_closed_fences(["```py\nx", "y\n```\n# T"]) == (
        ["```py\nx", "y\n```\n# T"],
        [],
    )
    assert with_closed_fences(["# T", "```py\nx"]) == (["# T", "```py\nx\n```"], [1])
    assert with_closed_fences(["````\n```\nx"]) == (["````\n```\nx\n````"], [0])
    text = "code alpha beta gamma delta\n\nTitle\n\nepsilon zeta eta theta"
    answers = iter(
        ["```\ncode alpha beta gamma delta", "# Title\n\nepsilon zeta eta theta"]
    )
    formatted = small(lambda prompt: next(answers), window_words=5).format(text)
    assert [h.title for h in markdown_headings(formatted.document.text)] == ["Title"]
    assert formatted.report.uncertain == (
        "Window 1: a code block was left open and closed at the window's end.",
    )


@examples
def test_fences_that_are_closed(
    parts: list[str], expected: list[str], closed: list[int]
) -> None:
    assert with_closed_fences(parts) == (expected, closed)
