"""Fixed-length chunks: sentences packed until the next would pass the limit, the papers' baseline (MC-indexing's FLC)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structrag.chunks.content_aware import divide
from structrag.chunks.cutting import Cutter, SentenceSplitter
from structrag.context import heading_context
from structrag.errors import check_at_least
from structrag.records import Block, Chunk, Document, Section
from structrag.sections import parse
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
        outline = parse(document)
        if not self.within_sections:
            spans = [(0, len(document.text), outline.sections[0], "")]
        else:
            spans = [(d.start, d.end, d.section, self._context(document, d.section)) for d in divide(outline)]
        return [chunk for span in spans for chunk in self._pack(document, *span)]

    def _context(self, document: Document, section: Section) -> str:
        limit = min(64, self.max_tokens // 4)
        return heading_context(document.title, section.path, self.counter, limit=limit).text if self.context else ""

    def _pack(self, document: Document, start: int, end: int, section: Section, context: str) -> Iterator[Chunk]:
        text = document.text
        budget = max(1, self.max_tokens - (self.counter(context + "\n") if context else 0))
        first = start
        size = 0
        for sentence, sentence_end, tokens in self._units(text, start, end, budget):
            if sentence > first and size + tokens > budget:
                yield self._chunk(document, first, sentence, section, context)
                first, size = sentence, 0
            size += tokens
        yield self._chunk(document, first, end, section, context)

    def _units(self, text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, int, int]]:
        """Sentences that tile the span with their tokens, those above the budget cut."""
        cutter = Cutter(self.counter, self.language, self.sentence_splitter)
        for sentence, sentence_end in cutter.sentences(text, start, end):
            tokens = self.counter(text[sentence:sentence_end])
            if tokens <= budget:
                yield sentence, sentence_end, tokens
                continue
            for piece in cutter.cut(text, [Block("paragraph", sentence, sentence_end)], budget):
                yield piece.start, piece.end, self.counter(text[piece.start : piece.end])

    def _chunk(self, document: Document, start: int, end: int, section: Section, context: str) -> Chunk:
        text = document.text[start:end]
        tokens = self.counter(text)
        index_tokens = self.counter(f"{context}\n{text}") if context else tokens
        return Chunk(
            id=f"{document.id}:{start}-{end}",
            doc_id=document.id,
            section_id=section.id,
            start=start,
            end=end,
            text=text,
            context=context,
            n_tokens=tokens,
            path=section.path,
            extras={"index_tokens": index_tokens, **({"oversize": True} if index_tokens > self.max_tokens else {})},
        )
