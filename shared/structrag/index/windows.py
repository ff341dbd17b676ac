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
    """The texts to embed for one index text.

    Itself if the encoder reads it all, else consecutive windows without overlap. Windows are cut at
    sentence ends and each repeats the first line (the heading path) where it leaves at least half
    the room. An embedder without `max_tokens` gets every text whole. `overflow="truncate"` (the
    paper) leaves it to the encoder.
    """
    limit = getattr(embedder, "max_tokens", None)
    if overflow == "truncate" or not limit:
        return [text]
    room = min(limit, max_tokens or limit)
    counter: TokenCounter = getattr(embedder, "count_tokens", None) or _count_generously
    if counter(text) <= limit:
        return [text]
    lead = _repeated_line(text, room, counter)
    rest = text[len(lead) :]
    room_left = max(8, room - (counter(lead) if lead else 0))
    pieces = Cutter(counter).cut(rest, _paragraphs(rest), room_left)
    bodies = [rest[piece.start : piece.end] for piece in pieces]
    return [lead + body for body in bodies if body.strip()] or [text]


def _repeated_line(text: str, room: int, counter: TokenCounter) -> str:
    """The first line, if text follows and half the room is left."""
    lead, _, body = text.partition("\n")
    return f"{lead}\n" if body.strip() and counter(lead) * 2 <= room else ""


def _paragraphs(text: str) -> Sequence[Block]:
    from structrag.reading.plain import plain_blocks

    return plain_blocks(text, 0, len(text))


def _count_generously(text: str) -> int:
    """At least as many tokens as most encoders count: one per three characters."""
    return (len(text) + 2) // 3
