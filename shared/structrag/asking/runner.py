"""The runner answers what algorithms ask, on an event loop or without."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import warnings
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from structrag.asking.cache import Cache
from structrag.asking.calls import (
    Call,
    ask_key,
    asking,
    cached_entry,
    entry_of,
    fill_in,
    is_cached,
    is_kept,
    jobs_of,
    model_for,
    usable_answer,
)
from structrag.asking.counted import tokens_of
from structrag.asking.embedding_plan import (
    NO_VECTORS,
    EmbeddingPlan,
    batches_of,
    check_tokens,
)
from structrag.asking.failures import (
    AT_A_QUESTION,
    WHILE_ADDING,
    acall_models,
    call_models,
    raised_by,
)
from structrag.asking.naming import has_name
from structrag.asking.requests import (
    Array,
    Ask,
    Calls,
    Choose,
    Embed,
    Embedder,
    EmbedTokens,
    Failed,
    LanguageModel,
    ModelCall,
    Request,
    Route,
    Score,
    Search,
    Steps,
    T,
    TokenVectors,
    Usage,
    acall,
)
from structrag.asking.scoring_plan import ScoringPlan
from structrag.asking.settings import Asking, AskingOptions, as_cache, asking_of
from structrag.asking.steps import adrive, drive, in_thread
from structrag.errors import BudgetExceeded, InvalidAnswer, InvalidParameter, NoModel
from structrag.text.tokens import count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack

# what `progress` is told
ASKING, EMBEDDING, SCORING = "asking the language model", "embedding", "scoring"


class Runner:
    """Answers the requests of algorithms with the models it was given.

    Args:
        llm: Answers `Ask` that names no model itself (and `Choose`, if it has `choose`); None:
            those are answered by `Failed`.
        embedder: Answers `Embed` that names no model itself.
        routes: Name -> route, answers `Search`.
        asking, options: An `Asking`, or its settings by their own names: cache, batch_size,
            max_concurrency (of each `run`, and of all `arun` on one event loop together),
            max_calls, progress, timeout.
    """

    def __init__(
        self,
        *,
        llm: LanguageModel | None = None,
        embedder: Embedder | None = None,
        routes: Mapping[str, Route] | None = None,
        asking: Asking | None = None,
        **options: Unpack[AskingOptions],
    ) -> None:
        self.llm = llm
        self.embedder = embedder
        self.routes: dict[str, Route] = dict(routes or {})
        self.asking: Asking = asking_of(asking, options, Runner)
        self.cache: Cache | None = as_cache(self.asking.cache)
        self.usage: Usage = Usage()
        self._warn_of_unnamed()
        self._granted = 0  # calls that were begun, of `max_calls`
        self._lock = threading.Lock()  # of the counts
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def _warn_of_unnamed(self) -> None:
        """Say which model's answers will not be in the cache."""
        models = {"llm": self.llm, "embedder": self.embedder}
        for parameter, model in models.items():
            if (
                self.cache is not None
                and model is not None
                and not has_name(model.name)
            ):
                warnings.warn(
                    f"cache keeps nothing of the {parameter} {model.name.partition('#')[0]!r}: it "
                    "holds a function or an object that nothing tells from others. Wrap it in a "
                    "class that takes name=..., such as FunctionModel, FunctionEmbedder or those "
                    "of the adapters.",
                    stacklevel=3,
                )

    def run(self, steps: Steps[T]) -> T:
        """Drive an algorithm to its result.

        Warns if the language model was called and every call failed.
        """
        outcome = _Outcome()
        try:
            result = drive(steps, lambda requests: self._answer(requests, outcome))
        finally:
            steps.close()
        outcome.warn()
        return result

    async def arun(self, steps: Steps[T]) -> T:
        """`run` on an event loop.

        Models and routes are awaited, or called in worker threads. The algorithm itself runs in
        worker threads.
        """
        outcome = _Outcome()
        try:
            result = await adrive(
                steps, lambda requests: self._aanswer(requests, outcome)
            )
        finally:
            steps.close()
        outcome.warn()
        return result

    def _answer(self, requests: Sequence[Request], outcome: _Outcome) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        timeout = self.asking.timeout
        calls = self._calls(requests, answers)
        granted = self._grant(calls)
        if granted:
            jobs = jobs_of(granted, self.llm, self.asking.batch_size)
            pool = ThreadPoolExecutor(min(self.asking.max_concurrency, len(jobs)))
            done = 0
            try:
                futures = [
                    pool.submit(
                        contextvars.copy_context().run,
                        call_models,
                        self._asking(job),
                        timeout,
                    )
                    for job in jobs
                ]
                for job, future in zip(jobs, futures, strict=True):
                    of_calls = future.result()
                    fill_in(answers, job, of_calls)
                    outcome.note(of_calls)
                    done += len(job)
                    self._report(ASKING, done, len(calls))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        self._check_budget(granted, calls)
        for i, request in enumerate(requests):
            if isinstance(request, Embed | EmbedTokens | Score):
                answers[i] = call_models(self._calls_for(request, outcome), timeout)
            elif isinstance(request, Search):
                route = self._route(request)
                with _route_errors(route):
                    answers[i] = route.search(request)
        return answers

    async def _aanswer(
        self, requests: Sequence[Request], outcome: _Outcome
    ) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        timeout = self.asking.timeout
        calls = self._calls(requests, answers)
        granted = self._grant(calls)
        gate = self._gates.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(self.asking.max_concurrency)
        )
        done = 0

        async def ask(job: list[Call]) -> None:
            nonlocal done
            async with gate:
                of_calls = await acall_models(self._asking(job), timeout)
            fill_in(answers, job, of_calls)
            outcome.note(of_calls)
            done += len(job)
            self._report(ASKING, done, len(calls))

        jobs = jobs_of(granted, self.llm, self.asking.batch_size)
        await _all_or_none([ask(job) for job in jobs])
        self._check_budget(granted, calls)

        async def search(i: int, request: Search) -> None:
            route = self._route(request)
            with _route_errors(route):
                answers[i] = await acall(route, "search", request)

        await _all_or_none(
            [search(i, r) for i, r in enumerate(requests) if isinstance(r, Search)]
        )
        for i, request in enumerate(requests):
            if isinstance(request, Embed | EmbedTokens | Score):
                of_models = await in_thread(self._calls_for, request, outcome)
                answers[i] = await acall_models(of_models, timeout)
        return answers

    def _route(self, request: Search) -> Route:
        if request.searcher is not None:
            return request.searcher
        if request.route not in self.routes:
            raise InvalidParameter(
                f"routes must hold every route that is searched: one of {sorted(self.routes)}; got "
                f"{request.route!r}."
            )
        return self.routes[request.route]

    # -- the language model

    def _calls(self, requests: Sequence[Request], answers: list[Any]) -> list[Call]:
        """Return the calls to make, and fill in all other answers.

        Those are what the cache holds, and failures where no model can answer. Equal requests are
        one call, except for prompts that must not be cached.
        """
        calls: dict[Any, Call] = {}
        for i, request in enumerate(requests):
            if not isinstance(request, Ask | Choose):
                continue
            llm = model_for(request, self.llm)
            if isinstance(llm, Failed):
                answers[i] = llm
                continue
            key = ask_key(llm.name, request)
            entry = cached_entry(self.cache, key, request)
            if entry is not None:
                answers[i] = entry["answer"]
                self.usage.cache_hits += 1
                continue
            new = Call(request, key, has_name(llm.name))
            calls.setdefault(key if is_cached(request) else i, new).positions.append(i)
        return list(calls.values())

    def _grant(self, calls: list[Call]) -> list[Call]:
        """The calls that `max_calls` allows, the first ones."""
        with self._lock:
            granted = calls
            if self.asking.max_calls is not None:
                # Never below 0: no more are granted than are left.
                left = int(self.asking.max_calls) - self._granted
                granted = calls[:left]
            self._granted += len(granted)
        return granted

    def _check_budget(self, granted: list[Call], calls: list[Call]) -> None:
        if len(granted) < len(calls):
            raise BudgetExceeded(
                f"The run needs more than max_calls={self.asking.max_calls} language-model calls. "
                "Finished calls are in the cache (if cache= was given): run again with a higher "
                "max_calls and they are not repeated."
            )

    def _asking(self, job: list[Call]) -> Calls[list[Any]]:
        answers = yield from asking(job, self.llm)
        return [
            self._finished(call, answer)
            for call, answer in zip(job, answers, strict=True)
        ]

    def _finished(self, call: Call, answer: Any) -> Any:
        """The answer counted, checked and kept; Failed if it is none."""
        if isinstance(answer, Failed):
            with self._lock:
                self.usage.calls += 1
                self.usage.failed += 1
            return answer
        answer = usable_answer(call.request, answer)
        tokens = tokens_of(call.request.prompt, answer)
        with self._lock:
            self.usage.calls += 1
            self.usage.failed += isinstance(answer, Failed)
            self.usage.prompt_tokens += tokens.prompt
            self.usage.answer_tokens += tokens.answer
        if self.cache is not None and call.named and is_kept(call.request, answer):
            self.cache.put(call.key, entry_of(answer))
        return answer

    # -- embedders and scorers

    def _calls_for(
        self, request: Embed | EmbedTokens | Score, outcome: _Outcome
    ) -> Calls[Any]:
        """The calls that answer a request.

        This may take long, and the calls do not: the cache is read here, and an embedder made.
        """
        cache, usage, size = self.cache, self.usage, self.asking.batch_size
        if isinstance(request, Score):
            return self._scoring(ScoringPlan(request, cache, usage, size))
        if isinstance(request, EmbedTokens):
            return self._embedding_tokens(request)
        if not request.texts:
            return self._embedding(None, outcome)
        plan = EmbeddingPlan(request, self._embedder(request), cache, usage, size)
        return self._embedding(plan, outcome)

    def _embedder(self, request: Embed) -> Embedder:
        """The request's model, or the runner's."""
        embedder = self.embedder if request.embedder is None else request.embedder
        if embedder is None:
            raise NoModel("There is no embedder; pass one as embedder=...")
        return embedder

    def _embedding(self, plan: EmbeddingPlan | None, outcome: _Outcome) -> Calls[Array]:
        if plan is None:
            return NO_VECTORS
        query = plan.request.query
        for batch in plan.batches():
            who = f"embedder {plan.name!r}"
            vectors = yield from _named(who, plan.embedder, "embed", batch, query=query)
            plan.take(batch, vectors)
            if not query:
                self._report(EMBEDDING, plan.done, len(plan.missing))
        return outcome.of_one_width(plan)

    def _embedding_tokens(self, request: EmbedTokens) -> Calls[list[TokenVectors]]:
        encoder, query = request.encoder, request.query
        answers: list[TokenVectors] = []
        for batch in batches_of(request.texts, self.asking.batch_size):
            who = f"token encoder {encoder.name!r}"
            answer = yield from _named(who, encoder, "embed_tokens", batch, query=query)
            answers += check_tokens(answer, batch, encoder.name)
            with self._lock:
                self.usage.embedded += len(batch)
                self.usage.embedding_tokens += sum(map(count_tokens, batch))
            if not query:
                self._report(EMBEDDING, len(answers), len(request.texts))
        return answers

    def _scoring(self, plan: ScoringPlan) -> Calls[list[float]]:
        query, scorer = plan.request.query, plan.request.scorer
        for batch in plan.batches():
            scores = yield from _named(
                f"scorer {plan.label!r}", scorer, "score", query, batch
            )
            plan.take(batch, scores)
            self._report(SCORING, plan.done, len(plan.missing))
        return plan.result()

    def _report(self, what: str, done: int, total: int) -> None:
        if callable(self.asking.progress):
            self.asking.progress(what, done, total)


def _route_errors(route: Route) -> AbstractContextManager[None]:
    """Names a caller's route that raises; our own errors pass unchanged."""
    if getattr(route, "is_ours", False):
        return nullcontext()
    name = getattr(route, "label", f"route {type(route).__name__}")
    return raised_by(name, AT_A_QUESTION)


def _named(
    who: str, model: Any, method: str, *arguments: Any, **options: Any
) -> Calls[Any]:
    """Call a caller's model; errors name it."""
    # Only texts that are no question are being added.
    cure = AT_A_QUESTION if options.get("query", True) else WHILE_ADDING
    with raised_by(who, cure):
        return (yield ModelCall(who, model, method, arguments, options))


@dataclass(slots=True)
class _Outcome:
    """How the calls of one run went."""

    calls: int = 0
    failed: int = 0
    first: Failed | None = None
    # by id; the embedder is kept, so that no other gets its id
    widths: dict[int, tuple[Embedder, int]] = field(default_factory=dict)

    def of_one_width(self, plan: EmbeddingPlan) -> Array:
        """The vectors of a plan; InvalidAnswer if earlier ones had another width."""
        matrix = plan.result()
        width = int(matrix.shape[1])
        _, expected = self.widths.setdefault(id(plan.embedder), (plan.embedder, width))
        if width != expected:
            raise InvalidAnswer(
                f"The embedder {plan.name!r} returned vectors of {expected} dimensions, then of "
                f"{width}; one model must always return the same."
            )
        return matrix

    def note(self, answers: Sequence[Any]) -> None:
        """Count the answers of a job."""
        failures = [answer for answer in answers if isinstance(answer, Failed)]
        self.calls += len(answers)
        self.failed += len(failures)
        self.first = self.first or next(iter(failures), None)

    def warn(self) -> None:
        """Warn if there were calls and all failed."""
        if self.first is not None and self.failed == self.calls:
            warnings.warn(
                f"Every call of the language model failed, the first with "
                f"{str(self.first).removesuffix('.')}. What it "
                "should have given was made without it. Check the model and run again.",
                stacklevel=3,
            )


async def _all_or_none(coroutines: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Await all; where one raises, cancel the others and await their end."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
