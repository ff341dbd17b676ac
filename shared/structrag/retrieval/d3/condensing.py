"""Condensing (D3, section 3, first step): each section as its path and a summary, so that a router
can read the whole outline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from structrag.asking.prompts import check_template
from structrag.asking.requests import Steps
from structrag.chunks.asking_splitter import ReadingSplitter
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.pic.summaries import Summary, pack, summary_steps
from structrag.errors import check_at_least, check_choice
from structrag.reading.settings import Reading
from structrag.records import Block, Chunk, Document
from structrag.retrieval.d3.paragraphs import (
    PARAGRAPH_TOKENS,
    SECTION_TOKENS,
    Span,
    keyword_title,
    paragraph_cutter,
    section_spans,
)
from structrag.text.cutting import Piece
from structrag.text.extractive import keywords, section_frequencies, summarise
from structrag.text.tokens import count_tokens

SUMMARY_TOKENS = 60  # of a summary at most
PAPER_TOKENS = 142  # max_length of bart-large-cnn
EXTRACT_TOKENS = 8000  # of text whose sentences are weighed against each other at once

PROMPT = """\
Summarise the following section of a document in one paragraph of at most {words} words, in its own language, so that a reader of the \
summary can tell which questions the section answers: name what it treats, its terms, names and results. State only what it states.

Title: {title}

Section:
{text}

Summary:"""
_WORDS = re.compile(r"(?<!\{)\{words\}(?!\})")


@dataclass(frozen=True, slots=True)
class SectionSplitter(ReadingSplitter, Reading):
    """One chunk for each section: heading and own body, condensed for indexing to path, summary and
    keywords.

    `text` is the whole section; `extras["summary"]` is what the router reads ("" for a heading
    without a body) and `extras["reduced"]` what stands for the text in an index. A section of more
    than `section_tokens` is several chunks, runs of whole paragraphs with a summary each and
    `extras["part"]`, [1, 3] for the first of three. A section that the language model failed on has
    its extractive summary and `extras["degraded"]`. A document without headings gives runs of whole
    paragraphs of up to 1,000 tokens, titled by their keywords, with `extras["pseudo"]`. An empty or
    blank document has no chunk.

    Attributes:
        summaries: "auto": by the language model where there is one, else extractive. "extractive":
            never by the model.
        summary_tokens: Most tokens of a summary, by `counter`; longer ones are cut behind a
            sentence.
        whole_tokens: A body of at most so many tokens stands for itself; 0: every section is
            summarised (preset `paper`).
        section_tokens: A body of more tokens is listed in parts of at most so many, but of one
            paragraph at least; 0: never (`paper`).
        paragraph_tokens: As in `ParagraphSplitter`; 0 in `paper`.
        window_tokens: What the summariser reads at once. A longer section is summarised in parts,
            then those summaries are.
        keywords: At most so many beside the summary; 0: none.
        prompt: What the model is asked, with {title}, {text} and, if wanted, {words}, how many the
            summary may have; "{text}" for a model that only summarises, such as BART.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `Reading`.
    """

    summaries: str = "auto"
    summary_tokens: int = SUMMARY_TOKENS
    whole_tokens: int = 60
    section_tokens: int = SECTION_TOKENS
    paragraph_tokens: int = PARAGRAPH_TOKENS
    window_tokens: int = 1000
    keywords: int = 12
    prompt: str = PROMPT

    def __post_init__(self) -> None:
        Reading.__post_init__(self)
        check_choice("summaries", self.summaries, ("auto", "extractive"))
        check_at_least("summary_tokens", self.summary_tokens, 8)
        check_at_least("whole_tokens", self.whole_tokens, 0)
        check_at_least("section_tokens", self.section_tokens, 0)
        check_at_least("paragraph_tokens", self.paragraph_tokens, 0)
        check_at_least("window_tokens", self.window_tokens, 16)
        check_at_least("keywords", self.keywords, 0)
        check_template("prompt", self.prompt, ["text"], optional=["title", "words"])

    @classmethod
    def paper(cls, **changes: Any) -> SectionSplitter:
        """The settings of the paper: every section is summarised as a whole, its text alone is
        given to the summariser, no keywords."""
        same = {
            "summary_tokens": PAPER_TOKENS,
            "whole_tokens": 0,
            "section_tokens": 0,
            "paragraph_tokens": 0,
            "keywords": 0,
            "prompt": "{text}",
        }
        return cls(**{**same, **changes})

    def split_steps(self, document: Document) -> Steps[list[Chunk]]:
        """The condensed sections of a document, in pre-order, as steps."""
        outline = self.outline(document)
        spans = section_spans(outline, self, self.section_tokens, self.paragraph_tokens)
        bodies = [_body(document.text, span) for span in spans]
        titles = [
            keyword_title(body, self.language) if span.pseudo else span.section.title
            for span, body in zip(spans, bodies, strict=True)
        ]
        made = yield from self._summaries(document, spans, titles, bodies)
        frequency = section_frequencies(bodies) if self.keywords else {}
        maker = ChunkMaker(document, self.counter, None, with_context=True)
        chunks = []
        for number, (span, title, body, summary) in enumerate(
            zip(spans, titles, bodies, made, strict=True)
        ):
            words = []
            if self.keywords and body:
                words = keywords(
                    body,
                    title,
                    document_frequency=frequency,
                    n_sections=len(bodies),
                    language=self.language,
                )[: self.keywords]
            chunks.append(_chunk(maker, span, number, title, body, summary, words))
        return chunks

    def _summaries(
        self,
        document: Document,
        spans: Sequence[Span],
        titles: Sequence[str],
        bodies: Sequence[str],
    ) -> Steps[list[Summary]]:
        """A summary for each body; those of short ones are the bodies themselves."""
        long = [
            i for i, body in enumerate(bodies) if body and self.counter(body) > self.whole_tokens
        ]
        done = [Summary(body) for body in bodies]
        asked: list[Summary] = [Summary(no_model=True)] * len(long)
        if self.summaries == "auto" and long:
            texts = [
                list(self._pieces(document.text, spans[i].blocks, self.window_tokens)) for i in long
            ]
            paths = [" > ".join(spans[i].section.path) or titles[i] or document.title for i in long]
            asked = yield from summary_steps(
                paths, texts, self._prompt, window=self.window_tokens, language=self.language
            )
        for i, summary in zip(long, asked, strict=True):
            text = summary.text
            if not text and self.counter(bodies[i]) > self.summary_tokens:
                text = self._extract(document.text, spans[i].blocks)
            if not text or len(text) > len(bodies[i]) or self.counter(text) > self.summary_tokens:
                text = self.first_sentences(text if 0 < len(text) <= len(bodies[i]) else bodies[i])
            done[i] = Summary(text, summary.failure)
        return done

    def _extract(self, text: str, blocks: Sequence[Block]) -> str:
        """An extractive summary; a long text in parts, then those summaries."""
        parts = pack(list(self._pieces(text, blocks, EXTRACT_TOKENS)), EXTRACT_TOKENS)
        while len(parts) > 1:
            parts = pack([self._central(part) + "\n" for part in parts], EXTRACT_TOKENS, least=2)
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
            else:
                yield from (
                    text[piece.start : piece.end] for piece in cutter.cut(text, [block], window)
                )

    def first_sentences(self, text: str) -> str:
        """The text's first sentences of together at most `summary_tokens`; of a longer first
        sentence the first words."""
        limit = self.summary_tokens
        head = text[: limit * 40]
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
    def _summary_words(self) -> int:
        return self.summary_tokens * 10 // 13  # `count_tokens` estimates 1.3 tokens a word

    @property
    def _prompt(self) -> str:
        """The prompt with the number of words in its place."""
        return _WORDS.sub(str(self._summary_words), self.prompt)


def _body(text: str, span: Span) -> str:
    """The own body without the heading and outer white space; "" for a heading alone."""
    return text[span.blocks[0].start : span.blocks[-1].end].strip() if span.blocks else ""


def _chunk(
    maker: ChunkMaker,
    span: Span,
    number: int,
    title: str,
    body: str,
    summary: Summary,
    words: Sequence[str],
) -> Chunk:
    path = (title,) if span.pseudo else span.section.path
    context = maker.context(path, own=bool(body))
    notes: dict[str, Any] = {"summary": summary.text}
    if body:
        notes["reduced"] = "\n".join([summary.text, ", ".join(words)] if words else [summary.text])
    if summary.failure:
        notes |= {"degraded": True, "failure": summary.failure}
    if span.pseudo:
        notes["pseudo"] = True
    if span.parts:
        notes["part"] = [span.part, span.parts]
    chunk = maker.chunk(span.section, Piece(span.start, span.end), context, extras=notes)
    section_id = f"{chunk.section_id}.{number}" if span.pseudo else chunk.section_id
    shown = replace(chunk, path=path, section_id=section_id, kind="section")
    return replace(shown, extras={**shown.extras, "index_tokens": maker.counter(shown.index_text)})
