"""Words, to compare what a model was given with what it returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import normalize

import regex

from structrag.text.scripts import SPACELESS

_WORD = regex.compile(rf"[{SPACELESS}]|[[\p{{L}}\p{{M}}\p{{N}}]--[{SPACELESS}]]+", regex.VERSION1)


class Word(NamedTuple):
    """A word and its place in the text."""

    form: str  # NFKC, casefolded
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Runs of letters, marks and digits with their places; a character of a script without spaces
    is a word of its own."""
    return [Word(_form(found[0]), found.start(), found.end()) for found in _WORD.finditer(text)]


def forms(text: str) -> list[str]:
    """The words of a text without their places."""
    return [_form(word) for word in _WORD.findall(text)]


def missing(wanted: Iterable[str], given: Iterable[str]) -> Counter[str]:
    """How often each form is in `wanted` more often than in `given`."""
    return Counter(wanted) - Counter(given)


def if_lossless(before: str, after: str, wanted: Sequence[str]) -> str:
    """`after`, unless more of the wanted words are missing in it than in `before`."""
    if (
        after == before
        or missing(wanted, forms(after)).total() > missing(wanted, forms(before)).total()
    ):
        return before
    return after


def _form(word: str) -> str:
    return word.lower() if word.isascii() else normalize("NFKC", normalize("NFKC", word).casefold())
