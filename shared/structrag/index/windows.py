"""Windows of a text that is longer than the encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrag.records import Block
from structrag.text.cutting import Cutter
from structrag.text.tokens import TokenCounter


def split_windows(
    text: str, embedder: Any, *, overflow: str, max_tokens: int | None = None
) -> list[str]:
    """The texts to embed for one index text: itself if the encoder reads it all, else consecutive
    windows without overlap.

    Windows are cut at sentence ends and each repeats the first line (the heading path) where it
    leaves at least half the room. An embedder without `max_tokens` gets every text whole.
    `overflow="truncate"` (the paper) leaves it to the encoder.
    """
    limit = getattr(embedder, "max_tokens", None)
    if overflow == "truncate" or not limit:
        return [text]
    room = min(limit, max_tokens or limit)
    counter: TokenCounter = getattr(embedder, "count_tokens", None) or _count_generously
    if counter(text) <= limit:
        return [text]
    lead, _, body = text.partition("\n")
    lead = f"{lead}\n" if body.strip() and counter(lead) * 2 <= room else ""
    rest = text[len(lead) :]
    pieces = Cutter(counter).cut(
        rest, _paragraphs(rest), max(8, room - (counter(lead) if lead else 0))
    )
    return [
        lead + rest[piece.start : piece.end]
        for piece in pieces
        if rest[piece.start : piece.end].strip()
    ] or [text]


def _paragraphs(text: str) -> Sequence[Block]:
    from structrag.reading.plain import plain_blocks

    return plain_blocks(text, 0, len(text))


def _count_generously(text: str) -> int:
    """At least as many tokens as most encoders count: one per three characters."""
    return (len(text) + 2) // 3
