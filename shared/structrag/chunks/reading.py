"""What the splitters that read the text share: they are steps, and can be run alone with the models at hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from structrag.chunks.series import Series
from structrag.driving import advance, together
from structrag.models.embedders import LsaEmbedder, as_embedder
from structrag.models.llm import as_language_model
from structrag.records import Chunk, Document
from structrag.steps import Array, Embed, Runner, Steps

T = TypeVar("T")
GROUP = 256  # documents of up to 1,000 characters, or so much text, that are read together


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a splitter saw and did: everything a plot or a table of the splitting needs."""

    document: Document
    series: tuple[Series, ...]  # one a scope, in reading order
    chunks: tuple[Chunk, ...]


class ReadingSplitter:
    """A splitter that asks models. Subclasses give `explain_steps`.

    Models: `embedder` is what `as_embedder` takes, None: LSA of the document's own sentences; `llm` what `as_language_model` takes, None:
    none. A `Runner` given as `runner` brings its models, cache, limits and counts, and the other two are ignored.
    """

    __slots__ = ()

    def explain_steps(self, document: Document) -> Steps[Explanation]:
        """The chunks of a document with the series that led to them, as steps."""
        raise TypeError(f"{type(self).__name__} must define explain_steps")

    def split_steps(self, document: Document) -> Steps[list[Chunk]]:
        """The chunks of a document, in reading order, as steps."""
        explanation = yield from self.explain_steps(document)
        return list(explanation.chunks)

    def split(
        self, document: Document, *, embedder: Any = None, llm: Any = None, runner: Runner | None = None
    ) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        chosen = runner or runner_for(embedder, llm)
        return _counted(chosen.run(self.split_steps(document)), chosen)

    async def asplit(
        self, document: Document, *, embedder: Any = None, llm: Any = None, runner: Runner | None = None
    ) -> list[Chunk]:
        """`split` on an event loop."""
        chosen = runner or runner_for(embedder, llm)
        return _counted(await chosen.arun(self.split_steps(document)), chosen)

    def explain(
        self, document: Document, *, embedder: Any = None, llm: Any = None, runner: Runner | None = None
    ) -> Explanation:
        """The chunks of a document with the series that led to them."""
        return (runner or runner_for(embedder, llm)).run(self.explain_steps(document))

    def split_all(
        self, documents: Iterable[Document], *, embedder: Any = None, llm: Any = None, runner: Runner | None = None
    ) -> Iterator[list[Chunk]]:
        """The chunks of each document, in order, as they are ready.

        Documents are read in groups of bounded size: a group's prompts go out together, and its sentences in full batches.
        """
        chosen, wrap = _shared_runner(embedder, llm, runner)
        for group in _groups(documents):
            for chunks in chosen.run(together([wrap(self.split_steps(document)) for document in group])):
                yield _counted(chunks, chosen)

    async def asplit_all(
        self, documents: Iterable[Document], *, embedder: Any = None, llm: Any = None, runner: Runner | None = None
    ) -> AsyncIterator[list[Chunk]]:
        """`split_all` on an event loop."""
        chosen, wrap = _shared_runner(embedder, llm, runner)
        for group in _groups(documents):
            for chunks in await chosen.arun(together([wrap(self.split_steps(document)) for document in group])):
                yield _counted(chunks, chosen)


def _shared_runner(
    embedder: Any, llm: Any, runner: Runner | None
) -> tuple[Runner, Callable[[Steps[list[Chunk]]], Steps[list[Chunk]]]]:
    """A runner for several documents, and what each one's steps go through: without an embedder each has vectors of its own."""
    if runner is None and embedder is None:
        return Runner(llm=as_language_model(llm)), with_own_vectors
    return runner or runner_for(embedder, llm), lambda steps: steps


def _groups(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents of about a quarter of a million characters in all, at most 256."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text) // 1000 + 1
        if size >= GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def with_own_vectors(steps: Steps[T]) -> Steps[T]:
    """The same steps with their texts embedded here, by LSA of the texts themselves; other requests are passed on."""
    own = OwnSentences()
    answers: Any = None
    while True:
        requests, result = advance(steps, answers)
        if requests is None:
            return result  # type: ignore[no-any-return]
        others = [request for request in requests if not isinstance(request, Embed)]
        given = iter((yield others) if others else [])
        answers = [
            own.embed(request.texts, query=request.query) if isinstance(request, Embed) else next(given)
            for request in requests
        ]


def _counted(chunks: list[Chunk], runner: Runner) -> list[Chunk]:
    """The chunks, those made without what a model should have given counted in the runner's usage."""
    degraded = sum(bool(chunk.extras.get("degraded")) for chunk in chunks)
    if degraded:
        runner.usage.fallbacks["chunks"] += degraded
    return chunks


def runner_for(embedder: Any = None, llm: Any = None) -> Runner:
    """A runner with these models; without an embedder one that fits LSA on the sentences it is first asked for."""
    if embedder is None:
        return Runner(embedder=OwnSentences(), llm=as_language_model(llm), batch_size=10**9)
    return Runner(embedder=as_embedder(embedder), llm=as_language_model(llm))


@dataclass(slots=True)
class OwnSentences:
    """LSA fitted on the texts of each document request, whole; queries are placed among the texts of the last one."""

    fitted: LsaEmbedder = field(default_factory=LsaEmbedder)

    @property
    def name(self) -> str:
        return "LSA of the document's own sentences"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Unit vectors; zeros for texts without a known word."""
        if not query:
            self.fitted = LsaEmbedder().fit(texts)
        return self.fitted.embed(texts)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """`embed` in a worker thread."""
        return await asyncio.to_thread(self.embed, texts, query=query)
