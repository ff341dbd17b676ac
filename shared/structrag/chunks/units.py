"""The units that splitters who read the text decide about: sentences, and blocks that are not cut
into sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structrag.chunks.divisions import Division, division_blocks
from structrag.reading.outline import Outline
from structrag.records import Block
from structrag.text.cutting import Cutter, Piece

WHOLE = {"code", "table", "math", "image"}  # kinds of blocks that are one unit


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a list item, a table, a code block. Units in order tile their divisions."""

    start: int
    end: int
    text_start: int  # where its own words begin, behind a heading that travels with it
    tokens: int  # of text[start:end]
    kind: str
    division: Division
    header: tuple[int, int] = (0, 0)  # rows of a cut table to repeat when a chunk starts here


def units_of(
    outline: Outline, division: Division, cutter: Cutter, max_tokens: int | None
) -> list[Unit]:
    """The units of a division. A unit above `max_tokens` is cut at items, rows, lines, words;
    nothing is left out."""
    text = outline.document.text
    blocks, tail = division_blocks(outline, division)
    units: list[Unit] = []
    for number, block in enumerate(blocks, start=1):
        own = tail if number == len(blocks) and tail is not None else block.end
        for piece, text_start, counted in _pieces(text, block, own, cutter, max_tokens):
            tokens = cutter.counter(text[piece.start : piece.end]) if counted is None else counted
            units.append(
                Unit(piece.start, piece.end, text_start, tokens, block.kind, division, piece.header)
            )
    return units


def _pieces(
    text: str, block: Block, own_end: int, cutter: Cutter, max_tokens: int | None
) -> Iterator[tuple[Piece, int, int | None]]:
    """The units of one block, where their own words begin, and their tokens if counted; the last
    takes in what is behind `own_end`."""
    own = block.start if block.header_start is None else block.header_start
    if block.kind in WHOLE:
        spans = [(own, own_end)]
    elif block.kind == "list":
        cuts = [cut for cut in block.cuts if own < cut < own_end]
        spans = list(zip([own, *cuts], [*cuts, own_end], strict=True))
    else:
        spans = cutter.sentences(text, own, own_end) or [(own, own_end)]
    for i, (start, end) in enumerate(spans):
        first = block.start if i == 0 else start
        last = block.end if i == len(spans) - 1 else end
        tokens = cutter.counter(text[first:last])
        if max_tokens is None or tokens <= max_tokens:
            yield Piece(first, last), start, tokens
            continue
        cuts_inside = tuple(cut for cut in block.cuts if start < cut < end)
        part = Block(block.kind, first, last, cuts_inside, block.header_end, start)
        for piece in cutter.cut(text, [part], max_tokens, tail=own_end if last > own_end else None):
            yield piece, start if piece.start <= start < piece.end else piece.start, None
