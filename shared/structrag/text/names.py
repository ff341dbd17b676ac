"""Names of people, products and codes in a text, and their number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from structrag.text import folding
from structrag.text.extractive import entities as entities_by_form

EntityFinder = Callable[[str], Iterable[str]]

_LEADING = re.compile(
    r"^(?:The|A|An|This|That|These|Those|In|On|At|For|From|With|By|Our|Its|If|When|As|To|And|But) "
    r"(?=\S)"
)


def names_by_form(text: str) -> list[str]:
    """Names by their form, without an empty word at the beginning.

    Example:
        >>> names_by_form("The Nova Mini rings.")
        ['Nova Mini']
    """
    names = (
        _LEADING.sub("", " ".join(name.split())) for name in entities_by_form(text)
    )
    return [name for name in names if name]


def contains(text: str, name: str) -> int:
    """How often a name occurs in a text as whole words.

    Case, accents, forms of hyphens and the width of white space do not count.

    Example:
        >>> contains("An ACME phone of Acme, not of Acmeon.", "acme")
        2
    """
    return occurrences(fold(text), fold(name))


def occurrences(text: str, key: str) -> int:
    """How often a folded name occurs in a folded text. Only ASCII names must be whole words:
    scripts without spaces have no borders of words."""
    count = text.count(key) if key else 0
    return len(_whole_word(key).findall(text)) if count and key.isascii() else count


@lru_cache(maxsize=8192)
def _whole_word(key: str) -> re.Pattern[str]:
    # "C" is not in "C++".
    return re.compile(rf"(?<!\w){re.escape(key)}(?!\w|[+#]+(?!\w))")


def fold(text: str) -> str:
    """A name as names are compared: folded, without the width of white space."""
    return " ".join(folding.fold(text).split())
