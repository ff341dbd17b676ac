"""Paragraphs that D3 selects and spans it routes to (section 3), and condensing: each section as
path and summary, so that a router can read the whole outline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from structrag.chunks.divisions import excluded_sections
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.model_splitter import ReadingSplitter
from structrag.chunks.pic.summaries import ModelSummary, pack, summary_flow
from structrag.errors import check_at_least, check_choice, check_template
from structrag.model_calls.requests import Flow
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions, changed
from structrag.records import Block, Chunk, Document, Section
from structrag.text.cutting import Cutter, Piece
from structrag.text.extractive import keywords, section_frequencies, summarise
from structrag.text.heading_path import SEPARATOR
from structrag.text.sentences import LANGUAGES
from structrag.text.tokens import TokenCounter, count_tokens

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


SUMMARY_TOKENS = 60  # of a summary at most
PAPER_TOKENS = 142  # max_length of bart-large-cnn
WINDOW_TOKENS = 1000  # in one call of the summariser; bart-large-cnn reads 1,024
EXTRACT_TOKENS = 8000  # of text whose sentences are weighed against each other at once

PROMPT = """\
Summarise the following section of a document in one paragraph of at most {words} words, in its \
own language, so that a reader of the summary can tell which questions the section answers: \
name what it treats, its terms, names and results. State only what it states.

Title: {title}

Section:
{text}

Summary:"""
_WORDS = re.compile(r"(?<!\{)\{words\}(?!\})")


@dataclass(frozen=True, slots=True)
class SectionSplitter(ReadingSplitter, ReadOptions):
    """One chunk for each section, its heading and own body.

    For indexing it is condensed to path, summary and keywords: `text` is the whole section;
    `extras["summary"]` is what the router reads ("" for a heading without a body) and
    `extras["reduced"]` what stands for the text in an index. A section of more than
    `section_tokens` is several chunks, runs of whole paragraphs with a summary each and
    `extras["part"]`, [1, 3] for the first of three. A section that the language model failed on has
    its extractive summary and `extras["degraded"]`. A document without headings gives runs of whole
    paragraphs of up to 1,000 tokens, titled by their keywords, with `extras["pseudo"]`. An empty or
    blank document has no chunk. A section of more than 1,000 tokens is summarised by the model in
    parts, then those summaries are.

    Attributes:
        summaries: "auto": by the language model where there is one, else extractive. "extractive":
            never by the model.
        summary_tokens: Most tokens of a summary, by `counter`; longer ones are cut behind a
            sentence, and one longer than its section is replaced by that. None: the language
            model's summary stays as it is, and an extract has at most 142 (`paper`).
        whole_tokens: A body of at most so many tokens is used instead of a summary; 0: every
            section is summarised (preset `paper`).
        section_tokens: A body of more tokens is listed in parts of at most so many, but of one
            paragraph at least; 0: never (`paper`).
        paragraph_tokens: As in `ParagraphSplitter`; 0 in `paper`.
        keywords: At most so many beside the summary; 0: none.
        prompt: The prompt, with {title}, {text} and, if wanted, {words}, how many the summary may
            have; "{text}" for a model that only summarises, such as BART.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
    """

    summaries: str = "auto"
    summary_tokens: int | None = SUMMARY_TOKENS
    whole_tokens: int = 60
    section_tokens: int = SECTION_TOKENS
    paragraph_tokens: int = PARAGRAPH_TOKENS
    keywords: int = 12
    prompt: str = PROMPT

    def __post_init__(self) -> None:
        ReadOptions.__post_init__(self)
        check_choice("summaries", self.summaries, ("auto", "extractive"))
        check_at_least("whole_tokens", self.whole_tokens, 0)
        check_at_least("keywords", self.keywords, 0)
        check_template("prompt", self.prompt, ["text"], optional=["title", "words"])

    @classmethod
    def paper(cls, **changes: Any) -> SectionSplitter:
        """The settings of the paper. Every section is summarised, its text alone is given to the
        summariser, whose answer is left unchanged, and there are no keywords. A section above 1,000
        tokens, a case that the paper does not mention, is summarised from summaries of its parts:
        bart-large-cnn reads 1,024."""
        settings = {
            "summary_tokens": None,
            "whole_tokens": 0,
            "section_tokens": 0,
            "paragraph_tokens": 0,
            "keywords": 0,
            "prompt": "{text}",
        }
        return changed(cls, settings, changes)

    def split_flow(self, document: Document) -> Flow[list[Chunk]]:
        """The condensed sections of a document, in pre-order, as steps."""
        outline = self.outline(document)
        spans = section_spans(outline, self, self.section_tokens, self.paragraph_tokens)
        bodies = [_body(document.text, span.blocks) for span in spans]
        titles = []
        for span, body in zip(spans, bodies, strict=True):
            title = span.section.title
            titles.append(keyword_title(body, self.language) if span.pseudo else title)
        paths = []
        for span, title in zip(spans, titles, strict=True):
            path = SEPARATOR.join(span.section.path)
            paths.append(path or title or document.title)
        blocks = [span.blocks for span in spans]
        summaries = yield from self.summaries_flow(document.text, paths, blocks)
        words = self._keywords(titles, bodies)
        maker = ChunkMaker(document, self.counter, None, with_context=True)
        sections = zip(spans, titles, bodies, summaries, words, strict=True)
        return [
            _chunk(maker, number, *section) for number, section in enumerate(sections)
        ]

    def _keywords(
        self, titles: Sequence[str], bodies: Sequence[str]
    ) -> list[list[str]]:
        """The keywords of each body, best first; none for an empty one."""
        if not self.keywords:
            return [[] for _ in bodies]
        frequency = section_frequencies(bodies)
        ranked: list[list[str]] = []
        for title, body in zip(titles, bodies, strict=True):
            words = keywords(
                body,
                title,
                document_frequency=frequency,
                n_sections=len(bodies),
                language=self.language,
            )
            ranked.append(words[: self.keywords] if body else [])
        return ranked

    def summaries_flow(
        self, text: str, paths: Sequence[str], blocks: Sequence[Sequence[Block]]
    ) -> Flow[list[ModelSummary]]:
        """Summarise each run of blocks under its path; a short one is its own summary."""
        bodies = [_body(text, of_one) for of_one in blocks]
        long = [
            i
            for i, body in enumerate(bodies)
            if body and self.counter(body) > self.whole_tokens
        ]
        summaries = [ModelSummary(body) for body in bodies]
        answers: list[ModelSummary] = [ModelSummary(no_model=True)] * len(long)
        if self.summaries == "auto" and long:
            pieces = [list(self._pieces(text, blocks[i], WINDOW_TOKENS)) for i in long]
            answers = yield from summary_flow(
                [paths[i] for i in long],
                pieces,
                self._prompt,
                window=WINDOW_TOKENS,
                language=None if self.summary_tokens is None else self.language,
            )
        for i, answer in zip(long, answers, strict=True):
            summary = self._usable(answer.text, bodies[i], text, blocks[i])
            summaries[i] = ModelSummary(summary, answer.failure)
        return summaries

    def _usable(
        self, summary: str, body: str, text: str, blocks: Sequence[Block]
    ) -> str:
        """A summary of at most `summary_tokens`, else an extract of the body."""
        if summary and self.summary_tokens is None:
            return summary
        if not summary and self.counter(body) > self._most:
            summary = self._extract(text, blocks)
        # A summary longer than the body is worse than the body.
        if not summary or len(summary) > len(body):
            return self.first_sentences(body)
        if self.counter(summary) > self._most:
            return self.first_sentences(summary)
        return summary

    def _extract(self, text: str, blocks: Sequence[Block]) -> str:
        """An extractive summary; a long text in parts, then those summaries."""
        parts = pack(list(self._pieces(text, blocks, EXTRACT_TOKENS)), EXTRACT_TOKENS)
        while len(parts) > 1:
            parts = pack(
                [self._central(part) + "\n" for part in parts], EXTRACT_TOKENS, least=2
            )
        return self._central(parts[0])

    def _central(self, text: str) -> str:
        return summarise(text, max_words=self._summary_words, language=self.language)

    def _pieces(self, text: str, blocks: Sequence[Block], window: int) -> Iterator[str]:
        """The blocks' texts, those above the window cut at their sentences."""
        cutter = replace(paragraph_cutter(self), counter=count_tokens)
        for block in blocks:
            whole = text[block.start : block.end]
            if count_tokens(whole) <= window:
                yield whole
                continue
            for piece in cutter.cut(text, [block], window):
                yield text[piece.start : piece.end]

    def first_sentences(self, text: str) -> str:
        """The text's first sentences, at most `summary_tokens` together. If the first sentence is
        longer, they are its first words."""
        limit = self._most
        head = text[: limit * 40]  # characters; far more than so many tokens have
        end = 0
        cutter = paragraph_cutter(self)
        for _, stop in cutter.sentences(head, 0, len(head)):
            if self.counter(head[:stop]) > limit:
                break
            end = stop
        if end:
            return head[:end].strip()
        pieces = cutter.cut(head, [Block("paragraph", 0, len(head))], limit)
        return head[pieces[0].start : pieces[0].end].strip() if pieces else ""

    @property
    def _most(self) -> int:
        return PAPER_TOKENS if self.summary_tokens is None else self.summary_tokens

    @property
    def _summary_words(self) -> int:
        # English has about 1.3 tokens a word.
        return self._most * 10 // 13

    @property
    def _prompt(self) -> str:
        """The prompt with the number of words in its place."""
        return _WORDS.sub(str(self._summary_words), self.prompt)


@dataclass(frozen=True, slots=True)
class SummarisedParagraphs(ReadingSplitter):
    """Paragraphs with `extras["summary"]`, which HIERBASE reads first. They are condensed as
    sections are."""

    paragraphs: ParagraphSplitter
    sections: SectionSplitter

    def split_flow(self, document: Document) -> Flow[list[Chunk]]:
        """The paragraphs of a document, in reading order, as steps."""
        chunks = self.paragraphs.split(document)
        paths = [SEPARATOR.join(chunk.path) or document.title for chunk in chunks]
        blocks = [[Block("paragraph", chunk.start, chunk.end)] for chunk in chunks]
        summaries = yield from self.sections.summaries_flow(
            document.text, paths, blocks
        )
        return [
            replace(chunk, extras={**chunk.extras, **_notes(summary)})
            for chunk, summary in zip(chunks, summaries, strict=True)
        ]


def _body(text: str, blocks: Sequence[Block]) -> str:
    """The blocks without outer white space; "" for none."""
    return text[blocks[0].start : blocks[-1].end].strip() if blocks else ""


def _notes(summary: ModelSummary) -> dict[str, Any]:
    notes: dict[str, Any] = {"summary": summary.text}
    if summary.failure:
        notes |= {"degraded": True, "failure": summary.failure}
    return notes


def _chunk(
    maker: ChunkMaker,
    number: int,
    span: Span,
    title: str,
    body: str,
    summary: ModelSummary,
    words: Sequence[str],
) -> Chunk:
    path = (title,) if span.pseudo else span.section.path
    context = maker.context(path, own=bool(body))
    notes = _notes(summary)
    if body:
        notes["reduced"] = "\n".join(
            [summary.text, ", ".join(words)] if words else [summary.text]
        )
    if span.pseudo:
        notes["pseudo"] = True
    if span.parts:
        notes["part"] = [span.part, span.parts]
    chunk = maker.chunk(
        span.section, Piece(span.start, span.end), context, extras=notes
    )
    section_id = f"{chunk.section_id}.{number}" if span.pseudo else chunk.section_id
    shown = replace(chunk, path=path, section_id=section_id, kind="section")
    return replace(
        shown, extras={**shown.extras, "index_tokens": maker.counter(shown.index_text)}
    )
