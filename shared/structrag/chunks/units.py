"""The units that splitters who read the text decide about. They are sentences, and blocks that are
not cut into sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from structrag.chunks.divisions import Division, division_blocks
from structrag.reading.outline import Outline
from structrag.records import Block
from structrag.text.cutting import Cutter

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
    # Rows of a cut table to repeat when a chunk starts here.
    header: tuple[int, int] = (0, 0)


def units_of(
    outline: Outline, division: Division, cutter: Cutter, max_tokens: int | None
) -> list[Unit]:
    """The units of a division. A unit above `max_tokens` is cut at items, rows, lines, words.
    Nothing is left out."""
    text = outline.document.text
    blocks, tail = division_blocks(outline, division)
    units: list[Unit] = []
    for block in blocks:
        text_end = block.end if tail is None or block is not blocks[-1] else tail
        for start, end, text_start in _spans(text, block, text_end, cutter):
            tokens = cutter.counter(text[start:end])
            unit = Unit(start, end, text_start, tokens, block.kind, division)
            if max_tokens is None or tokens <= max_tokens:
                units.append(unit)
            else:
                units += _cut(text, unit, block, text_end, cutter, max_tokens)
    return units


def _spans(
    text: str, block: Block, text_end: int, cutter: Cutter
) -> Iterator[tuple[int, int, int]]:
    """Start, end and text start of a block's units, however long. The first has the heading in
    front of the block, the last one those behind `text_end`."""
    words = [(block.text_start, text_end)]
    if block.kind == "list":
        cuts = [cut for cut in block.cuts if block.text_start < cut < text_end]
        words = list(pairwise([block.text_start, *cuts, text_end]))
    elif block.kind not in WHOLE:
        words = cutter.sentences(text, block.text_start, text_end) or words
    for i, (start, end) in enumerate(words):
        first = block.start if i == 0 else start
        last = block.end if i == len(words) - 1 else end
        yield first, last, start


def _cut(
    text: str, unit: Unit, block: Block, text_end: int, cutter: Cutter, max_tokens: int
) -> Iterator[Unit]:
    """The pieces of a unit that is too long."""
    cuts = tuple(cut for cut in block.cuts if unit.text_start < cut < unit.end)
    part = Block(
        block.kind, unit.start, unit.end, cuts, block.header_end, unit.text_start
    )
    tail = text_end if text_end < unit.end else None
    for piece in cutter.cut(text, [part], max_tokens, tail=tail):
        tokens = cutter.counter(text[piece.start : piece.end])
        # The piece with the end of the heading has words of its own behind it.
        holds_words = piece.start <= unit.text_start < piece.end
        words = unit.text_start if holds_words else piece.start
        yield Unit(
            piece.start,
            piece.end,
            words,
            tokens,
            unit.kind,
            unit.division,
            piece.header,
        )
