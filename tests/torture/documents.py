"""Mutated documents through every splitter and both adapters: nothing is lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import StructragError
from structrag.reading.files import read_file, read_text
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from torture.mutations import mutated, mutated_bytes, pdf_seeds, seeds
from torture.promise import Promise, random_of

KINDS = ("markdown", "html", "text", "pdf")
# A PDF takes ten times as long, most of it in a library of others.
WEIGHTS = (8, 6, 6, 1)
SIZES = (1, 2, 5, 12, 40, 100, 300)  # limits: those around a word find most
# About as many chunks as a document is cut into; more find no more, and take long.
PIECES = 60
AGAIN = 0.3  # share of documents that are split twice
LONGEST_CHARACTER = 4_100  # code points that one letter with its marks may have
SUFFIXES = {"markdown": ".md", "html": ".html", "text": ".txt", "pdf": ".pdf"}


def characters(text: str) -> int:
    """The number of characters: a counter that no estimate hides behind."""
    return len(text)


# -- documents


def document_of(rng: Random, *, with_data: bool) -> Callable[[], Document]:
    """Reads one mutated document, anew at each call."""
    kind = rng.choices(KINDS, WEIGHTS)[0]
    if kind == "pdf":
        data = mutated_bytes(rng, rng.choice(pdf_seeds()), rng.choice(pdf_seeds()))
        return partial(_read_bytes, data, ".pdf")
    text, other = (rng.choice(seeds(kind, with_data=with_data)) for _ in range(2))
    if rng.random() < 0.3:
        data, others = (t.encode("utf-8", "surrogatepass") for t in (text, other))
        if rng.random() < 0.1:
            data = text.encode("utf-16", "surrogatepass")
        suffix = rng.choice((SUFFIXES[kind], ".unknown"))
        return partial(_read_bytes, mutated_bytes(rng, data, others), suffix)
    text = mutated(rng, text, other)
    format = rng.choice((kind, kind, "auto", rng.choice(KINDS[:3])))
    return partial(
        read_text, text, format=format, id="d", title=rng.choice(("", "", text[:300]))
    )


def _read_bytes(data: bytes, suffix: str) -> Document:
    descriptor, name = tempfile.mkstemp(suffix=suffix, dir=_folder())
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        return read_file(name, id="d", meta={"source": f"d{suffix}"})
    finally:
        os.unlink(name)


@cache
def _folder() -> Path | None:
    """Where files are quickest."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else None


# -- the core's splitters

Splitter = Callable[[Document], list[Chunk]]


def _content_aware(rng: Random, size: int) -> Any:
    return ContentAwareSplitter(
        max_tokens=rng.choice((size, size, size, None)),
        min_tokens=rng.choice((0, size // 3)),
        context=rng.random() < 0.5,
        counter=rng.choice((characters, ContentAwareSplitter().counter)),
        plain_headings=rng.random() < 0.8,
    )


def _fixed(rng: Random, size: int) -> Any:
    within = rng.random() < 0.5
    return FixedSplitter(
        size, within_sections=within, context=within and rng.random() < 0.5
    )


def _hiqa(rng: Random, size: int) -> Any:
    return HiQASplitter(
        max_tokens=rng.choice((size, size, None)),
        metadata=rng.choice(("path", "section", "none")),
        table_cells=rng.random() < 0.3,
        describe_image=rng.choice((None, str.upper)),
    )


def _pic(rng: Random, size: int) -> Any:
    scope = rng.choice(("auto", "document", "section"))
    return PICSplitter(
        max_tokens=size,
        min_tokens=size // 3,
        scope=scope,
        pseudo_instruction=rng.choice(("summary", "mean")),
        respect_sections=scope == "section" or rng.random() < 0.5,
        context=rng.random() < 0.5,
    )


def _idms(rng: Random, size: int) -> Any:
    return IDMSSplitter(
        max_tokens=size,
        margin=rng.choice(("words", "similarity")),
        merge=rng.choice(("weakest", "greedy", "none")),
        target_tokens=size,
        respect_sections=rng.random() < 0.5,
        heading_path=rng.random() < 0.5,
    )


CORE = (_content_aware, _fixed, _hiqa, _pic, _idms)


def check_chunks(document: Document, chunks: Sequence[Chunk], splitter: Any) -> None:
    """Chunks tile the document, quote it exactly and keep the limit."""
    text = document.text
    assert bool(chunks) == bool(text.strip()), (
        "chunks only, and always, where there is text"
    )
    at = 0
    for chunk in chunks:
        assert chunk.start == at, f"a chunk begins at {chunk.start} instead of {at}"
        assert chunk.text == text[chunk.start : chunk.end], (
            "a chunk is no slice of its document"
        )
        assert chunk.text.strip(), "a chunk is blank"
        assert chunk.start <= chunk.body_start <= chunk.end
        at = chunk.end
    assert not chunks or at == len(text), (
        f"the text ends at {len(text)}, the chunks at {at}"
    )
    assert len({chunk.id for chunk in chunks}) == len(chunks), "two chunks have one id"
    limit = splitter.max_tokens
    if limit is not None:
        for chunk in chunks:
            size = splitter.counter(chunk.index_text)
            assert size == chunk.extras.get("index_tokens", size), (
                "index_tokens is another count"
            )
            if size > limit:
                assert chunk.extras.get("oversize"), (
                    f"{size} tokens where {limit} are allowed"
                )
                assert is_one_character(chunk.text), (
                    f"more than a character at {chunk.start}"
                )


def is_one_character(text: str) -> bool:
    """Whether it is one character as people count, with white space around it."""
    import regex

    return (
        len(regex.findall(r"\X", text.strip())) <= 1
        and len(text.strip()) <= LONGEST_CHARACTER
    )


def check_core(rng: Random, read: Callable[[], Document], document: Document) -> None:
    """The document through the default splitter and another one."""
    check_outline(document)
    default = ContentAwareSplitter()
    check_chunks(document, default.split(document), default)
    splitter = rng.choice(CORE)(rng, size_for(rng, document, 3))
    chunks = splitter.split(document)
    try:
        check_chunks(document, chunks, splitter)
        if rng.random() < AGAIN:
            # Read anew, for outlines are remembered by document.
            assert splitter.split(read()) == chunks, "a second run gives other chunks"
    except AssertionError as error:
        raise AssertionError(f"{splitter}: {error}") from error


def size_for(rng: Random, document: Document, characters: int) -> int:
    """A limit in units of so many characters."""
    least = len(document.text) // (characters * PIECES)
    return rng.choice([size for size in SIZES if size >= least] or [SIZES[-1]])


def check_outline(document: Document) -> None:
    """Sections lie in each other, their blocks tile their bodies; places lead to the source."""
    outline = parse(document)
    for section in outline.sections:
        assert section.start <= section.body_start <= section.body_end <= section.end
        blocks = outline.blocks(section)
        if blocks:
            ends = [section.body_start, *(block.end for block in blocks)]
            assert [block.start for block in blocks] == ends[:-1], (
                "blocks do not tile a body"
            )
            assert ends[-1] == section.body_end, "blocks do not reach the end of a body"
        for block in blocks:
            assert all(block.start <= cut <= block.end for cut in block.cuts)
    if document.layout is not None:
        starts = document.layout.source_map.source_starts
        assert all(a <= b for a, b in pairwise(starts)), "the source map goes back"


# -- the adapters


@cache
def _langchain() -> tuple[Any, ...]:
    import langchain_structrag as lc

    return (
        lc.ContentAwareTextSplitter,
        lc.FixedTextSplitter,
        lc.HiQATransformer,
        lc.PICTextSplitter,
        lc.IDMSTextSplitter,
    )


@cache
def _llama_index() -> tuple[Any, ...]:
    import llama_index_structrag as li

    return (
        li.ContentAwareNodeParser,
        li.FixedNodeParser,
        li.HiQANodeParser,
        li.PICNodeParser,
        li.IDMSNodeParser,
    )


def check_langchain(rng: Random, document: Document) -> None:
    """A document of LangChain, by splitters in place of its own."""
    from langchain_core.documents import Document as HostDocument

    host = HostDocument(page_content=document.text, metadata={"source": "d.md", "n": 1})
    kind = rng.choice(_langchain())
    strip = rng.random() < 0.5
    size = size_for(rng, document, 1)
    make = partial(kind, chunk_size=size, strip_whitespace=strip)
    splitter = make()
    chunks = splitter.split_documents([host])
    spans = [
        (chunk.metadata["start_index"], chunk.metadata["end_index"], chunk.page_content)
        for chunk in chunks
    ]
    try:
        check_spans(document.text, spans, strip=strip)
        for chunk in chunks:
            assert chunk.metadata["n"] == 1, "metadata of the document is lost"
        if rng.random() < AGAIN:
            again = make().split_documents([host])
            assert again == chunks, "a second run gives other chunks"
    except AssertionError as error:
        raise AssertionError(f"{type(splitter).__name__}({size}): {error}") from error


def check_llama_index(rng: Random, document: Document) -> None:
    """A document of LlamaIndex, by node parsers in place of its own."""
    from llama_index.core import Document as HostDocument
    from llama_index.core.schema import MetadataMode

    host = HostDocument(text=document.text, id_="d", metadata={"n": 1})
    parser = rng.choice(_llama_index())
    strip = rng.random() < 0.5
    size = size_for(rng, document, 1)
    make = partial(
        parser, chunk_size=size, strip=strip, tokenizer=list, format="markdown"
    )
    nodes = make().get_nodes_from_documents([host])
    spans = [(node.start_char_idx, node.end_char_idx, node.text) for node in nodes]
    try:
        check_spans(document.text, spans, strip=strip)
        for node in nodes:
            embedded = len(node.get_content(metadata_mode=MetadataMode.EMBED))
            if embedded > size:
                assert node.metadata.get("oversize"), f"{embedded} tokens are embedded"
                assert is_one_character(node.text), "more than a character"
        ids = [node.node_id for node in nodes]
        assert len(set(ids)) == len(ids), "two nodes have one id"
        if rng.random() < AGAIN:
            again = [node.node_id for node in make().get_nodes_from_documents([host])]
            assert again == ids, "a second run gives other nodes"
    except AssertionError as error:
        raise AssertionError(f"{parser.__name__}({size}): {error}") from error


def check_spans(
    text: str, spans: Sequence[tuple[int, int, str]], *, strip: bool
) -> None:
    """Spans quote the text in order; with `strip` only white space may be left out."""
    at = 0
    for start, end, content in spans:
        assert content == text[start:end], f"{start} to {end} is another text"
        assert content.strip(), "a chunk is blank"
        assert start >= at, "chunks overlap"
        left_out = text[at:start]
        assert not left_out.strip() if strip else not left_out, (
            f"lost at {at}: {left_out[:40]!r}"
        )
        at = end
    rest = text[at:]
    if not strip and not text.strip():
        return
    assert not rest.strip() if strip else not rest, f"lost at the end: {rest[:40]!r}"


def holds_surrogates(text: str) -> bool:
    """Whether a text cannot be in the documents of a host, which are UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def case(number: int) -> None:
    """One mutated document. The first cases do without evaluation data: they are in every run."""
    rng = random_of("documents", number)
    read = document_of(rng, with_data=number >= PROMISE.short)
    try:
        document = read()
    except StructragError:
        return  # refused in a sentence
    check_core(rng, read, document)
    if not holds_surrogates(document.text):
        check_langchain(rng, document)
        check_llama_index(rng, document)


def _prepare() -> None:
    """Import the frameworks and read the samples, before processes are forked."""
    _langchain(), _llama_index(), pdf_seeds()
    with suppress(Exception):  # what breaks here, breaks again where it is counted
        case(0)


PROMISE = Promise(
    "documents",
    "mutated documents through the splitters: nothing lost, exact places, limits, equal runs",
    case,
    cases=100_000,
    short=100,
    share=20,
    prepare=_prepare,
)
