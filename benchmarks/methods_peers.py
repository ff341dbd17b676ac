"""Splitters of other libraries as functions from documents to chunks with their places in the
source. Sizes are tokens by structrag's estimate, without overlap, so that all have chunks of one
size. Splitters for Markdown or HTML are asked only for documents of a format that they read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.placing import placed
from benchmarks.speed_parse_peers import llama_markdown
from structrag.models.bundled import minilm_path
from structrag.records import Chunk, Document
from structrag.text.tokens import count_tokens

# Documents -> the chunks of each.
Splitting = Callable[[Sequence[Document]], list[list[Chunk]]]
TextSplitting = Callable[[str], list[str]]  # a text -> the texts of its chunks
SIZE = 300
SMALL = 200
HEADERS = [("#" * level, f"h{level}") for level in range(1, 7)]
DOCLING = "docling HybridChunker"
# A Python that has docling, whose pins do not fit ours.
DOCLING_PYTHON = "STRUCTRAG_DOCLING_PYTHON"


@dataclass(frozen=True)
class Peer:
    """A splitter of another library."""

    split: Splitting
    formats: tuple[str, ...] | None = None  # those it reads; None: all, as text


def by_size(sources: Mapping[str, str]) -> tuple[dict[str, Peer], list[str]]:
    """The installed splitters that ask no encoder, and the names of the absent ones. `sources` has
    the files' text by document id, for documents whose markup is not in `Document.text`."""
    makers: Mapping[str, tuple[Callable[[], TextSplitting], tuple[str, ...] | None]] = {
        f"LangChain recursive {SMALL}": (partial(recursive, SMALL), None),
        f"LangChain recursive {SIZE}": (partial(recursive, SIZE), None),
        f"LangChain Markdown headers, recursive {SIZE}": (
            langchain_markdown,
            ("markdown",),
        ),
        f"LlamaIndex SentenceSplitter {SIZE}": (
            partial(sentence_splitter, SIZE, 0),
            None,
        ),
        "LlamaIndex SentenceSplitter, defaults": (
            partial(sentence_splitter, 1024, 200),
            None,
        ),
        "LlamaIndex MarkdownNodeParser": (llama_markdown, ("markdown",)),
        f"chonkie RecursiveChunker {SIZE}": (chonkie_recursive, None),
        f"semchunk {SIZE}": (semchunk, None),
    }
    found: dict[str, Peer] = {}
    absent = []
    for name, (make, formats) in makers.items():
        try:
            found[name] = Peer(partial(each_text, make()), formats)
        except ImportError as error:
            absent.append(f"{name} ({error.name or error})")
    if os.environ.get(DOCLING_PYTHON):
        found[DOCLING] = Peer(partial(docling, sources), ("markdown", "html"))
    else:
        absent.append(f"{DOCLING} (set {DOCLING_PYTHON})")
    return found, absent


def each_text(split: TextSplitting, documents: Sequence[Document]) -> list[list[Chunk]]:
    """The chunks of each document, at their places."""
    return [placed(document, split(document.text)) for document in documents]


def recursive(size: int) -> TextSplitting:
    """LangChain's recursive splitter."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=0, length_function=count_tokens
    ).split_text


def langchain_markdown() -> TextSplitting:
    """LangChain's header splitter, its sections then cut by the recursive one, as LangChain's
    documentation joins them."""
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    sections = MarkdownHeaderTextSplitter(HEADERS, strip_headers=False)
    cut = recursive(SIZE)
    return lambda text: [
        part
        for section in sections.split_text(text)
        for part in cut(section.page_content)
    ]


def sentence_splitter(size: int, overlap: int) -> TextSplitting:
    """LlamaIndex's sentence splitter, with its own tokenizer."""
    from llama_index.core.node_parser import SentenceSplitter

    return SentenceSplitter(chunk_size=size, chunk_overlap=overlap).split_text


def chonkie_recursive() -> TextSplitting:
    """chonkie's recursive chunker, which wants a tokenizer that also encodes: MiniLM's, whose
    tokens are as many as the estimate's."""
    from chonkie import RecursiveChunker
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(minilm_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    chunker = RecursiveChunker(tokenizer=tokenizer, chunk_size=SIZE)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def semchunk() -> TextSplitting:
    """semchunk's splitter by white space and punctuation."""
    from semchunk import chunkerify

    chunker = chunkerify(count_tokens, SIZE)
    return lambda text: list(chunker(text))


def docling(
    sources: Mapping[str, str], documents: Sequence[Document]
) -> list[list[Chunk]]:
    """docling's hybrid chunker, in the Python that has it; its chunks are found again by their
    words."""
    wanted = [
        {"format": document.format, "text": sources[document.id]}
        for document in documents
    ]
    program = str(Path(__file__).with_name("docling_chunks.py"))
    command = [os.environ[DOCLING_PYTHON], program, str(minilm_path())]
    done = subprocess.run(
        command, input=json.dumps(wanted), stdout=subprocess.PIPE, text=True, check=True
    )
    found = []
    for document, pairs in zip(documents, json.loads(done.stdout), strict=True):
        texts, contexts = zip(*pairs, strict=True) if pairs else ((), ())
        found.append(placed(document, texts, contexts))
    return found
