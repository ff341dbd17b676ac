"""Arguments, results and errors of both frameworks' retrievers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    ModelFailed,
    UnknownDocument,
    check_choice,
    check_optional,
    checked_k,
    warn_user,
)
from structrag.integrations.metadata import INDEX_KEY
from structrag.integrations.places import lead_of
from structrag.model_calls.calling import cause_of
from structrag.model_calls.requests import (
    Embed,
    EmbedTokens,
    Flow,
    Request,
    Search,
    T,
    ask,
    handle,
)
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import Usage, fallbacks_line
from structrag.records import Chunk, Hit
from structrag.retrieval.evidence.retriever import ORDERS
from structrag.retrieval.evidence.shortening import TextPlace
from structrag.retrieval.multihop.hops import SelfAskResult
from structrag.retrieval.retriever import Retriever
from structrag.text.heading_path import SEPARATOR

ROUTE = "host"
Result = TypeVar("Result")  # a host's


@dataclass(frozen=True)
class HostRetriever(Retriever):
    """Another framework's retriever as a `Retriever` of the core.

    One search a question. Each result is a hit, ranked as it came, with the score 1 / rank. So
    `SelfAsk` takes it; `runner` drives it.

    Attributes:
        kind: What the retriever is, for messages.
        retrieve: Question -> results, best first.
        aretrieve: The same on an event loop.
        chunk_of: A result as a chunk, equal results with equal ids.
    """

    kind: str
    retrieve: Callable[[str], Sequence[Any]]
    aretrieve: Callable[[str], Awaitable[Sequence[Any]]]
    chunk_of: Callable[[Any], Chunk]
    runner: Runner = field(default_factory=Runner, repr=False)

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """The results as hits, at most `k` of them. Raises InvalidParameter for a `where`, which
        only structrag's own retrievers know."""
        if where is not None:
            raise InvalidParameter(
                f"where must be None with a {self.kind}: only structrag's own retrievers take it. "
                "Set a filter in that retriever."
            )
        most = None if k is None else checked_k(k)
        searcher = _Searcher(self.retrieve, self.aretrieve)
        results = yield from ask(Search(ROUTE, query, None, 0, searcher=searcher))
        return [
            Hit(self.chunk_of(result), 1 / rank, rank)
            for rank, result in enumerate(results[:most], start=1)
        ]

    def run(self, flow: Flow[T]) -> T:
        """Drive steps by `runner`."""
        return self.runner.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.runner.arun(flow)


@dataclass(frozen=True)
class _Searcher:
    """The host's two calls as a route; its ranking is their results. Their exceptions pass
    through."""

    is_ours: ClassVar[bool] = True
    retrieve: Callable[[str], Sequence[Any]]
    aretrieve: Callable[[str], Awaitable[Sequence[Any]]]

    def search(self, request: Search) -> Any:
        return self.retrieve(request.query)

    async def asearch(self, request: Search) -> Any:
        return await self.aretrieve(request.query)


def passage(
    id: str,
    doc_id: str,
    text: str,
    *,
    start: Any = None,
    context: str = "",
    path: Any = None,
    extras: Mapping[str, Any],
) -> Chunk:
    """A text that a host's retriever gave as a chunk.

    Args:
        start: Where it begins in its document; anything but a number counts as 0.
        context: The titles above it, where the host has them as one string.
        path: The same as a list; anything else counts as none.
        extras: What leads back to the host's own result.
    """
    begin = start if isinstance(start, int) else 0
    titles = tuple(map(str, path)) if isinstance(path, list | tuple) else ()
    return Chunk(
        id=id,
        doc_id=doc_id,
        section_id="",
        start=begin,
        end=begin + len(text),
        text=text,
        context=context or SEPARATOR.join(titles),
        path=titles,
        extras=extras,
    )


def embedded_as(
    flow: Flow[T], question: str, texts: Sequence[str], vector: Any = None
) -> Flow[T]:
    """Run `flow` with the mean vector of `texts`, or with a `vector`, as that of its question. A
    token encoder reads the texts in place of the question."""

    def answer(request: Request) -> Flow[Any]:
        if (
            not isinstance(request, Embed | EmbedTokens)
            or not request.query
            or question not in request.texts
        ):
            return (yield from ask(request))
        if isinstance(request, EmbedTokens):
            (read,) = yield from ask(replace(request, texts=(" ".join(texts),)))
            mean = read.vector if vector is None else np.array(vector, np.float32)
            return [replace(read, spans=0 * read.spans, vector=mean)]  # of no place
        rows = [vector]
        if vector is None:
            rows = yield from ask(replace(request, texts=tuple(texts)))
        mean = np.mean(rows, axis=0, dtype=np.float32)
        return np.tile(mean, (len(request.texts), 1))

    return handle(flow, answer)


@contextmanager
def lost_retriever(make: str, add: str, cache: Any) -> Iterator[None]:
    """Add to an error that no retriever is returned, what is kept, and how to go on. The error is
    one of a model that fails, or of a budget that is spent, while a retriever is made and filled.

    Args:
        make: The call that is broken off.
        add: The method that adds documents.
        cache: The call's cache, or None.
    """
    try:
        yield
    except (BudgetExceeded, InvalidAnswer, ModelFailed) as error:
        if cache is None:
            rest = (
                "nothing is kept, because this call had no cache=. Call it again with cache= and "
                "a path"
            )
        else:
            rest = (
                "only the cache is kept. Call it again with the same cache=, and its answers are "
                "not paid for twice"
            )
        raise type(error)(
            f"{cause_of(error)} But {make} returned no retriever: {rest}. To keep finished "
            f"documents too, create an empty retriever with {make}([], ...) and pass them to its "
            f"{add}."
        ) from error.__cause__ or error


def warn_of_fallbacks(usage: Usage) -> None:
    """Warn if half of the answers could not be used; keywords alone are no reason. If all calls
    failed, the runner has warned already."""
    unusable = usage.fallbacks["summary"] + usage.fallbacks["chunks"]
    if usage.calls > usage.failed and unusable * 2 >= usage.calls:
        warn_user(
            "At least half of the language model's answers could not be used; extracts from the "
            f"text replace them: {fallbacks_line(usage.fallbacks, usage.reasons)}. Check "
            "the model; index.usage has the counts."
        )


def results_of(hits: Iterable[Hit], make: Callable[[Hit], Result]) -> Iterator[Result]:
    """Hits as results of a host, with their documents' metadata. A hit whose document another
    thread has deleted since the search is left out."""
    for hit in hits:
        try:
            result = make(hit)
        except UnknownDocument:
            continue
        yield result


def trace_notes(
    result: SelfAskResult, shown: Callable[[Sequence[Hit]], list[Any]]
) -> dict[str, Any]:
    """How self-ask came to its answer, in values of JSON; `shown` is what stands for hits."""
    trace = [
        {
            "follow_up": hop.follow_up,
            "answer": hop.answer,
            "evidence": shown(hop.evidence),
            "cost": asdict(hop.cost),
        }
        for hop in result.trace
    ]
    return {
        "trace": trace,
        "stopped": result.stopped,
        "cost": {stage: asdict(cost) for stage, cost in result.cost.items()},
        "failures": result.failures,
    }


def check_limits(order: str, k: float | None, max_tokens: float | None) -> None:
    """Raise InvalidParameter for limits of evidence that are not allowed."""
    check_choice("order", order, ORDERS)
    if k is not None:
        checked_k(k)
    check_optional("max_tokens", max_tokens, 1)


def warn_of_chunks(are_chunks: Iterable[bool]) -> None:
    """Say that chunks came where whole documents are wanted."""
    if any(are_chunks):
        warn_user(
            "The documents are chunks from a splitter. This retriever splits documents itself, "
            "by section: pass whole documents.",
        )


def text_place(
    text: str, metadata: Mapping[str, Any], source: Any, start: Any, end: Any
) -> TextPlace:
    """The place of a text in its source, by what its host says. A span that is not as long as the
    text is another text's."""
    lead = lead_of(text, metadata)
    is_known = isinstance(start, int) and start >= 0
    if not is_known or end not in (None, start + len(text) - lead):
        start = None
    return TextPlace(source, start, lead, str(metadata.get(INDEX_KEY) or ""))
