"""Converted windows joined to one text."""

from __future__ import annotations

import re

import pytest
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


@pytest.mark.parametrize(
    ("previous", "answer", "core", "expected"),
    [
        ("a\n\nb", "b\nc", "c", "c"),
        ("a\nb", "a\n b\n\nc", "c", "c"),
        ("a\nb", "b\nc", "b\nc", "b\nc"),  # the source says it twice
        ("a\nb", "c", "c", "c"),
        ("", "c", "c", "c"),
        ("x", "x", "", ""),
    ],
)
def test_overlap(previous: str, answer: str, core: str, expected: str) -> None:
    assert without_overlap(previous, answer, core) == expected


@pytest.mark.parametrize(("count", "is_dropped"), [(40, True), (41, False)])
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


@pytest.mark.parametrize(
    ("answer", "before", "core", "after", "expected"),
    [
        ("p a b", "p", "a b", "", "a b"),  # one word of padding
        ("a b p", "", "a b", "p", "a b"),
        ("a b p", "", "a b", "p q", "a b"),  # the first of two
        ("a b extra", "", "a b", "p", "a b extra"),
        ("extra a b", "p", "a b", "", "extra a b"),
        ("o\np Head", "o p", "Head", "", "Head"),
        ("Head body\n\n# next", "", "Head body", "next", "Head body"),
        ("Head body # next", "", "Head body", "next", "Head body #"),
    ],
)
def test_padding_at_either_end(
    answer: str, before: str, core: str, after: str, expected: str
) -> None:
    assert without_padding(answer, before, core, after) == expected


@pytest.mark.parametrize(("place", "is_dropped"), [(8, False), (9, True)])
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


@pytest.mark.parametrize(
    ("above", "below", "gap", "core", "expected"),
    [
        ("a", "b", " ", "b", " "),
        ("a", "b", "\n", "b", "\n"),
        ("a", "b", "\n \n\n", "b", "\n\n"),
        ("a", "# B", " ", "B", "\n\n"),
        ("# A", "b", " ", "b", "\n\n"),
        ("a", "# b", " ", "# b", " "),  # the source's own sign, in the middle of a line
        ("| a |", "| b |", " ", "b", "\n"),
        ("a", "| b |", "\n", "b", "\n\n"),
        ("- a", "- b", "\n", "b", "\n"),
        ("a", "- b", "\n", "b", "\n\n"),
        ("| a |", "- b", "\n", "b", "\n\n"),
        ("a", "b", "\n \n", "b", "\n\n"),
        # Only the lines at the border count.
        ("# A\ntext", "b", " ", "b", " "),
        ("a", "# B\nmore", " ", "# B more", " "),
        # The source has the same ten characters.
        ("a", "# abcdefghX", " ", "# abcdefghY", " "),
        ("a", "# abcdefgXi", " ", "# abcdefgYi", "\n\n"),
        # Code that ends with the first window, and code that goes on.
        ("```\nx\n```", "b", "\n", "b", "\n\n"),
        ("```\nx\n```py", "b", "\n", "b", "\n"),
        ("手", "机", "", "机", ""),
    ],
)
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


@pytest.mark.parametrize(
    ("parts", "expected", "closed"),
    [
        (["```\nx\n```"], ["```\nx\n```"], []),
        (["```\nx\n  ```"], ["```\nx\n  ```"], []),
        # A fence with words behind it ends no code.
        (["```\nx\n``` js"], ["```\nx\n``` js\n```"], [0]),
        # Backticks behind the fence make it code in a line, except behind tildes.
        (["``` a ```\nx"], ["``` a ```\nx"], []),
        (["~~~ a`b\nx"], ["~~~ a`b\nx\n~~~"], [0]),
        # What goes on in the next window, and the window behind.
        (
            ["```\nx", "y\n```", "```js\nz"],
            ["```\nx", "y\n```", "```js\nz\n```"],
            [2],
        ),
        # The next window has code of its own.
        (["```\nx", "y\n```\nz\n```"], ["```\nx\n```", "y\n```\nz\n```"], [0]),
        (["```\nx", "```js\ny"], ["```\nx\n```", "```js\ny\n```"], [0, 1]),
        # Its fence is shorter.
        (["````\nx", "y\n```"], ["````\nx\n````", "y\n```\n```"], [0, 1]),
    ],
)
def test_fences_that_are_closed(
    parts: list[str], expected: list[str], closed: list[int]
) -> None:
    assert with_closed_fences(parts) == (expected, closed)
