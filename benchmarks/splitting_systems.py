"""Splitters, ours and others', as functions from documents to chunks with exact places in the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from benchmarks.splitters_systems import CHONKIE, LANGCHAIN, LLAMA, peers
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms import IDMSSplitter
from structrag.chunks.pic import PICSplitter
from structrag.records import Chunk, Document
from structrag.steps import Embed, Runner, Steps
from structrag.tokens import count_tokens

Splitting = Callable[[Sequence[Document]], list[list[Chunk]]]  # documents -> the chunks of each

FIXED = "fixed {}"
RECURSIVE = "LangChain recursive {}"
SIZES = (200, 300)
SEMANTIC = (LANGCHAIN, LLAMA, CHONKIE)


@dataclass(frozen=True)
class Reading:
    """A splitter that asks the runner's models; an index takes the splitter itself, and with it the vectors it has of the sentences."""

    splitter: Any
    runner: Runner

    def __call__(self, documents: Sequence[Document]) -> list[list[Chunk]]:
        return list(self.splitter.split_all(documents, runner=self.runner))


def systems(embedder: Any, runner: Runner) -> tuple[dict[str, Splitting], list[str]]:
    """Every splitter by name, in the table's order, and the names of the peers that are not installed.

    Peers have their default settings. `embedder` is theirs from now on: its encoder is answered by the runner, which has one of its own and
    keeps what was embedded before.
    """
    embedder.model.encode = partial(_kept_vectors, runner)
    semantic, absent = peers(embedder)
    found: dict[str, Splitting] = {FIXED.format(size): plain(FixedSplitter(size)) for size in SIZES}
    try:
        found |= {RECURSIVE.format(size): recursive(size) for size in SIZES}
    except ImportError as error:
        absent.append(f"{RECURSIVE.format('')} ({error.name})")
    found["ContentAwareSplitter"] = plain(ContentAwareSplitter())
    read = {
        "PICSplitter": PICSplitter(),
        "PICSplitter(reuse_vectors=False)": PICSplitter(reuse_vectors=False),
        "PICSplitter.paper": PICSplitter.paper(),
        "IDMSSplitter": IDMSSplitter(),
    }
    found |= {name: Reading(splitter, runner) for name, splitter in read.items()}
    found |= {name: _each_document(semantic[name]) for name in SEMANTIC if name in semantic}
    return found, absent


def located(document: Document, texts: Sequence[str]) -> list[Chunk]:
    """The chunks of a splitter that gives texts only: found again by counting the characters that are not white space.

    Raises ValueError where the texts do not hold the document's characters in order, once each.
    """
    places = [place for place, character in enumerate(document.text) if not character.isspace()]
    lengths = [sum(not character.isspace() for character in text) for text in texts]
    if sum(lengths) != len(places):
        raise ValueError(f"the chunks of {document.id} hold {sum(lengths)} of its {len(places)} characters")
    ends = list(accumulate(lengths))
    chunks = []
    for length, end in zip(lengths, ends, strict=True):
        if length:
            chunks.append(_chunk(document, places[end - length], places[end - 1] + 1))
    return chunks


def _chunk(document: Document, start: int, end: int) -> Chunk:
    text = document.text[start:end]
    return Chunk(f"{document.id}:{start}-{end}", document.id, "", start, end, text, n_tokens=count_tokens(text))


def _kept_vectors(runner: Runner, texts: Sequence[str] | str, **_: Any) -> Any:
    if isinstance(texts, str):
        return runner.run(_vectors((texts,)))[0]
    return runner.run(_vectors(tuple(texts)))


def _vectors(texts: tuple[str, ...]) -> Steps[Any]:
    (vectors,) = yield [Embed(texts)]
    return vectors


def plain(splitter: Any) -> Splitting:
    """A splitter that asks no model."""
    return lambda documents: [splitter.split(document) for document in documents]


def recursive(size: int) -> Splitting:
    """LangChain's recursive splitter with this many tokens a chunk; ImportError where it is not installed."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, length_function=count_tokens)
    return lambda documents: [located(document, splitter.split_text(document.text)) for document in documents]


def _each_document(split: Callable[[Sequence[Document]], list[list[str]]]) -> Splitting:
    return lambda documents: [
        located(document, texts) for document, texts in zip(documents, split(documents), strict=True)
    ]
