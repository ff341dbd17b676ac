"""The heading path that stands before a chunk's text in the index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from structrag.text.tokens import TokenCounter

SEPARATOR = " > "
_LONGEST = 1000  # characters of a title that may hold a site's name
_LEADS, _FOLLOWS = re.compile(r" [|•·»:—–-] |: "), re.compile(r"(?: [|•·«:—–-]|:) \Z")
# Characters; no counter of words or tokens takes so many for one, on average.
_TOKEN = 64


class Context(NamedTuple):
    """A heading path as it is indexed.

    Example:
        >>> Context("Nova > Battery", shortened=False).text
        'Nova > Battery'
    """

    text: str
    shortened: bool  # the path did not fit and lost levels or words


def heading_context(
    title: str, path: Sequence[str], counter: TokenCounter, *, limit: int | None = 64
) -> Context:
    """Join the document title and heading titles in at most `limit` tokens.

    The outermost comes first. Of the document title stands what `title_beside` leaves. Of a path
    that is too long, middle levels go first (the title and the last two levels stay). Then the
    longest title is cut at a word, and in the end everything. Of a title above 64 characters a
    token of `limit`, only the beginning is used. With `limit` None the path is whole.

    Example:
        >>> words = lambda text: len(text.split())
        >>> heading_context("Manual", ["Phones", "Nova", "Battery"], words, limit=5).text
        'Manual > Nova > Battery'
    """
    longest = max(map(len, (title, *path)))
    most = longest if limit is None else _TOKEN * max(limit, 1)
    shortened = longest > most
    head, *parts = (_beginning(part, most) for part in (title, *path))
    parts = [part for part in (title_beside(head, parts), *parts) if part]
    if limit is None:
        return Context(SEPARATOR.join(parts), shortened)
    while parts and counter(SEPARATOR.join(parts)) > limit:
        shortened = True
        if len(parts) > 3:
            del parts[1]
            continue
        i = max(range(len(parts)), key=lambda i: len(parts[i]))
        parts[i] = _fewer_words(parts[i])
        if not parts[i]:
            del parts[i]
    return Context(SEPARATOR.join(parts), shortened)


def title_beside(title: str, path: Sequence[str]) -> str:
    """Return the part of a document's title that the first heading of a path does not repeat.

    "" where they are equal, case and white space aside. Pages of a site have titles of their own
    heading and the site's name, in either order with a sign between: of these the name is left.

    Example:
        >>> title_beside("shutil — Python 3.11 documentation", ["shutil", "Copying"])
        'Python 3.11 documentation'
        >>> title_beside("Pumps", ["PUMPS"]), title_beside("Pumps", ["Cleaning"])
        ('', 'Pumps')
    """
    if is_same_title(title, path[:1]):
        return ""
    if not path or len(title) > _LONGEST:
        return title
    title, first = " ".join(title.split()), " ".join(path[0].split())
    if not first:
        return title
    if is_same_title(title[: len(first)], [first]) and (
        match := _LEADS.match(title, len(first))
    ):
        return title[match.end() :]
    rest = title[: max(len(title) - len(first), 0)]
    if is_same_title(title[len(rest) :], [first]) and (match := _FOLLOWS.search(rest)):
        return rest[: match.start()]
    return title


def _beginning(title: str, length: int) -> str:
    """A title in single spaces; the whole words within its first `length` characters."""
    words = title[: length + 1].split()
    if len(title) > length and not title[length].isspace():
        del words[-1:]  # it goes on behind them
    return " ".join(words)


def _fewer_words(title: str) -> str:
    """A title without its last word, or a long one's first half."""
    words = title.split()
    return " ".join(words[: len(words) // 2] if len(words) > 16 else words[:-1])


def is_same_title(title: str, others: Sequence[str]) -> bool:
    """Whether the title equals another but for case and white space."""
    key = _key(title)
    return any(_key(other) == key for other in others)


@lru_cache(maxsize=64)  # a document's title is compared with those of all its sections
def _key(title: str) -> str:
    return " ".join(title.split()).casefold()
