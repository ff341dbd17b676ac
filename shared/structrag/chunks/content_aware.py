"""Content-aware chunks: the smallest titled division of a document, whole (MC-indexing, section 3).

Too long a section is cut at paragraphs, then sentences, then words. The limit counts the index
text, heading path included.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from structrag.chunks.divisions import Division, divide, division_blocks, leading_path
from structrag.chunks.maker import ChunkMaker, IndexLimit
from structrag.errors import InvalidParameter, check_at_least
from structrag.reading.outline import Outline
from structrag.reading.settings import Reading
from structrag.records import Block, Chunk, Document
from structrag.text.cutting import Piece


@dataclass(frozen=True, slots=True)
class ContentAwareSplitter(Reading):
    """Splits a document into its smallest titled divisions.

    Without overlap the chunks tile the document: joined in order they are `document.text`, except
    for excluded sections. A heading without a body travels with the first chunk below it, or else
    with the chunk before it. An empty or blank document has no chunk. Settings are checked when the
    splitter is made.

    Attributes:
        max_tokens: Hard limit of a chunk's index text (context and text) in tokens of `counter`;
            None: no limit. Only a single character that counts more than the limit may exceed it;
                such a chunk has `extras["oversize"]`.
        flat_max_tokens: The limit for a document in which no section was found (MC's FLC-300);
            None: `max_tokens`.
        min_tokens: A chunk whose text counts less joins the chunk of the previous section under the
            same parent where both fit `max_tokens`; 0: never.
        overlap: Tokens of whole sentences that a later piece of a cut section repeats from the
            piece before; 0: none.
        context: Whether chunks carry their heading path (at most 64 tokens, and at most a quarter
            of the limit).
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `Reading`.
    """

    max_tokens: int | None = 300
    flat_max_tokens: int | None = 300
    min_tokens: int = 0
    overlap: int = 0
    context: bool = True

    def __post_init__(self) -> None:
        Reading.__post_init__(self)
        for name in ("max_tokens", "flat_max_tokens"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)
        check_at_least("min_tokens", self.min_tokens, 0)
        check_at_least("overlap", self.overlap, 0)
        limit = self._limit(flat=False)
        if limit is not None and self.overlap * 2 > limit:
            raise InvalidParameter(
                f"overlap must be at most half of max_tokens ({limit}); got {self.overlap}."
            )

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        return self.split_outline(self.outline(document))

    def split_outline(self, outline: Outline) -> list[Chunk]:
        """`split` for a section tree that is there already."""
        limit = self._limit(flat=len(outline.sections) == 1)
        divisions = divide(outline, self.exclude_titles)
        if self.min_tokens:
            divisions = self._join_small(outline, divisions, limit)
        return [chunk for division in divisions for chunk in self._chunks(outline, division, limit)]

    def _limit(self, *, flat: bool) -> int | None:
        limits = [
            limit
            for limit in (self.max_tokens, self.flat_max_tokens if flat else None)
            if limit is not None
        ]
        return min(limits, default=None)

    def _join_small(
        self, outline: Outline, divisions: list[Division], limit: int | None
    ) -> list[Division]:
        """Small divisions take in the next ones until they are not small; those that found none
        join the one before."""
        text = outline.document.text
        maker = self._maker(outline.document, limit)

        def joined(before: Division, division: Division) -> Division | None:
            parent = before.section.parent
            if before.end != division.start or parent is None or parent != division.section.parent:
                return None
            both = Division(before.start, division.end, before.section, before.first)
            context = maker.context(leading_path(outline, both), own=False)
            return (
                both
                if limit is None or maker.count(context, both.start, both.end) <= limit
                else None
            )

        kept: list[Division] = []
        small: list[bool] = []  # for each kept one, whether it is below the minimum
        for division in divisions:
            is_small = self.counter(text[division.start : division.end]) < self.min_tokens
            both = joined(kept[-1], division) if kept and small[-1] else None
            if both is not None:
                kept[-1] = both
                small[-1] = is_small and self.counter(text[both.start : both.end]) < self.min_tokens
            else:
                if len(kept) > 1 and small[-1] and (both := joined(kept[-2], kept[-1])) is not None:
                    kept[-2:], small[-2:] = [both], [False]
                kept.append(division)
                small.append(is_small)
        if len(kept) > 1 and small[-1] and (both := joined(kept[-2], kept[-1])) is not None:
            kept[-2:] = [both]
        return kept

    def _maker(self, document: Document, limit: int | None) -> ChunkMaker:
        return ChunkMaker(document, self.counter, limit, self.context)

    def _chunks(self, outline: Outline, division: Division, limit: int | None) -> Iterator[Chunk]:
        maker = self._maker(outline.document, limit)
        first = maker.context(leading_path(outline, division), own=False)
        tokens = maker.count(first, division.start, division.end)
        if limit is None or tokens <= limit:
            yield maker.chunk(
                division.section, Piece(division.start, division.end), first, index_tokens=tokens
            )
            return
        later = maker.context(division.section.path, own=True)
        overlap = min(self.overlap, limit // 2)
        for number, piece in enumerate(
            self._pieces(outline, division, limit, overlap, (first.text, later.text))
        ):
            yield maker.chunk(division.section, piece, later if number else first)

    def _pieces(
        self,
        outline: Outline,
        division: Division,
        limit: int,
        overlap: int,
        contexts: tuple[str, str],
    ) -> list[Piece]:
        """Pieces whose index texts fit, the context and the overlap counted."""
        text = outline.document.text
        within = IndexLimit(text, division.start, contexts, limit, self.counter)
        cutter = self.cutter()
        blocks, tail = division_blocks(outline, division)
        pieces = within.cut(cutter, blocks, tail, spare=overlap)
        if not overlap:
            return pieces
        longer = self._with_overlap(text, pieces, blocks, overlap)
        return [new if within.fits(new) else old for old, new in zip(pieces, longer, strict=True)]

    def _with_overlap(
        self, text: str, pieces: list[Piece], blocks: Sequence[Block], overlap: int
    ) -> list[Piece]:
        """The pieces with whole sentences of the piece before in front, as many as `overlap` tokens
        hold.

        Sentences are taken from prose only: never from a table, code, mathematics or HTML.
        """
        cutter = self.cutter()
        starts = [block.start for block in blocks]
        longer = pieces[:1]
        for before, piece in pairwise(pieces):
            start = piece.start
            number = bisect_right(starts, start - 1) - 1
            while number >= 0 and blocks[number].kind in {"paragraph", "list", "quote"}:
                number -= 1
            floor = max(
                before.start + 1, blocks[number].end if number >= 0 else 0, start - 40 * overlap
            )
            for sentence, _ in reversed(cutter.sentences(text, before.start, start)):
                if sentence < floor or self.counter(text[sentence : piece.start]) > overlap:
                    break
                start = sentence
            longer.append(Piece(start, piece.end, piece.header if start == piece.start else (0, 0)))
        return longer
