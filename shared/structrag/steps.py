"""What algorithms ask of models, and the two runners that answer them.

An algorithm that needs a model is a generator: it yields a list of requests and receives the list of their answers.
`Runner.run` drives it synchronously and `Runner.arun` on an event loop; batching, the concurrency limit,
the cache, counts and progress are here, once, for every algorithm.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.cache import Cache, cache_key
from structrag.errors import BudgetExceeded, InvalidAnswer, ModelFailed, StructragError, check_at_least
from structrag.tokens import count_tokens

T = TypeVar("T")
Array = NDArray[np.float32]
Ranking = list[tuple[str | int, float]]  # (chunk id, or row of our own index; score), best first
Progress = Callable[[str, int, int], None]  # what is being done, done so far, total


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt for the language model. Answered by its text, or by `Failed`."""

    prompt: str
    component: str = ""  # who asks and which version of the prompt, for the cache key and the counts
    use_cache: bool = True


@dataclass(frozen=True, slots=True)
class Choose:
    """A question with two options. Answered by a margin in [-1, 1], positive for the first; or None, or `Failed`."""

    prompt: str
    options: tuple[str, str]
    component: str = ""


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to turn into vectors. Answered by a float32 array of shape (len(texts), dimension)."""

    texts: tuple[str, ...]
    query: bool = False  # with the model's query prompt instead of its document prompt


@dataclass(frozen=True, slots=True)
class Search:
    """A search on one named route. Answered by a Ranking of at most `n` chunks."""

    route: str
    query: str
    vector: Array | None
    n: int
    where: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Instead of an answer: the model raised. The algorithm falls back, or raises `reason`."""

    reason: Exception


Request = Ask | Choose | Embed | Search
Steps = Generator[Sequence[Request], list[Any], T]


class LanguageModel(Protocol):
    """A model that completes prompts. `name` goes into cache keys, so it must tell models and settings apart."""

    @property
    def name(self) -> str: ...

    def complete(self, prompt: str) -> str: ...

    async def acomplete(self, prompt: str) -> str: ...


class Chooser(Protocol):
    """A language model that can also weigh two options."""

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None: ...

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None: ...


class Embedder(Protocol):
    """A model that turns texts into vectors, one row a text."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any: ...

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any: ...


class Route(Protocol):
    """Something that ranks chunks: an index here, or a store or retriever of the host."""

    def search(self, request: Search) -> Ranking: ...

    async def asearch(self, request: Search) -> Ranking: ...


@dataclass(slots=True)
class Usage:
    """What a run has cost so far. Tokens are estimated by `structrag.tokens.count_tokens`."""

    calls: int = 0  # of the language model
    prompt_tokens: int = 0
    answer_tokens: int = 0
    embedded: int = 0  # texts sent to the embedder
    embedding_tokens: int = 0
    cache_hits: int = 0  # answers and vectors that cost nothing
    fallbacks: Counter[str] = field(default_factory=Counter)  # what fell back -> how often

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        counts = {name: getattr(self, name) for name in self.__slots__ if name != "fallbacks"}
        return {**counts, "fallbacks": dict(self.fallbacks)}


class Runner:
    """Answers the requests of algorithms with the models it was given.

    Args:
        llm: Answers `Ask` (and `Choose`, if it has `choose`); None: those are answered by `Failed`.
        embedder: Answers `Embed`.
        routes: Name -> route, answers `Search`.
        cache: Keeps finished language-model answers, and vectors, by model name and request; None: nothing is kept.
        batch_size: Most texts in one embedding call.
        max_concurrency: Most language-model calls in flight.
        max_calls: Most language-model calls in all; the next one raises BudgetExceeded. None: no limit.
        progress: Called with (what, done, total) as work is done.
    """

    def __init__(
        self,
        *,
        llm: LanguageModel | None = None,
        embedder: Embedder | None = None,
        routes: Mapping[str, Route] | None = None,
        cache: Cache | None = None,
        batch_size: int = 64,
        max_concurrency: int = 8,
        max_calls: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        check_at_least("batch_size", batch_size, 1)
        check_at_least("max_concurrency", max_concurrency, 1)
        if max_calls is not None:
            check_at_least("max_calls", max_calls, 0)
        self.llm = llm
        self.embedder = embedder
        self.routes = dict(routes or {})
        self.cache = cache
        self.batch_size = batch_size
        self.max_concurrency = max_concurrency
        self.max_calls = max_calls
        self.progress = progress
        self.usage = Usage()

    def run(self, steps: Steps[T]) -> T:
        """Drive an algorithm to its result."""
        try:
            requests = next(steps)
            while True:
                requests = steps.send(self._answer(requests))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    async def arun(self, steps: Steps[T]) -> T:
        """`run` on an event loop: models are awaited, and searches of our own index run in a worker thread."""
        try:
            requests = next(steps)
            while True:
                requests = steps.send(await self._aanswer(requests))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    def _answer(self, requests: Sequence[Request]) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        asked = self._from_cache(requests, answers)
        if asked:
            pool = ThreadPoolExecutor(min(self.max_concurrency, len(asked)))
            try:
                context = contextvars.copy_context()
                futures = [pool.submit(context.copy().run, self._ask, requests[i]) for i in asked]
                for done, (i, future) in enumerate(zip(asked, futures, strict=True), start=1):
                    answers[i] = future.result()
                    self._report("asking the language model", done, len(asked))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        for i, request in enumerate(requests):
            if isinstance(request, Embed):
                answers[i] = self._embed(request)
            elif isinstance(request, Search):
                answers[i] = self.routes[request.route].search(request)
        return answers

    async def _aanswer(self, requests: Sequence[Request]) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        asked = self._from_cache(requests, answers)
        gate = asyncio.Semaphore(self.max_concurrency)
        done = 0

        async def ask(i: int) -> None:
            nonlocal done
            async with gate:
                answers[i] = await self._aask(requests[i])
            done += 1
            self._report("asking the language model", done, len(asked))

        tasks = [asyncio.ensure_future(ask(i)) for i in asked]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        searches = [i for i, request in enumerate(requests) if isinstance(request, Search)]
        found = await asyncio.gather(*(self._asearch(requests[i]) for i in searches))
        for i, ranking in zip(searches, found, strict=True):
            answers[i] = ranking
        for i, request in enumerate(requests):
            if isinstance(request, Embed):
                answers[i] = await self._aembed(request)
        return answers

    async def _asearch(self, request: Any) -> Ranking:
        return await self.routes[request.route].asearch(request)

    # -- the language model

    def _from_cache(self, requests: Sequence[Request], answers: list[Any]) -> list[int]:
        """Fill in what the cache knows; return the positions that the model must be asked for."""
        asked: list[int] = []
        for i, request in enumerate(requests):
            if not isinstance(request, Ask | Choose):
                continue
            if self.llm is None:
                answers[i] = Failed(ModelFailed("There is no language model; pass one as llm=..."))
                continue
            known = self.cache.get(self._ask_key(request)) if self.cache is not None and _cached(request) else None
            if known is None:
                asked.append(i)
            else:
                answers[i] = known["answer"]
                self.usage.cache_hits += 1
        return asked

    def _ask_key(self, request: Ask | Choose) -> str:
        options = request.options if isinstance(request, Choose) else ()
        return cache_key("ask", self.llm.name if self.llm else "", request.component, *options, request.prompt)

    def _count_call(self) -> None:
        if self.max_calls is not None and self.usage.calls >= self.max_calls:
            raise BudgetExceeded(
                f"The run needs more than max_calls={self.max_calls} language-model calls. Finished calls are in the cache (if cache= was "
                "given): run again with a higher max_calls and they are not repeated."
            )
        self.usage.calls += 1

    def _ask(self, request: Any) -> Any:
        self._count_call()
        model: Any = self.llm
        try:
            answer = (
                model.complete(request.prompt)
                if isinstance(request, Ask)
                else model.choose(request.prompt, request.options)
            )
        except StructragError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a host's model raises is a failed call, not a crash
            return Failed(error)
        return self._finished(request, answer)

    async def _aask(self, request: Any) -> Any:
        self._count_call()
        model: Any = self.llm
        try:
            asking = (
                model.acomplete(request.prompt)
                if isinstance(request, Ask)
                else model.achoose(request.prompt, request.options)
            )
            answer = await asking
        except StructragError:
            raise
        except Exception as error:  # noqa: BLE001 - as in _ask
            return Failed(error)
        return self._finished(request, answer)

    def _finished(self, request: Any, answer: Any) -> Any:
        self.usage.prompt_tokens += count_tokens(request.prompt)
        if isinstance(request, Ask):
            if not isinstance(answer, str):
                return Failed(InvalidAnswer(f"The language model must return a string; got {type(answer).__name__}."))
            self.usage.answer_tokens += count_tokens(answer)
        if self.cache is not None and _cached(request):
            self.cache.put(self._ask_key(request), {"answer": answer})
        return answer

    # -- the embedder

    def _embed(self, request: Embed) -> Array:
        plan = _EmbeddingPlan(self, request)
        for batch in plan.batches():
            plan.take(batch, self._embedder().embed(batch, query=request.query))
        return plan.result()

    async def _aembed(self, request: Embed) -> Array:
        plan = _EmbeddingPlan(self, request)
        for batch in plan.batches():
            plan.take(batch, await self._embedder().aembed(batch, query=request.query))
        return plan.result()

    def _embedder(self) -> Embedder:
        if self.embedder is None:
            raise ModelFailed("There is no embedder; pass one as embedder=...")
        return self.embedder

    def _report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)


class _EmbeddingPlan:
    """One Embed request: each different text once, longest first in batches of like length, checked and cached as it comes."""

    def __init__(self, runner: Runner, request: Embed) -> None:
        self.runner = runner
        self.request = request
        self.vectors: dict[str, Array] = {}
        self.missing = sorted(dict.fromkeys(request.texts), key=len, reverse=True)
        if runner.cache is not None and not request.query:
            for text in self.missing:
                known = runner.cache.get_vector(self._key(text))
                if known is not None:
                    self.vectors[text] = known
            runner.usage.cache_hits += len(self.vectors)
            self.missing = [text for text in self.missing if text not in self.vectors]

    def batches(self) -> Generator[list[str], None, None]:
        size = self.runner.batch_size
        for start in range(0, len(self.missing), size):
            yield self.missing[start : start + size]
            self.runner._report("embedding", min(start + size, len(self.missing)), len(self.missing))

    def take(self, batch: list[str], answer: Any) -> None:
        matrix = check_vectors(answer, batch, self.runner._embedder().name)
        for text, vector in zip(batch, matrix, strict=True):
            self.vectors[text] = vector
        usage = self.runner.usage
        usage.embedded += len(batch)
        usage.embedding_tokens += sum(map(count_tokens, batch))
        if self.runner.cache is not None and not self.request.query:
            self.runner.cache.put_vectors({self._key(text): self.vectors[text] for text in batch})

    def result(self) -> Array:
        if not self.request.texts:
            return np.zeros((0, 0), dtype=np.float32)
        widths = {vector.shape[0] for vector in self.vectors.values()}
        if len(widths) > 1:
            raise InvalidAnswer(
                f"The embedder {self.runner._embedder().name!r} returned vectors of different dimensions {sorted(widths)}; "
                "one model must always return the same. If its name stands for several models, give each its own cache."
            )
        return np.stack([self.vectors[text] for text in self.request.texts])

    def _key(self, text: str) -> str:
        return cache_key("embed", self.runner._embedder().name, text)


def check_vectors(answer: Any, texts: Sequence[str], name: str) -> Array:
    """An embedder's answer as a float32 array of shape (len(texts), dimension).

    Raises:
        InvalidAnswer: another shape, or NaN or infinite values; the message names the model and the text.
    """
    try:
        matrix = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidAnswer(
            f"The embedder {name!r} must return one vector of numbers a text; got {type(answer).__name__}."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InvalidAnswer(
            f"The embedder {name!r} must return {len(texts)} vectors for {len(texts)} texts; got shape {matrix.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        excerpt = texts[int(bad[0])][:60]
        raise InvalidAnswer(
            f"The embedder {name!r} returned NaN or infinite values for the text {excerpt!r}. Nothing was indexed."
        )
    return matrix


def _cached(request: Ask | Choose) -> bool:
    return not isinstance(request, Ask) or request.use_cache
