"""The heading path that stands before a chunk's text in the index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from structrag.text.tokens import TokenCounter

SEPARATOR = " > "
_TOKEN = 64  # characters; no counter of words or tokens takes so many for one, on average


class Context(NamedTuple):
    """A heading path as it is indexed.

    Example:
        >>> Context("Nova > Battery", shortened=False).text
        'Nova > Battery'
    """

    text: str
    shortened: bool  # the path did not fit and lost levels or words


def heading_context(
    title: str, path: Sequence[str], counter: TokenCounter, *, limit: int = 64
) -> Context:
    """Join the document title and heading titles in at most `limit` tokens.

    The outermost comes first. The document title is left out when empty or equal to the first
    heading (case and white space aside). Of a path that is too long, middle levels go first (the
    title and the last two levels stay). Then the longest title is cut at a word, and in the end
    everything. Of a title above 64 characters a token of `limit`, only the beginning is looked at.

    Example:
        >>> words = lambda text: len(text.split())
        >>> heading_context("Manual", ["Phones", "Nova", "Battery"], words, limit=5).text
        'Manual > Nova > Battery'
    """
    longest_title = _TOKEN * max(limit, 1)
    shortened = any(len(part) > longest_title for part in (title, *path))
    head, *parts = (_beginning(part, longest_title) for part in (title, *path))
    if head and not is_same_title(head, parts[:1]):
        parts.insert(0, head)
    parts = [part for part in parts if part]
    while parts and counter(SEPARATOR.join(parts)) > limit:
        shortened = True
        if len(parts) > 3:
            del parts[1]
            continue
        longest = max(range(len(parts)), key=lambda i: len(parts[i]))
        parts[longest] = _fewer_words(parts[longest])
        if not parts[longest]:
            del parts[longest]
    return Context(SEPARATOR.join(parts), shortened)


def _beginning(title: str, length: int) -> str:
    """A title in single spaces. Of one above `length` characters, the whole words within them."""
    words = title[: length + 1].split()
    if len(title) > length:  # the last word may be cut
        del words[-1:]
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
