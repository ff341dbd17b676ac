"""Cutting a run of blocks so that every piece keeps the limit as it will be indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.chunks.cutting import Cutter, Piece
from structrag.chunks.making import index_text
from structrag.records import Block
from structrag.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class IndexLimit:
    """The hard limit of the index texts of one run of blocks.

    Attributes:
        text: The document's text.
        start: Where the run begins; the piece that starts there has the first of the `contexts`, later pieces the second.
        limit: Most tokens of context, repeated table header and text together.
    """

    text: str
    start: int
    contexts: tuple[str, str]
    limit: int
    counter: TokenCounter

    def fits(self, piece: Piece, spare: int = 0) -> bool:
        """Whether the index text of a piece keeps the limit, `spare` tokens left in pieces after the first."""
        later = piece.start > self.start
        text = self.text[piece.header[0] : piece.header[1]] + self.text[piece.start : piece.end]
        return self.counter(index_text(self.contexts[later], text)) + spare * later <= self.limit

    def cut(self, cutter: Cutter, blocks: Sequence[Block], tail: int | None, spare: int = 0) -> list[Piece]:
        """Pieces that tile the blocks; `tail` and what a piece may exceed are those of `Cutter.cut`."""
        reserve = max(self.counter(context + "\n") if context else 0 for context in self.contexts) + spare
        room = max(1, self.limit - reserve)
        return cutter.cut(self.text, blocks, room, fits=lambda piece: self.fits(piece, spare), tail=tail)
