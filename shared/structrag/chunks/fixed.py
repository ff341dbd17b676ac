"""Fixed-length chunks: sentences packed until the next would pass the limit, the papers' baseline (MC-indexing's FLC)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structrag.chunks.cutting import Cutter, SentenceSplitter
from structrag.chunks.divisions import divide
from structrag.context import heading_context
from structrag.errors import check_at_least
from structrag.records import Block, Chunk, Document, Section
from structrag.sections import parse
from structrag.sections.outline import build_outline
from structrag.tokens import TokenCounter, count_tokens


@dataclass(frozen=True, slots=True)
class FixedSplitter:
    """Packs sentences in order until the next one would pass `max_tokens`; chunks tile the document.

    A sentence above the limit is cut at words. A blank document has no chunk.

    Attributes:
        max_tokens: Hard limit of a chunk's index text in tokens of `counter` (the papers use 100, 200 and 300).
        within_sections: Whether chunks end at section borders (MC's FLC-content).
        context: With `within_sections`: whether chunks carry their heading path, which then counts to the limit.
        counter, language, sentence_splitter: As in `ContentAwareSplitter`.
    """

    max_tokens: int = 300
    within_sections: bool = False
    context: bool = False
    counter: TokenCounter = count_tokens
    language: str = "english"
    sentence_splitter: SentenceSplitter | None = None

    def __post_init__(self) -> None:
        check_at_least("max_tokens", self.max_tokens, 1)

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        if not document.text.strip():
            return []
        if self.within_sections:
            spans = [(d.start, d.end, d.section, self._context(document, d.section)) for d in divide(parse(document))]
        else:
            root = build_outline(document, [], lambda start, end: []).sections[0]
            spans = [(0, len(document.text), root, "")]
        return [chunk for span in spans for chunk in self._pack(document, *span)]

    def _context(self, document: Document, section: Section) -> str:
        limit = min(64, self.max_tokens // 4)
        return heading_context(document.title, section.path, self.counter, limit=limit).text if self.context else ""

    def _pack(self, document: Document, start: int, end: int, section: Section, context: str) -> Iterator[Chunk]:
        budget = max(1, self.max_tokens - (self.counter(context + "\n") if context else 0))
        bounds = [start]  # of the sentences packed so far
        size = 0
        for stop, tokens in self._units(document.text, start, end, budget):
            if len(bounds) > 1 and size + tokens > budget:
                yield from self._checked(document, bounds, section, context)
                bounds, size = [bounds[-1]], 0
            bounds.append(stop)
            size += tokens
        yield from self._checked(document, bounds, section, context)

    def _checked(self, document: Document, bounds: list[int], section: Section, context: str) -> Iterator[Chunk]:
        """One chunk of the sentences, or more where the counts of parts add up to less than the count of the whole."""
        chunk = self._chunk(document, bounds[0], bounds[-1], section, context)
        if len(bounds) > 2 and "oversize" in chunk.extras:
            middle = len(bounds) // 2
            yield from self._checked(document, bounds[: middle + 1], section, context)
            yield from self._checked(document, bounds[middle:], section, context)
        else:
            yield chunk

    def _units(self, text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, int]]:
        """The ends of the sentences that tile the span, with their tokens; those above the budget are cut."""
        cutter = Cutter(self.counter, self.language, self.sentence_splitter)
        for sentence, sentence_end in cutter.sentences(text, start, end):
            tokens = self.counter(text[sentence:sentence_end])
            if tokens <= budget:
                yield sentence_end, tokens
                continue
            for piece in cutter.cut(text, [Block("paragraph", sentence, sentence_end)], budget):
                yield piece.end, self.counter(text[piece.start : piece.end])

    def _chunk(self, document: Document, start: int, end: int, section: Section, context: str) -> Chunk:
        text = document.text[start:end]
        index_tokens = self.counter(f"{context}\n{text}") if context else self.counter(text)
        return Chunk(
            id=f"{document.id}:{start}-{end}",
            doc_id=document.id,
            section_id=section.id,
            start=start,
            end=end,
            text=text,
            context=context,
            n_tokens=self.counter(text) if context else index_tokens,
            path=section.path,
            extras={"index_tokens": index_tokens, **({"oversize": True} if index_tokens > self.max_tokens else {})},
        )
