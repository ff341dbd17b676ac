"""Real documents of every format, and what each step of the library owes them.

The gate in the suite draws a few hundred of each format; STRUCTRAG_REAL_DOCUMENTS=all takes all:

    STRUCTRAG_REAL_DOCUMENTS=all python -m pytest -k real_documents

Whoever wants the checks alone takes `sources`, `check_splits` and `check_searches`.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from doubles import HashEmbedder, HashTokens
from markdown_it import MarkdownIt
from pdf_making import made, wrapped, write

from structrag import (
    Chunk,
    ContentAwareSplitter,
    D3Index,
    D3Retriever,
    Document,
    EvidenceRetriever,
    FixedSplitter,
    HiQARetriever,
    HiQASplitter,
    Hit,
    IDMSEnricher,
    IDMSSplitter,
    Index,
    MultiViewRetriever,
    PICSplitter,
    parse,
    read_file,
    read_text,
)
from structrag.chunks.enriching.enricher import EnrichingSplitter
from structrag.reading.outline import Outline
from structrag.retrieval.d3.condensing import (
    ParagraphSplitter,
    PartSplitter,
    SectionSplitter,
)
from structrag.text.tokens import count_tokens

FORMATS = ("text", "markdown", "html", "rst", "pdf", "other")
EVERYTHING = os.environ.get("STRUCTRAG_REAL_DOCUMENTS") == "all"
SUFFIXES = {
    ".md": "markdown",
    ".html": "html",
    ".rst": "rst",
    ".asciidoc": "other",
    ".nxml": "other",
    ".tex": "other",
}
MOST_PRINTED = 30_000  # bytes of a text that is printed as PDF
SHORT, LONG = 6_000, 125_000  # sizes of documents that are drawn, at most

# A splitter, and whether it is given an embedder.
SPLITTERS: dict[str, tuple[Any, bool]] = {
    "content": (ContentAwareSplitter(), False),
    "content, small": (ContentAwareSplitter(max_tokens=60, min_tokens=20), False),
    "content, overlapping": (ContentAwareSplitter(max_tokens=120, overlap=40), False),
    "content, whole": (ContentAwareSplitter(max_tokens=None, context=False), False),
    "fixed": (FixedSplitter(), False),
    "fixed, by section": (
        FixedSplitter(max_tokens=100, within_sections=True, context=True),
        False,
    ),
    "hiqa": (HiQASplitter(), False),
    "hiqa, small": (
        HiQASplitter(max_tokens=60, metadata="section", table_cells=True),
        False,
    ),
    "pic, LSA": (PICSplitter(), False),
    "pic, mean": (PICSplitter(pseudo_instruction="mean", max_tokens=120), True),
    "idms, words": (IDMSSplitter(margin="words"), False),
    "idms, similarity": (IDMSSplitter(margin="similarity", merge="greedy"), True),
    "idms, enriched": (
        EnrichingSplitter(IDMSSplitter(margin="words"), IDMSEnricher()),
        False,
    ),
    "d3, sections": (SectionSplitter(), False),
    "d3, parts": (PartSplitter(), False),
    "d3, paragraphs": (ParagraphSplitter(), False),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A real document as its file or its set gives it."""

    format: str  # one of FORMATS
    id: str
    size: int  # of the file or text, in bytes or characters
    read: Callable[[], Document]
    text: Callable[[], str]  # as an application has it: the markup, not what is seen


def sources(data: Path) -> dict[str, list[Source]]:
    """All documents of the evaluation data, by format, shortest first. A Markdown file is there as
    the page that Markdown's own renderer makes of it, too, and a short one as PDF."""
    by_format: dict[str, list[Source]] = {name: [] for name in FORMATS}
    for file in sorted(data.glob("*/documents.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                source = _of_row(file.parent.name, json.loads(line))
                by_format[source.format].append(source)
    for path in sorted((data / "parsing").rglob("*")):
        if path.suffix in SUFFIXES:
            for source in _of_file(path):
                by_format[source.format].append(source)
    for group in by_format.values():
        group.sort(key=lambda source: (source.size, source.id))
    return by_format


def drawn(group: Sequence[Source], short: int, long: int = 3) -> list[Source]:
    """So many short and long documents of a format, evenly by size; with EVERYTHING all of them."""
    if EVERYTHING:
        return list(group)
    lower = [source for source in group if source.size <= SHORT]
    upper = [source for source in group if SHORT < source.size <= LONG]
    return [*_evenly(lower, short), *_evenly(upper, long)]


def _evenly(group: Sequence[Source], number: int) -> list[Source]:
    step = max(1.0, len(group) / number)
    return [group[int(i * step)] for i in range(min(number, len(group)))]


def _of_row(name: str, row: dict[str, Any]) -> Source:
    identity = f"{name}/{row['id']}"
    as_read = "text" if row["format"] == "rst" else row["format"]

    def read() -> Document:
        return read_text(row["text"], format=as_read, id=identity, title=row["title"])

    return Source(
        row["format"], identity, len(row["text"]), read, lambda: str(row["text"])
    )


def _of_file(path: Path) -> Iterator[Source]:
    size = path.stat().st_size

    def text() -> str:
        return path.read_text(encoding="utf-8")

    def page() -> str:
        return str(MarkdownIt("commonmark").enable("table").render(text()))

    def printed_text() -> Document:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{path.stem}.pdf"
            file.write_bytes(printed(read_file(path)))
            return read_file(file, id=f"{path}.pdf")

    def read_page() -> Document:
        return read_text(page(), format="html", id=f"{path}.html")

    yield Source(SUFFIXES[path.suffix], str(path), size, lambda: read_file(path), text)
    if path.suffix == ".md":
        yield Source("html", f"{path}.html", size, read_page, page)
        if size <= MOST_PRINTED:
            yield Source(
                "pdf", f"{path}.pdf", size, printed_text, lambda: printed_text().text
            )


def printed(document: Document) -> bytes:
    """A document as PDF: headings larger and bold, lines as they are."""
    outline = parse(document)

    def rows() -> Iterator[tuple[str, int, str]]:
        for section in outline.sections:
            if section.title:
                yield "Helvetica-Bold", 14, section.title
            for line in document.text[
                section.body_start : section.body_end
            ].splitlines():
                yield "Helvetica", 10, line

    def draw(canvas: Any) -> None:
        y = 790.0
        for font, size, line in rows():
            for part in wrapped(line, size, 470, font) or [""]:
                if y < 60:
                    canvas.showPage()
                    y = 790.0
                y = write(canvas, [part], 60, y, size, font)

    return made(draw)


# -- what is checked


def check_outline(outline: Outline) -> None:
    """Sections are nested in reading order, and blocks tile each own body."""
    sections = outline.sections
    assert (sections[0].start, sections[0].end) == (0, len(outline.document.text))
    for section in sections:
        assert section.start <= section.body_start <= section.body_end <= section.end
        if section.parent is not None:
            parent = sections[section.parent]
            assert parent.body_end <= section.start and section.end <= parent.end
            assert section.path == (*parent.path, section.title)
        bounds = [(block.start, block.end) for block in outline.blocks(section)]
        if section.body_start < section.body_end:
            assert (
                bounds[0][0] == section.body_start and bounds[-1][1] == section.body_end
            )
        assert all(before[1] == block[0] for before, block in pairwise(bounds))


def splitters_for(number: int) -> list[str]:
    """The default splitter and three others, in turn; with EVERYTHING all of them."""
    default, *others = SPLITTERS
    if EVERYTHING:
        return [default, *others]
    return [default, *(others[(number + 5 * i) % len(others)] for i in range(3))]


def check_splits(
    document: Document, names: Sequence[str], embedder: HashEmbedder
) -> int:
    """The chunks of these splitters are what they promise; how many there are."""
    outline = parse(document)
    check_outline(outline)
    count = 0
    for name in names:
        splitter, embeds = SPLITTERS[name]
        chunks = (
            splitter.split(document, embedder=embedder)
            if embeds
            else splitter.split(document)
        )
        check_slices(document, chunks)
        if name == "content, overlapping":
            assert all(
                b.start <= a.end and a.start < b.start for a, b in pairwise(chunks)
            ), name
        elif name.startswith("d3"):
            check_covering(outline, chunks)
        else:
            tiled = "".join(chunk.text for chunk in chunks)
            assert tiled == (document.text if document.text.strip() else ""), name
        check_limit(splitter, chunks)
        count += len(chunks)
    return count


def check_slices(document: Document, chunks: Sequence[Chunk]) -> None:
    """Chunks in order, each a different slice of the document that is not blank."""
    text = document.text
    for chunk in chunks:
        assert (chunk.doc_id, chunk.text) == (
            document.id,
            text[chunk.start : chunk.end],
        )
        assert chunk.text.strip()
        assert chunk.start <= chunk.body_start <= chunk.end
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(starts)


def check_covering(outline: Outline, chunks: Sequence[Chunk]) -> None:
    """Chunks do not overlap, and between them are only headings, front matter and white space."""
    text = outline.document.text
    assert all(chunk.end <= following.start for chunk, following in pairwise(chunks))
    covered = bytearray(len(text))
    spans = [(section.start, section.body_start) for section in outline.sections]
    for start, end in [*spans, *((chunk.start, chunk.end) for chunk in chunks)]:
        covered[start:end] = b"\1" * (end - start)
    left = "".join(
        letter for letter, covers in zip(text, covered, strict=True) if not covers
    )
    assert not left.strip(), left[:100]


def check_limit(splitter: Any, chunks: Sequence[Chunk]) -> None:
    """Index texts keep the splitter's hard limit, but for single characters."""
    if isinstance(splitter, PartSplitter | EnrichingSplitter):
        return  # one paragraph alone may be longer; enrichment adds a share
    limit = getattr(splitter, "max_tokens", None)
    for chunk in chunks:
        if limit is not None and count_tokens(chunk.index_text) > limit:
            assert "oversize" in chunk.extras and len(chunk.text.strip()) == 1, chunk.id


Facts = list[Any]  # of hits, to be compared


def check_searches(
    documents: Sequence[Document],
    queries: Sequence[str],
    names: Sequence[str],
    folder: Path,
) -> int:
    """Every retriever's hits are slices, and an index that was saved gives the same ones. Returns
    how many hits were looked at. `folder` is written to."""
    texts = {document.id: document.text for document in documents}
    count = 0
    for name in names:
        index, load, retrievers = INDEXES[name]()
        index.add(documents)
        assert index.document_ids == list(texts), name
        answers = _answers(retrievers(index), queries)
        for doc_id, start, end, text, score in chain.from_iterable(answers):
            assert text == texts[doc_id][start:end] and isfinite(score), name
            count += 1
        index.save(folder / name)
        opened = load(folder / name)
        _check_alike(_answers(retrievers(opened), queries), answers, name)
        deleted = documents[0].id
        assert opened.delete(deleted)
        rest = chain.from_iterable(_answers(retrievers(opened), queries))
        assert all(doc_id != deleted for doc_id, *_ in rest), name
    return count


def _check_alike(answers: list[Facts], expected: list[Facts], name: str) -> None:
    """The same passages in the same order; scores may differ by what float32 rounds."""
    for some, others in zip(answers, expected, strict=True):
        for (*place, score), (*other_place, other) in zip(some, others, strict=True):
            assert place == other_place and abs(score - other) < 1e-6, name


def _lsa() -> Any:
    return (
        Index(),
        Index.load,
        lambda index: [MultiViewRetriever(index), HiQARetriever(index)],
    )


def _paper() -> Any:
    models = {"embedder": HashEmbedder()}
    index = Index(preset="paper", **models)
    return (
        index,
        partial(Index.load, **models),
        lambda x: [MultiViewRetriever(x, preset="paper")],
    )


def _split_by(splitter: Any) -> Any:
    models = {"embedder": HashEmbedder(), "splitter": splitter}
    index = Index(views=["raw"], dtype="float16", **models)
    retrievers = [MultiViewRetriever, HiQARetriever]
    return (
        index,
        partial(Index.load, **models),
        lambda x: [make(x) for make in retrievers],
    )


def _d3(embedder: HashEmbedder | None = None) -> Any:
    def retrievers(index: D3Index) -> list[D3Retriever]:
        lexical = D3Retriever(index, strategy="lexical")
        return [D3Retriever(index), lexical]

    return (
        D3Index(embedder=embedder),
        partial(D3Index.load, embedder=embedder),
        retrievers,
    )


def _evidence(encoder: HashTokens | None = None) -> Any:
    load = partial(EvidenceRetriever.load, embedding=encoder)
    return EvidenceRetriever(encoder), load, lambda retriever: [retriever]


# Name -> makes an empty index, how it is loaded, and the retrievers over it.
INDEXES: dict[str, Callable[[], Any]] = {
    "LSA": _lsa,
    "paper": _paper,
    "HiQA": partial(_split_by, HiQASplitter()),
    "PIC": partial(_split_by, PICSplitter()),
    "IDMS": partial(_split_by, IDMSSplitter(margin="words")),
    "fixed": partial(_split_by, FixedSplitter()),
    "D3": _d3,
    "D3, embedder": lambda: _d3(HashEmbedder()),
    "evidence": _evidence,
    "evidence, tokens": lambda: _evidence(HashTokens()),
}


def _answers(retrievers: Sequence[Any], queries: Sequence[str]) -> list[Facts]:
    return [
        _facts(retriever.search(query)) for retriever in retrievers for query in queries
    ]


def _facts(hits: Sequence[Hit]) -> Facts:
    return [(*hit.chunk.span, hit.chunk.text, hit.score) for hit in hits]


def queries_of(documents: Sequence[Document], number: int) -> list[str]:
    """Titles and words from the middle of so many documents, and queries that say nothing."""
    step = max(1, len(documents) // number)
    queries = ["", "?"]
    for document in islice(documents, 0, None, step):
        words = document.text[len(document.text) // 2 :][:200].split()
        queries += [document.title, " ".join(words[1:9])]
    return queries
