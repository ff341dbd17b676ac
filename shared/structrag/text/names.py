"""Names of people, products and codes in a text, and how often each occurs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from structrag.text.extractive import entities as entities_by_form

EntityFinder = Callable[[str], Iterable[str]]

_LEADING = re.compile(
    r"^(?:The|A|An|This|That|These|Those|In|On|At|For|From|With|By|Our|Its|If|When|As|To|And|But) "
    r"(?=\S)"
)


def names_by_form(text: str) -> list[str]:
    """Names by their form, without the word of no meaning that a sentence begins with: `The ACME`
    is `ACME`."""
    names = (_LEADING.sub("", " ".join(name.split())) for name in entities_by_form(text))
    return [name for name in names if name]


def contains(text: str, name: str) -> int:
    """How often a name occurs in a text as whole words, case and the width of white space aside."""
    return occurrences(fold(text), fold(name))


def occurrences(text: str, key: str) -> int:
    """How often a folded name occurs in a folded text; scripts without spaces have no borders of
    words."""
    found = text.count(key) if key else 0
    return len(_whole_word(key).findall(text)) if found and key.isascii() else found


@lru_cache(maxsize=8192)
def _whole_word(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(key)}(?!\w)")


def fold(text: str) -> str:
    """A name as names are compared: case and white space do not count."""
    return " ".join(text.split()).casefold()
