"""Chunks that keep a limit together with what a host embeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from structrag.integrations.metadata import is_oversize
from structrag.model_calls.requests import Flow
from structrag.records import Chunk, Document

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fitted(Generic[T]):
    """A chunk as a host has it.

    Attributes:
        chunk: The chunk.
        node: What was made of it.
        size: Tokens of the node as it is embedded.
    """

    chunk: Chunk
    node: T
    size: int


def fitted_flow(
    splitter_for: Callable[[int, bool], Any],
    document: Document,
    make: Callable[[Chunk], T],
    size_of: Callable[[T], int],
    *,
    max_tokens: int,
    metadata_tokens: int = 0,
    label_tokens: int | None = None,
) -> Flow[list[Fitted[T]]]:
    """Split a document so that chunks keep the limit as embedded.

    How a host joins metadata, titles and text is known only once it has done so. So the limit that
    the splitter is given begins at what the metadata leaves, and shrinks by the excess until every
    size is at most `max_tokens`, or the limit is one token. Titles are left out where they would
    take much of the limit: where their label takes over a quarter of it, where the excess with them
    does, or where a chunk with them exceeds the limit however short.

    Args:
        splitter_for: The splitter for a limit in tokens, with titles in front or without.
        make: From a chunk to the host's node.
        size_of: The tokens of a node as it is embedded.
        max_tokens: The limit of that.
        metadata_tokens: Of the metadata that is embedded with every chunk.
        label_tokens: Of what the host writes around the titles; None: chunks carry no titles.
    """
    room = max_tokens - metadata_tokens
    titles = label_tokens is not None and label_tokens * 4 <= room
    limit = room - (label_tokens or 0) if titles else room
    while True:
        chunks = yield from split_flow(splitter_for(limit, titles), document)
        fitted = [_fitted(chunk, make, size_of) for chunk in chunks]
        excess = _largest_size(fitted, titles) - max_tokens
        if titles and _is_better_without(chunks, excess, limit):
            limit, titles = room, False
        elif excess <= 0 or limit == 1:
            return fitted
        else:
            limit = max(1, limit - excess)


def split_flow(splitter: Any, document: Document) -> Flow[list[Chunk]]:
    """The chunks of a document by any splitter, as steps."""
    if hasattr(splitter, "split_flow"):
        return (yield from splitter.split_flow(document))  # type: ignore[no-any-return]
    return splitter.split(document)  # type: ignore[no-any-return]


def hide_longest(
    values: Mapping[str, Any], size_without: Callable[[Sequence[str]], int], room: int
) -> tuple[list[str], int]:
    """The longest values to hide so that the others fit.

    The keys of those to hide, the longest first, and the tokens of the others.

    Example:
        >>> values = {"title": "Pumps", "abstract": "All about pumps and valves."}
        >>> hide_longest(values, lambda hidden: 40 - 30 * len(hidden), 20)
        (['abstract'], 10)

    Args:
        values: Those that would be embedded.
        size_without: The tokens of all of them but for the hidden keys.
        room: Tokens that they may take.
    """
    visible = sorted(values, key=lambda key: -len(str(values[key])))
    hidden: list[str] = []
    while (size := size_without(hidden)) > room and visible:
        hidden.append(visible.pop(0))
    return hidden, size


def _fitted(
    chunk: Chunk, make: Callable[[Chunk], T], size_of: Callable[[T], int]
) -> Fitted[T]:
    node = make(chunk)
    return Fitted(chunk, node, size_of(node))


def _largest_size(fitted: Sequence[Fitted[T]], titles: bool) -> int:
    """The largest size that a lower limit can reduce, or 0."""
    # Without titles a chunk of one long character cannot become shorter.
    sizes = [part.size for part in fitted if titles or not is_oversize(part.chunk)]
    return max(sizes, default=0)


def _is_better_without(chunks: Sequence[Chunk], excess: int, limit: int) -> bool:
    """Whether to make chunks again without their titles."""
    if not any(chunk.context for chunk in chunks):
        return True  # there are none, so their label takes room for nothing
    return excess > 0 and (excess * 4 > limit or any(map(is_oversize, chunks)))
