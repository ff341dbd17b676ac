"""A long text in windows that a language model can read (HiQA, section 3.1 "Markdown formatter")."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from structrag.text.scripts import SPACELESS

_PIECE = regex.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]{{1,200}}")


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that one call converts, and what is shown around it. The cores of all
    windows tile the text."""

    number: int  # from 1
    start: int  # of the core
    end: int  # of the core, the white space behind its last word included
    padded_start: int
    padded_end: int
    tail_start: int  # where the last `2 * padding` words before the core begin


def windows(text: str, size: int, padding: int) -> list[Window]:
    """Cores of `size` words with `padding` words before and behind; T = ceil(N / size) windows,
    none for a text without words.

    Words are separated by white space; a character of a script without spaces counts as a word, and
    so does every 200 characters of a longer run.
    """
    words = [found.span() for found in _PIECE.finditer(text)]
    result: list[Window] = []
    for first in range(0, len(words), size):
        last = min(first + size, len(words))
        result.append(
            Window(
                number=len(result) + 1,
                start=words[first][0] if first else 0,
                end=words[last][0] if last < len(words) else len(text),
                padded_start=words[max(0, first - padding)][0],
                padded_end=words[min(last + padding, len(words)) - 1][1],
                tail_start=words[max(0, first - 2 * padding)][0],
            )
        )
    return result


def last_words(text: str, count: int) -> str:
    """The end of a text: its last `count` words, counted as in `windows`, with what stands between
    them."""
    starts = [found.start() for found in _PIECE.finditer(text)]
    if count < 1 or not starts:
        return ""
    return text[starts[max(0, len(starts) - count)] :].rstrip()
