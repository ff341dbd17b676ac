"""From runs of units to pieces whose index texts keep the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from structrag.chunks.bounds import Run, split_once
from structrag.chunks.divisions import Division, leading_path
from structrag.chunks.maker import ChunkMaker, index_text
from structrag.chunks.units import WHOLE, Unit
from structrag.reading.outline import Outline
from structrag.records import Block
from structrag.text.cutting import Cutter, Piece, lines_block
from structrag.text.heading_path import Context


@dataclass(frozen=True, slots=True)
class Fitter:
    """Cuts the runs of one document into pieces that fit as indexed.

    Counts of sentences need not add up to the count of the whole, and a cut table repeats its
    header. So runs that fit by their sum are counted once more.
    """

    outline: Outline
    maker: ChunkMaker
    cutter: Cutter

    def room(self, divisions: Sequence[Division]) -> int | None:
        """The tokens that the longest context of these divisions leaves for text. It is at least 1,
        and None without a limit."""
        if self.maker.limit is None:
            return None
        longest = 0
        for division in divisions:
            for leading in (True, False):
                context = self.context(division, leading).text
                if context:
                    longest = max(longest, self.maker.counter(context + "\n"))
        return max(1, self.maker.limit - longest)

    def context(self, division: Division, leading: bool) -> Context:
        """The heading path of a piece. A `leading` piece starts the division, and so holds its
        heading."""
        path = (
            leading_path(self.outline, division) if leading else division.section.path
        )
        return self.maker.context(path, own=not leading)

    def pieces(
        self,
        units: Sequence[Unit],
        run: Run,
        sizes: Sequence[int],
        affinity: Sequence[float],
        least: int = 0,
    ) -> Iterator[tuple[Run, Piece, Context]]:
        """The pieces of a run, each with its units and its context. A run that is too long is cut
        as `split_once` does. A single unit that is too long is cut between its lines or words."""
        first, last = run
        unit = units[first]
        piece = Piece(unit.start, units[last - 1].end, unit.header)
        context = self.context(unit.division, unit.start == unit.division.start)
        if self._fits(piece, context):
            yield run, piece, context
        elif last - first > 1:
            for part in split_once(run, sizes, least, affinity):
                yield from self.pieces(units, part, sizes, affinity, least)
        else:
            for part_piece in self._inside(unit, piece):
                leading = part_piece.start == unit.division.start
                yield run, part_piece, self.context(unit.division, leading)

    def _fits(self, piece: Piece, context: Context) -> bool:
        if self.maker.limit is None:
            return True
        text = self.outline.document.text
        whole = text[piece.header[0] : piece.header[1]] + text[piece.start : piece.end]
        return self.maker.counter(index_text(context.text, whole)) <= self.maker.limit

    def _inside(self, unit: Unit, piece: Piece) -> list[Piece]:
        """The pieces of a single unit."""
        text = self.outline.document.text
        room = self.room([unit.division])
        if room is None:
            return [piece]
        block = Block("paragraph", unit.start, unit.end)
        if unit.kind in WHOLE:
            block = lines_block(text, unit.start, unit.end)

        def fits(part: Piece) -> bool:
            context = self.context(unit.division, part.start == unit.division.start)
            return self._fits(replace(part, header=unit.header), context)

        parts = self.cutter.cut(text, [block], room, fits=fits)
        return [replace(part, header=unit.header) for part in parts]
