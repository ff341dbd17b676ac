"""Paragraphs that D3 selects, and spans it routes to (section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from structrag.chunks.divisions import excluded_sections
from structrag.chunks.maker import ChunkMaker
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Block, Chunk, Document, Section
from structrag.text.cutting import Cutter, Piece
from structrag.text.extractive import keywords
from structrag.text.sentences import LANGUAGES
from structrag.text.tokens import TokenCounter

# Tokens of whole paragraphs in a section made up for a document without headings.
PSEUDO_TOKENS = 1000
# Tokens of a body that is one entry; a longer one has so many per entry.
SECTION_TOKENS = 1000
# of a block that is one paragraph; a longer one, such as talk without blank lines, is several
PARAGRAPH_TOKENS = 500
# of whole paragraphs, in a part of a section that routing without a language model scores
PART_TOKENS = 500
TITLE_WORDS = 3  # keywords in the title of such a section


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `[start, end)` of one entry of D3: a section's heading and own body, a part of
    a long one, or a run of paragraphs of a document without headings."""

    section: Section
    start: int
    end: int
    blocks: tuple[Block, ...]  # of the own body, blank ones left out
    pseudo: bool = False
    part: int = 0  # which part of its section, from 1; 0: all of it
    parts: int = 0  # how many there are


@dataclass(frozen=True, slots=True)
class ParagraphSplitter(ReadOptions):
    """One chunk for each block of a section's own body.

    That is a paragraph, list, table, code or image. `chunk.kind` is the block's kind and the
    context is the heading path, at most 64 tokens. Headings and front matter are in no chunk. An
    empty or blank document has none.

    Attributes:
        paragraph_tokens: A larger block is cut into several chunks of at most this size: between
            sentences, items, lines, rows (whose header a table repeats in `context`); 0: never.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
    """

    paragraph_tokens: int = PARAGRAPH_TOKENS

    def split(self, document: Document) -> list[Chunk]:
        """The paragraphs of a document, in reading order."""
        outline = self.outline(document)
        maker = ChunkMaker(document, self.counter, None, with_context=True)
        cutter = paragraph_cutter(self)
        chunks = []
        for section in kept_sections(outline, self.exclude_titles):
            context = maker.context(section.path, own=True)
            for block in paragraphs(outline, section, cutter, self.paragraph_tokens):
                chunk = maker.chunk(section, _piece(block), context)
                chunks.append(replace(chunk, kind=block.kind))
        return chunks


@dataclass(frozen=True, slots=True)
class PartSplitter(ReadOptions):
    """One chunk for each run of whole paragraphs of a section.

    It has up to `max_tokens`, and is what routing without a language model scores: finer than
    sections, whose length differs by orders of magnitude, and with every word of the text, which a
    summary has not. The context is the heading path. A paragraph above the limit is a part by
    itself. Headings are in no part.

    Attributes:
        max_tokens: Most tokens of a part of several paragraphs.
        paragraph_tokens: As in `ParagraphSplitter`.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
    """

    max_tokens: int = PART_TOKENS
    paragraph_tokens: int = PARAGRAPH_TOKENS

    def split(self, document: Document) -> list[Chunk]:
        """The parts of a document, in reading order."""
        outline = self.outline(document)
        maker = ChunkMaker(document, self.counter, None, with_context=True)
        cutter = paragraph_cutter(self)
        chunks = []
        for section in kept_sections(outline, self.exclude_titles):
            blocks = tuple(paragraphs(outline, section, cutter, self.paragraph_tokens))
            context = maker.context(section.path, own=True)
            for run in _runs(document.text, blocks, self.counter, self.max_tokens):
                chunks.append(
                    maker.chunk(section, Piece(run[0].start, run[-1].end), context)
                )
        return chunks


def section_spans(
    outline: Outline,
    read_options: ReadOptions,
    limit: int = SECTION_TOKENS,
    paragraph_tokens: int = PARAGRAPH_TOKENS,
) -> list[Span]:
    """The sections of a document in pre-order, without empty ones.

    A body above `limit` tokens is several spans, runs of whole paragraphs of up to that, which tile
    the section; 0: there is no limit. A document in which no heading was found gives runs of whole
    paragraphs of up to 1,000 tokens. Paragraphs are those of `ParagraphSplitter`.
    """
    text, counter, cutter = (
        outline.document.text,
        read_options.counter,
        paragraph_cutter(read_options),
    )
    flat = len(outline.sections) == 1
    spans: list[Span] = []
    for section in kept_sections(outline, read_options.exclude_titles):
        blocks = tuple(paragraphs(outline, section, cutter, paragraph_tokens))
        if flat:
            for run in _runs(text, blocks, counter, PSEUDO_TOKENS):
                spans.append(Span(section, run[0].start, run[-1].end, run, pseudo=True))
        elif blocks or (
            section.ordinal and text[section.start : section.body_end].strip()
        ):
            runs = list(_runs(text, blocks, counter, limit)) if limit else []
            if len(runs) > 1:
                spans += _parts(section, runs)
            else:
                spans.append(Span(section, section.start, section.body_end, blocks))
    return spans


def kept_sections(outline: Outline, exclude_titles: Sequence[str]) -> list[Section]:
    """All sections but those of these titles, and those below them. White space and case do not
    count."""
    excluded = excluded_sections(outline, exclude_titles)
    return [section for section in outline.sections if section.ordinal not in excluded]


def paragraph_cutter(read_options: ReadOptions) -> Cutter:
    """Return the cutter of long paragraphs. If the language has no sentence rules, those of English
    apply."""
    language = (
        read_options.language if read_options.language in LANGUAGES else "english"
    )
    return Cutter(read_options.counter, language, read_options.sentence_splitter)


def paragraphs(
    outline: Outline, section: Section, cutter: Cutter, most: int
) -> Iterator[Block]:
    """The blocks of the section's own body that are not blank. One above `most` tokens comes as
    pieces of up to that, unless `most` is 0."""
    text = outline.document.text
    for block in outline.blocks(section):
        if not text[block.start : block.end].strip():
            continue
        if not most or cutter.counter(text[block.start : block.end]) <= most:
            yield block
            continue
        for piece in cutter.cut(text, [block], most):
            yield Block(
                block.kind,
                piece.start,
                piece.end,
                header_start=piece.header[0],
                header_end=piece.header[1],
            )


def keyword_title(text: str, language: str) -> str:
    """A title for a text: its top keywords, or its first words."""
    words = keywords(text, language=language)[:TITLE_WORDS]
    return ", ".join(words) or " ".join(text.split()[:TITLE_WORDS])


def _piece(block: Block) -> Piece:
    """With the header rows to repeat, unless the block has them."""
    if block.header_start is None or block.header_end > block.start:
        return Piece(block.start, block.end)
    return Piece(block.start, block.end, (block.header_start, block.header_end))


def _parts(section: Section, runs: Sequence[tuple[Block, ...]]) -> list[Span]:
    """The parts of a section, each up to the next. The first has the heading."""
    starts = [section.start, *(run[0].start for run in runs[1:]), section.body_end]
    return [
        Span(section, starts[i], starts[i + 1], run, part=i + 1, parts=len(runs))
        for i, run in enumerate(runs)
    ]


def _runs(
    text: str, blocks: Sequence[Block], counter: TokenCounter, limit: int
) -> Iterator[tuple[Block, ...]]:
    """Group blocks into runs up to the limit. A block above it is a run by itself."""
    run: list[Block] = []
    size = 0
    for block in blocks:
        tokens = counter(text[block.start : block.end])
        if run and size + tokens > limit:
            yield tuple(run)
            run, size = [], 0
        run.append(block)
        size += tokens
    if run:
        yield tuple(run)
