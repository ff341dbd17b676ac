"""Splitters compared on the same documents: chunks, costs, and a self-test.

The self-test is a retrieval test without labels. Its questions are made from the documents, of two
kinds. Of a heading the text below it is the gold. Of a sentence that points to a section that
section is the gold. The words of the question are kept out of the index: no heading line, heading
path or table of contents is indexed, nor a sentence that is asked.

It tells whether a method's chunks can be found by what their text says, on these documents, and
how much of a section then fits into a token budget. But headings are not what users ask. The gold
begins and ends where sections do, so methods that cut at section borders are favoured: none of
their budget goes to a neighbour. What heading paths and added index text bring is not measured,
since they are kept out. For a decision take questions of your users
(`structrag.evaluation.labelled`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import regex

from structrag.chunks.model_splitter import runner_for
from structrag.errors import check_at_least
from structrag.evaluation.aggregate import MeanEstimate, estimates
from structrag.evaluation.measure import (
    Span,
    SpanMeasure,
    chunking_error,
    heading_spans,
    merge,
    span_recall,
    spans_of,
)
from structrag.evaluation.references import (
    DEFINITION,
    NUMBERED,
    PROSE,
    Reference,
    block_sentences,
    references,
)
from structrag.evaluation.searched import (
    Chunks,
    PassageRanking,
    Passages,
    RankedSpans,
    check_documents,
    model_calls,
    search_all,
    search_passages,
    split_counted,
    withheld_documents,
)
from structrag.model_calls.requests import Progress
from structrag.model_calls.settings import counted
from structrag.models.embedders import as_embedder
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Block, Chunk, Document, Section
from structrag.text.tokens import count_tokens

UNITS = ("sentence", "table", "code")


@dataclass(frozen=True, slots=True)
class MethodReport:
    """One method's chunks of all documents and what they cost.

    Example:
        >>> MethodReport("mc", 1, (9, 9, 9, 9), {"table": 0}, 0.01, 0, 1, 0).cut["table"]
        0
    """

    name: str
    chunks: int
    # Estimated tokens of a chunk's text: least, median, 95th percentile, most.
    tokens: tuple[int, int, int, int]
    # "sentence", "table" and "code" -> how many lie in no single chunk as a whole.
    cut: Mapping[str, int]
    seconds: float  # to split, with what it takes to find the sections
    embedded_to_split: int  # texts that were embedded to find where to cut
    embedded_to_index: int  # texts to embed to index the chunks once
    model_calls: int  # of a language model, if one were given


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """The recall of the self-test, by method.

    `structrag.evaluation.comparing` says what this tells.

    Example:
        >>> SelfTestReport(1000, 12, {}, {}, {}).budget
        1000
    """

    budget: int  # tokens
    headings: int  # in the documents
    left_out: Mapping[str, int]  # why a heading was not asked -> how many
    # Method -> kind of question ("heading", "reference") -> mean recall, in [0, 1].
    recall: Mapping[str, Mapping[str, MeanEstimate]]
    # The same, as the difference to the first method.
    difference: Mapping[str, Mapping[str, MeanEstimate]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`.

    Example:
        >>> from structrag.chunks.content_aware import ContentAwareSplitter
        >>> document = Document("# Nova\\n\\nA phone.\\n", id="nova.md", format="markdown")
        >>> compare([document], {"mc": ContentAwareSplitter()}).methods[0].chunks
        1
    """

    documents: int
    characters: int
    # "sentence", "table" and "code" -> how many the documents have.
    units: Mapping[str, int]
    embedder: str
    methods: tuple[MethodReport, ...]
    selftest: SelfTestReport | None
    no_selftest: str  # why there is none; "" where there is one


def compare(
    documents: Sequence[Document],
    splitters: Mapping[str, Any],
    *,
    embedder: Any = None,
    budget: int = 1000,
    progress: Progress | None = None,
) -> Comparison:
    """Split documents by several splitters and measure each.

    All are measured on the same units and the same questions.

    Args:
        documents: At least one that holds text, each with its own id.
        splitters: Name -> splitter, anything with `split(document)`, or `Passages()`, which makes
            no chunks and is only in the self-test. Differences are to the first.
        embedder: What `as_embedder` takes, for splitters that embed and for the self-test. None:
            LSA.
        budget: Tokens that the self-test hands over for a question.
        progress: Called as (what, done, total).

    Raises:
        InvalidParameter: there is no text or no splitter, two documents have the same id, or
            `budget` is below 20.
    """
    check_at_least("budget", budget, 20)
    documents = list(documents)
    check_documents(documents, splitters)
    model = None if embedder is None else as_embedder(embedder)
    units = _units([parse(document) for document in documents])
    texts = {document.id: document.text for document in documents}
    reports: list[MethodReport] = []
    chunks: dict[str, Chunks | Passages] = {}
    for name, splitter in splitters.items():
        if isinstance(splitter, Passages):
            chunks[name] = splitter
            continue
        report, chunks[name] = _measured(
            name, splitter, documents, units, texts, model, progress
        )
        reports.append(report)
    test = make_selftest(documents, budget=budget)
    return Comparison(
        documents=len(documents),
        characters=sum(map(len, texts.values())),
        units={kind: len(spans) for kind, spans in units.items()},
        embedder=as_embedder(model).name,
        methods=tuple(reports),
        selftest=_tested(test, documents, chunks, model, progress)
        if test.questions
        else None,
        no_selftest="" if test.questions else _why_none(test),
    )


def _measured(
    name: str,
    splitter: Any,
    documents: Sequence[Document],
    units: Mapping[str, Sequence[Span]],
    texts: Mapping[str, str],
    embedder: Any,
    progress: Progress | None,
) -> tuple[MethodReport, Chunks]:
    """The chunks of one splitter, and what they are like."""
    runner = runner_for(embedder, progress=progress)
    chunks: dict[str, Sequence[Chunk]] = {}
    embedded = 0
    seconds = 0.0
    for document in counted(progress, name, documents):
        # Every method pays for reading the document's structure.
        unparsed = copy(document)
        began = perf_counter()
        chunks[document.id], n_embedded = split_counted(splitter, unparsed, runner)
        seconds += perf_counter() - began
        embedded += n_embedded
    all_chunks = list(chain.from_iterable(chunks.values()))
    sizes = [chunk.n_tokens for chunk in all_chunks]
    middle, high = np.quantile(sizes, [0.5, 0.95]).tolist()
    cut = {}
    for kind, spans in units.items():
        share = chunking_error(spans, spans_of(all_chunks), texts) or 0.0
        cut[kind] = round(share * len(spans))
    report = MethodReport(
        name=name,
        chunks=len(all_chunks),
        tokens=(min(sizes), round(middle), round(high), max(sizes)),
        cut=cut,
        seconds=seconds,
        embedded_to_split=embedded,
        embedded_to_index=len(all_chunks),
        model_calls=sum(model_calls(splitter, document) for document in documents),
    )
    return report, chunks


def _units(outlines: Sequence[Outline]) -> dict[str, list[Span]]:
    """Return the spans that should stay whole: sentences of prose, tables, blocks of code."""
    units: dict[str, list[Span]] = {kind: [] for kind in UNITS}
    for outline in outlines:
        for section in outline.sections:
            for block in outline.blocks(section):
                if block.kind in ("table", "code"):
                    units[block.kind].append(
                        (outline.document.id, block.text_start, block.end)
                    )
                elif block.kind in PROSE:
                    units["sentence"] += _sentences(outline.document, block)
    return units


def _sentences(document: Document, block: Block) -> list[Span]:
    spans = []
    for start, end in block_sentences(document.text, block):
        if document.text[start:end].strip():
            spans.append((document.id, start, end))
    return spans


def _tested(
    test: SelfTest,
    documents: Sequence[Document],
    chunks: Mapping[str, Chunks | Passages],
    embedder: Any,
    progress: Progress | None,
) -> SelfTestReport:
    """The self-test of every method's chunks."""
    base: dict[str, list[float]] = {}  # the first method's scores
    recall: dict[str, dict[str, MeanEstimate]] = {}
    difference: dict[str, dict[str, MeanEstimate]] = {}
    for name, of_method in chunks.items():
        scores = selftest_scores(
            test, documents, of_method, embedder=embedder, progress=progress
        )
        base = base or scores
        recall[name], difference[name] = estimates(scores, base)
    return SelfTestReport(test.budget, test.headings, test.left_out, recall, difference)


def _why_none(test: SelfTest) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in test.left_out.items())
    shown = f" ({reasons})" if reasons else ""
    return (
        f"No self-test: it needs at least {FEWEST} usable headings, or as many references to "
        f"sections. These documents have {test.headings} headings{shown}."
    )


FEWEST = 10  # questions of a kind; with fewer there is no test
MOST = 200  # questions of a kind
SMALLEST = 20  # tokens of a section's own text that is asked for
_WORD = regex.compile(
    r"\p{L}{3}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}"
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question made from a document.

    Example:
        >>> MadeQuestion("Battery", "heading", ("nova.md", 12, 90)).kind
        'heading'
    """

    question: str
    kind: str  # "heading" or "reference"
    gold: Span  # a section's own text, without its heading and the sections below


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The questions, and what is not indexed while they are asked.

    Example:
        >>> document = Document("# Nova\\n\\nA phone.\\n", format="markdown")
        >>> make_selftest([document]).left_out
        {'above less than 20 tokens of text': 1}
    """

    # Headings, then references, each in reading order.
    questions: tuple[MadeQuestion, ...]
    withheld: Mapping[str, list[tuple[int, int]]]  # document id -> ranges of characters
    texts: Mapping[str, str]  # document id -> text
    headings: int  # in all documents
    left_out: Mapping[str, int]  # why a heading is not asked -> how many
    budget: int


def make_selftest(
    documents: Sequence[Document], *, budget: int = 1000, most: int = MOST
) -> SelfTest:
    """Make the questions of documents.

    A kind of which there are fewer than 10 is left out, so there may be none.

    A heading is asked when no other heading has the same words, it has a word of three letters, and
    the text below it, up to the next heading, counts 20 to `budget` tokens. A section is asked for
    by the first reference to it only. If there are more than `most` questions of a kind, `most` are
    drawn, the same each time.
    """
    outlines = [parse(document) for document in documents]
    texts = {document.id: document.text for document in documents}
    asked, left_out = _headings(outlines, texts, budget)
    headings = _drawn(asked, most)
    left_out["not drawn"] = len(asked) - len(headings)
    pointing: dict[str, Reference] = {}
    for reference in references(outlines):
        if not _unfit(reference.target, texts, budget):
            pointing.setdefault(reference.target.id, reference)
    drawn = _drawn(list(pointing.values()), most)
    if len(headings) < FEWEST:
        headings, left_out["too few to ask"] = [], len(headings)
    if len(drawn) < FEWEST:
        drawn = []
    questions = list(headings)
    sentences: list[Span] = []
    for reference in drawn:
        questions.append(
            MadeQuestion(reference.words, "reference", _body(reference.target))
        )
        sentences.append((reference.doc_id, reference.start, reference.end))
    return SelfTest(
        questions=tuple(questions),
        withheld=withheld_spans(outlines, sentences),
        texts=texts,
        headings=sum(len(outline.sections) - 1 for outline in outlines),
        left_out={reason: count for reason, count in left_out.items() if count},
        budget=budget,
    )


def selftest_scores(
    test: SelfTest,
    documents: Sequence[Document],
    chunks: Chunks | Passages,
    *,
    embedder: Any = None,
    progress: Progress | None = None,
) -> dict[str, list[float]]:
    """Kind of question -> the recall of its questions, in [0, 1].

    Recall is the share of the section asked for, white space aside, that `test.budget` tokens of
    the best chunks hold. All documents are searched by vectors (`embedder`; None: LSA) and BM25
    over what is left of the chunks' texts; with `Passages` by `EvidenceRetriever` over what is left
    of the documents.
    """
    asked = [question.question for question in test.questions]
    rankings: list[RankedSpans] | list[PassageRanking]
    if isinstance(chunks, Passages):
        left = withheld_documents(documents, test.withheld)
        rankings = search_passages(
            chunks.retriever(left, embedder, progress),
            asked,
            budgets=[test.budget],
            progress=progress,
        )
    else:
        rankings = search_all(
            documents,
            {name: withheld_chunks(chunks[name], test.withheld) for name in chunks},
            asked,
            budget=test.budget,
            embedder=embedder,
            progress=progress,
        )
    measure = SpanMeasure(test.texts)
    scores: dict[str, list[float]] = {}
    found = [ranking.within(test.budget, measure) for ranking in rankings]
    for question, spans in zip(test.questions, found, strict=True):
        recall = span_recall([question.gold], spans, measure)
        scores.setdefault(question.kind, []).append(recall or 0.0)
    return scores


def _headings(
    outlines: Sequence[Outline], texts: Mapping[str, str], budget: int
) -> tuple[list[MadeQuestion], Counter[str]]:
    """The headings that can be asked, and reason -> number of others."""
    sections = list(chain.from_iterable(outline.sections[1:] for outline in outlines))
    times = Counter(title_key(section.title) for section in sections)
    asked = []
    left_out: Counter[str] = Counter()
    for section in sections:
        key = title_key(section.title)
        if not _WORD.search(key):
            reason = "without a word of three letters"
        elif times[key] > 1:
            reason = "with words that another heading has"
        else:
            reason = _unfit(section, texts, budget)
        if reason:
            left_out[reason] += 1
        else:
            asked.append(
                MadeQuestion(_question(section.title), "heading", _body(section))
            )
    return asked, left_out


def _unfit(section: Section, texts: Mapping[str, str], budget: int) -> str:
    """Why a section's own text cannot be asked for, or ""."""
    tokens = count_tokens(texts[section.doc_id][section.body_start : section.body_end])
    if tokens < SMALLEST:
        return f"above less than {SMALLEST} tokens of text"
    return f"above more than {budget} tokens of text" if tokens > budget else ""


def _question(title: str) -> str:
    match = NUMBERED.match(title)
    return (title[match.end() :] if match else "") or title


def _body(section: Section) -> Span:
    return section.doc_id, section.body_start, section.body_end


def _drawn(items: list[T], most: int) -> list[T]:
    """`most` of the items, drawn with a fixed seed, in their order."""
    if len(items) <= most:
        return items
    return [items[i] for i in sorted(Random(0).sample(range(len(items)), most))]


# -- withheld from the index: headings wherever they are, and the sentences that are asked


_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LINE = re.compile(r"[^\n]+")
_ADDRESS = re.compile(r"\]\([^()\s]*\)")
_MARKER = re.compile(r"\s*(?:[-*+•>|]\s+|\d+[.)]\s+)*")
# The page number of a line in a table of contents, read backwards.
_PAGE = re.compile(r"[\s|]*\d*[\s.·…|]*")
_LONGEST = 200  # characters of a line that may repeat a heading


def title_key(title: str) -> str:
    """The words of a title without its number, casefolded.

    Example:
        >>> title_key("3.2 Drop scopes") == title_key("Drop Scopes")
        True
    """
    match = NUMBERED.match(title)
    if match:
        title = title[match.end() :] or title  # a number alone is the title
    return " ".join(_WORDS.findall(title.casefold()))


def withheld_spans(
    outlines: Sequence[Outline], sentences: Iterable[Span]
) -> dict[str, list[tuple[int, int]]]:
    """Return, by document, the ranges of characters that are not indexed.

    They are sorted, and none overlap. They are front matter, heading lines, lines with nothing but
    the words of a heading of any of the documents (tables of contents), definitions of Markdown
    links, and `sentences`.
    """
    keys: set[str] = set()
    for outline in outlines:
        keys.update(title_key(section.title) for section in outline.sections[1:])
    keys.discard("")
    spans = list(sentences)
    for outline in outlines:
        document = outline.document
        spans.append((document.id, 0, outline.sections[0].body_start))
        spans += heading_spans(outline)
        spans += [
            (document.id, start, end) for start, end in _repeated(document.text, keys)
        ]
        if document.format == "markdown":
            spans += [
                (document.id, *match.span())
                for match in DEFINITION.finditer(document.text)
            ]
    return merge(spans)


def withheld_chunks(
    chunks: Iterable[Chunk], withheld: Mapping[str, Sequence[tuple[int, int]]]
) -> list[Chunk]:
    """The chunks, indexed by what is left of their own text. They have no heading path, and nothing
    that a splitter adds to the index. A chunk of which nothing is left is not among them."""
    left = []
    for chunk in chunks:
        body = _without(chunk, withheld.get(chunk.doc_id, ()))
        if body.strip():
            left.append(
                replace(chunk, context="", extras={**chunk.extras, "reduced": body})
            )
    return left


def _repeated(text: str, keys: Collection[str]) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text):
        if line.end() - line.start() <= _LONGEST:
            words = _without_marker(_ADDRESS.sub("]", line.group()))
            if title_key(words) in keys or title_key(_without_page(words)) in keys:
                yield line.span()


def _without_marker(line: str) -> str:
    match = _MARKER.match(line)
    return line[match.end() :] if match else line


def _without_page(line: str) -> str:
    match = _PAGE.match(line[::-1])
    return line[: len(line) - match.end()] if match else line


def _without(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> str:
    """Return the chunk's text without the spans."""
    parts = []
    place = chunk.start
    for start, end in spans[
        bisect_right(spans, chunk.start, key=lambda span: span[1]) :
    ]:
        if start >= chunk.end:
            break
        parts.append(chunk.text[place - chunk.start : max(start, place) - chunk.start])
        place = max(place, end)
    parts.append(chunk.text[place - chunk.start :])
    return "\n".join(part for part in parts if part.strip())
