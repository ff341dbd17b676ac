"""Converted windows joined to one text."""

from __future__ import annotations

import re

from window_making import W, around, core_of, small


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
