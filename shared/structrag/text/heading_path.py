"""What stands in front of a chunk's text when it is indexed: the heading path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structrag.text.tokens import TokenCounter

SEPARATOR = " > "


class Context(NamedTuple):
    """A heading path as it is indexed."""

    text: str
    shortened: bool  # the path did not fit and lost levels or words


def heading_context(
    title: str, path: Sequence[str], counter: TokenCounter, *, limit: int = 64
) -> Context:
    """Join the document title and heading titles, outermost first, in at most `limit` tokens.

    The document title is left out when empty or equal to the first heading (case and white space
    aside). Too long: middle levels go first (the title and the last two levels stay), then the
    longest title is cut at a word, and in the end everything.
    """
    parts = [" ".join(part.split()) for part in path]
    head = " ".join(title.split())
    if head and not is_same_title(head, parts[:1]):
        parts.insert(0, head)
    parts = [part for part in parts if part]
    shortened = False
    while parts and counter(SEPARATOR.join(parts)) > limit:
        shortened = True
        if len(parts) > 3:
            del parts[1]
            continue
        longest = max(range(len(parts)), key=lambda i: len(parts[i]))
        words = parts[longest].split()
        if len(words) > 1:
            parts[longest] = " ".join(words[: len(words) // 2 if len(words) > 16 else -1])
        else:
            del parts[longest]
    return Context(SEPARATOR.join(parts), shortened)


def is_same_title(title: str, others: Sequence[str]) -> bool:
    """Whether the title equals one of the others, case and white space aside."""
    return any(
        " ".join(title.split()).casefold() == " ".join(other.split()).casefold() for other in others
    )
