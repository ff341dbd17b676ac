"""Content-aware chunks (MC-indexing, section 3). A chunk is the smallest titled division of a
document, whole. Too long a section is cut at paragraphs, then sentences, then words. The limit
counts the index text, heading path included."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any
from zlib import crc32

from structrag.chunks.divisions import (
    Code,
    Division,
    divide,
    division_blocks,
    leading_path,
    leading_section,
)
from structrag.chunks.maker import ChunkMaker, IndexLimit
from structrag.errors import InvalidParameter, check_at_least, check_optional
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions, changed
from structrag.records import Block, Chunk, Document, Section
from structrag.text.cutting import Piece
from structrag.text.heading_path import Context

_MARKED = 80  # characters: a heading and, where headings repeat, the first words below


@dataclass(frozen=True, slots=True)
class ContentAwareSplitter(ReadOptions):
    """Splits a document into its smallest titled divisions.

    Example:
        >>> text = "# Nova\\n\\nIt rings.\\n\\n## Battery\\n\\n19 h\\n"
        >>> document = Document(text, format="markdown")
        >>> [chunk.text for chunk in ContentAwareSplitter().split(document)]
        ['# Nova\\n\\nIt rings.\\n\\n', '## Battery\\n\\n19 h\\n']

    Without overlap the chunks tile the document: joined in order they are `document.text`, except
    for excluded sections. A heading without a body stays with the first chunk below it, or else
    with the chunk before it. An empty or blank document has no chunks. Settings are checked when
    the splitter is created.

    Attributes:
        max_tokens: Hard limit of a chunk's index text (context and text) in tokens of `counter`;
            None: no limit. Only a single code point with more tokens may exceed it; such a chunk
            has `extras["oversize"]`.
        flat_max_tokens: The limit for a document without sections (MC's FLC-300); None:
            `max_tokens`.
        min_tokens: Sections with fewer tokens share a chunk with neighbours under the same parent,
            and with the text above them there, if all fit `max_tokens`; 0: never. Such a chunk has
            the path of the parent, and the path of each section in `extras["section_paths"]`.
        overlap: The overlap in tokens, in whole sentences, between the pieces of a divided section;
            0: none.
        context: Whether chunks carry their heading path (at most 64 tokens and a quarter of the
            limit).
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
    """

    max_tokens: int | None = 300
    flat_max_tokens: int | None = 300
    min_tokens: int = 0
    overlap: int = 0
    context: bool = True

    def __post_init__(self) -> None:
        ReadOptions.__post_init__(self)
        for name in ("max_tokens", "flat_max_tokens"):
            check_optional(name, getattr(self, name), 1)
        check_at_least("min_tokens", self.min_tokens, 0)
        check_at_least("overlap", self.overlap, 0)
        limit = self._limit(flat=False)
        if limit is not None and self.overlap * 2 > limit:
            raise InvalidParameter(
                f"overlap must be at most half of max_tokens ({limit}); got {self.overlap}."
            )

    @classmethod
    def paper(cls, **changes: Any) -> ContentAwareSplitter:
        """As published (MC-indexing, section 3.1): the smallest titled divisions, whole, of any
        length, without heading path. A document without headings, a case that the paper does not
        mention, is cut at 300 tokens. A chunk begins with its heading line and ends
        with headings that no text follows; `Index(preset="paper")` indexes neither."""
        return changed(cls, {"max_tokens": None, "context": False}, changes)

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        return self.split_outline(self.outline(document))

    def split_outline(self, outline: Outline) -> list[Chunk]:
        """`split` for an existing section tree."""
        limit = self._limit(flat=len(outline.sections) == 1)
        divisions = divide(outline, self.exclude_titles)
        code = Code.of(outline)
        if code:
            fits = partial(self._is_within, outline, limit)
            divisions = code.divisions(divisions, fits)
        maker = ChunkMaker(outline.document, self.counter, limit, self.context)
        starts = [division.start for division in divisions]
        chunks: list[Chunk] = []
        for one in self._join_small(outline, divisions, maker):
            inside = slice(bisect_left(starts, one.start), bisect_left(starts, one.end))
            chunks += self._chunks(outline, one, maker, code, divisions[inside])
        return chunks

    def _limit(self, *, flat: bool) -> int | None:
        """The limit for a document, `flat` if it has no section."""
        if not flat or self.flat_max_tokens is None:
            return self.max_tokens
        if self.max_tokens is None:
            return self.flat_max_tokens
        return min(self.max_tokens, self.flat_max_tokens)

    def _is_within(
        self, outline: Outline, limit: int | None, division: Division
    ) -> bool:
        text = outline.document.text[division.start : division.end]
        return limit is None or self.counter(text) <= limit

    def _join_small(
        self, outline: Outline, divisions: list[Division], maker: ChunkMaker
    ) -> list[Division]:
        """Join small divisions under one parent, the innermost first. What is below a section and
        became one division is joined with what stands beside that section."""
        if not self.min_tokens:
            return divisions
        below: dict[int, list[list[Division]]] = defaultdict(list)
        for division in divisions:
            below[division.section.ordinal].append([division])
        for section in reversed(outline.sections):
            parts = below[section.ordinal]
            whole = [part[0] for part in parts if len(part) == 1]
            others = [part for part in parts if len(part) > 1]
            joined = self._joined(outline, section, whole, maker)
            divisions = sorted(chain(joined, *others), key=attrgetter("start"))
            if section.parent is not None and divisions:
                below[section.parent].append(divisions)
        return divisions

    def _joined(
        self,
        outline: Outline,
        parent: Section,
        divisions: Sequence[Division],
        maker: ChunkMaker,
    ) -> Iterable[Division]:
        """Neighbours under one parent, joined where one is small and both fit. The order in which
        borders are tried depends on the words behind each, so that an insertion moves few."""
        text = maker.document.text
        starts = {one.start: one for one in divisions}
        ends = {one.end: one for one in divisions}
        sizes = {
            one.start: self.counter(text[one.start : one.end]) for one in divisions
        }
        marks = {one.start: _mark(text, one) for one in divisions}
        for border in sorted(starts.keys() & ends, key=marks.__getitem__):
            before = ends[border]
            if min(sizes[before.start], sizes[border]) >= self.min_tokens:
                continue
            first = leading_section(outline, before)
            end = starts[border].end
            both = replace(before, end=end, section=parent, first=first)
            tokens = maker.count(_leading(maker, outline, both), both.start, both.end)
            if maker.limit is None or tokens <= maker.limit:
                del starts[border], ends[border]
                starts[both.start] = ends[both.end] = both
                sizes[both.start] += sizes[border]
        return starts.values()

    def _chunks(
        self,
        outline: Outline,
        division: Division,
        maker: ChunkMaker,
        code: Code,
        parts: Sequence[Division],
    ) -> Iterator[Chunk]:
        limit = maker.limit
        first = _leading(maker, outline, division)
        tokens = maker.count(first, division.start, division.end)
        if limit is not None and tokens > limit and code:
            whole = maker.beside(first, division.start, division.end)
            if whole is not None:
                first, tokens = whole
        if limit is None or tokens <= limit:
            piece = Piece(division.start, division.end)
            paths = [list(part.section.path) for part in parts]
            extras = {"section_paths": paths} if len(paths) > 1 else {}
            yield maker.chunk(
                division.section, piece, first, extras=extras, index_tokens=tokens
            )
            return
        later = maker.context(division.section.path, own=True)
        if code:
            later = maker.with_signatures(later, code.signatures(division.section))
            first = later if division.is_inside else first
        # The limit of flat text may be below `max_tokens`.
        overlap = min(self.overlap, limit // 2)
        contexts = (first.text, later.text)
        within = IndexLimit(
            maker.document.text, division.start, contexts, limit, self.counter
        )
        for number, piece in enumerate(
            self._pieces(outline, division, within, overlap, code)
        ):
            context = later if number else first
            yield maker.chunk(
                division.section, piece, context, index_tokens=within.counted.get(piece)
            )

    def _pieces(
        self,
        outline: Outline,
        division: Division,
        within: IndexLimit,
        overlap: int,
        code: Code,
    ) -> list[Piece]:
        """Pieces whose index texts fit, the context and the overlap counted."""
        text = outline.document.text
        cutter = self.cutter()
        blocks, tail = (
            (code.blocks(division), None)
            if code
            else division_blocks(outline, division)
        )
        pieces = within.cut(cutter, blocks, tail, spare=overlap)
        if not overlap:
            return pieces
        longer = self._with_overlap(text, pieces, blocks, overlap)
        both = zip(pieces, longer, strict=True)
        return [long if within.fits(long) else piece for piece, long in both]

    def _with_overlap(
        self, text: str, pieces: list[Piece], blocks: Sequence[Block], overlap: int
    ) -> list[Piece]:
        """The pieces with sentences of the piece before in front.

        These are whole sentences, as many as `overlap` tokens hold. They are taken from prose only:
        never from a table, code, mathematics or HTML. They are never all of the piece before, and
        never from farther back than 40 characters a token.
        """
        cutter = self.cutter()
        starts = [block.start for block in blocks]
        longer = pieces[:1]
        for before, piece in pairwise(pieces):
            start = piece.start
            number = bisect_right(starts, start - 1) - 1
            while number >= 0 and blocks[number].kind in {"paragraph", "list", "quote"}:
                number -= 1
            prose_start = blocks[number].end if number >= 0 else 0
            floor = max(before.start + 1, prose_start, start - 40 * overlap)
            for sentence, _ in reversed(cutter.sentences(text, before.start, start)):
                if (
                    sentence < floor
                    or self.counter(text[sentence : piece.start]) > overlap
                ):
                    break
                start = sentence
            longer.append(
                Piece(
                    start, piece.end, piece.header if start == piece.start else (0, 0)
                )
            )
        return longer


def _leading(maker: ChunkMaker, outline: Outline, division: Division) -> Context:
    """The heading path in front of a division."""
    if division.is_inside:
        return maker.context(division.section.path, own=True)
    return maker.context(leading_path(outline, division), own=False)


def _mark(text: str, division: Division) -> tuple[int, int]:
    """A number for the words that a division begins with; among equals, its place."""
    end = min(division.end, division.start + _MARKED)
    words = text[division.start : end].encode("utf-8", "surrogatepass")
    return crc32(words), division.start
