"""Fixed-length chunks, the papers' baseline (MC-indexing's FLC). Sentences are packed until the
next would pass the limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structrag.chunks.divisions import divide
from structrag.chunks.maker import ChunkMaker
from structrag.errors import InvalidParameter, check_at_least
from structrag.reading.sections import check_document, flat_outline
from structrag.reading.settings import ReadOptions
from structrag.records import Block, Chunk, Document, Section
from structrag.text.cutting import Piece
from structrag.text.heading_path import Context


@dataclass(frozen=True, slots=True)
class FixedSplitter(ReadOptions):
    """Packs sentences in order until the next one would pass `max_tokens`.

    Example:
        >>> document = Document("It rings. It takes pictures. It lasts.")
        >>> splitter = FixedSplitter(max_tokens=6, counter=lambda text: len(text.split()))
        >>> [chunk.text for chunk in splitter.split(document)]
        ['It rings. It takes pictures. ', 'It lasts.']

    The chunks tile the document. A sentence above the limit is cut between words. A blank document
    has no chunks. Without `within_sections` the structure is ignored: chunks belong to the root
    section and have no path.

    Attributes:
        max_tokens: Hard limit of a chunk's index text in tokens of `counter` (the papers use 100,
            200 and 300).
        within_sections: Whether chunks end at section borders (MC's FLC-content).
        context: With `within_sections`: whether chunks carry their heading path, which then counts
            towards the limit.
        exclude_titles, plain_headings: As in `ReadOptions`, with `within_sections`.
        counter, language, sentence_splitter: As in `ReadOptions`.
    """

    max_tokens: int = 300
    within_sections: bool = False
    context: bool = False

    def __post_init__(self) -> None:
        ReadOptions.__post_init__(self)
        check_at_least("max_tokens", self.max_tokens, 1)
        if self.exclude_titles and not self.within_sections:
            raise InvalidParameter(
                "exclude_titles must be empty when within_sections is False, because titles are "
                f"then ignored; got {list(self.exclude_titles)}. Set within_sections=True."
            )

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        check_document(document)
        if not document.text.strip():
            return []
        with_context = self.context and self.within_sections
        maker = ChunkMaker(document, self.counter, self.max_tokens, with_context)
        if not self.within_sections:
            root = flat_outline(document).sections[0]
            return list(self._pack(maker, 0, len(document.text), root))
        chunks: list[Chunk] = []
        for division in divide(self.outline(document), self.exclude_titles):
            chunks += self._pack(maker, division.start, division.end, division.section)
        return chunks

    def _pack(
        self, maker: ChunkMaker, start: int, end: int, section: Section
    ) -> Iterator[Chunk]:
        """The chunks of a span of one section."""
        context = maker.context(section.path, own=True)
        reserve = self.counter(context.text + "\n") if context.text else 0
        budget = max(1, self.max_tokens - reserve)
        bounds = [start]  # of the sentences packed so far
        size = 0
        for stop, tokens in self._units(maker.document.text, start, end, budget):
            if len(bounds) > 1 and size + tokens > budget:
                yield from self._checked(maker, bounds, section, context)
                bounds, size = [bounds[-1]], 0
            bounds.append(stop)
            size += tokens
        yield from self._checked(maker, bounds, section, context)

    def _checked(
        self, maker: ChunkMaker, bounds: list[int], section: Section, context: Context
    ) -> Iterator[Chunk]:
        """The sentences as one chunk, or more if the limit is passed."""
        chunk = maker.chunk(section, Piece(bounds[0], bounds[-1]), context)
        # The counts of the sentences may add up to less than the count of all.
        if len(bounds) > 2 and "oversize" in chunk.extras:
            middle = len(bounds) // 2
            yield from self._checked(maker, bounds[: middle + 1], section, context)
            yield from self._checked(maker, bounds[middle:], section, context)
        else:
            yield chunk

    def _units(
        self, text: str, start: int, end: int, budget: int
    ) -> Iterator[tuple[int, int]]:
        """The ends of the sentences that tile the span, with their tokens. Sentences above the
        budget are cut."""
        cutter = self.cutter()
        for sentence, sentence_end in cutter.sentences(text, start, end):
            tokens = self.counter(text[sentence:sentence_end])
            if tokens <= budget:
                yield sentence_end, tokens
                continue
            for piece in cutter.cut(
                text, [Block("paragraph", sentence, sentence_end)], budget
            ):
                yield piece.end, self.counter(text[piece.start : piece.end])
