"""The runner answers what algorithms ask, on an event loop or without. A dry run counts what they
would ask, without asking."""

from __future__ import annotations

import asyncio
import contextvars
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from structrag._locks import Lock
from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    NoModel,
    said_once,
    warn_user,
)
from structrag.model_calls.cache import Cache
from structrag.model_calls.calling import (
    AT_A_QUESTION,
    Calls,
    ModelCall,
    acall_models,
    call_models,
    raised_by,
)
from structrag.model_calls.calls import (
    CALLS,
    WORKS,
    Call,
    TextWork,
    VectorWork,
    ask_models,
    jobs_of,
)
from structrag.model_calls.naming import has_name
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    Embedder,
    EmbedTokens,
    Failed,
    Flow,
    LanguageModel,
    Request,
    Route,
    Score,
    Search,
    T,
    adrive,
    drive,
    in_thread,
    map_requests,
)
from structrag.model_calls.settings import (
    CallOptions,
    CallSettings,
    as_cache,
    check_call_options,
)
from structrag.model_calls.usage import CallTokens, Usage, tokens_of
from structrag.text.tokens import count_tokens, without_surrogates

if TYPE_CHECKING:
    from typing_extensions import Unpack


# what `progress` is told
ASKING = "asking the language model"


Gates = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]


class Runner:
    """Answers the requests of algorithms with the models it was given.

    Args:
        llm: Answers `Ask` that names no model itself (and `Choose`, if it has `choose`); None:
            those are answered by `Failed`.
        embedder: Answers `Embed` that names no model itself.
        routes: Name -> route, answers `Search`.
        options: The settings of `CallSettings`: cache, batch_size, max_concurrency (of each `run`,
            and of all `arun` on one event loop together), max_calls, progress, timeout.
    """

    def __init__(
        self,
        *,
        llm: LanguageModel | None = None,
        embedder: Embedder | None = None,
        routes: Mapping[str, Route] | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        self.llm = llm
        self.embedder = embedder
        self.routes: dict[str, Route] = dict(routes or {})
        check_call_options(options, Runner)
        self.call_settings: CallSettings = CallSettings(**options)
        self.cache: Cache | None = as_cache(self.call_settings.cache)
        self.usage: Usage = Usage()
        self._warn_of_unnamed()
        self.said: set[str] = set()  # in warnings
        self._granted = 0  # calls that were begun, of `max_calls`
        self._lock = Lock()  # of the counts
        self._gates: Gates = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without what belongs to the event loops of this process."""
        return {name: value for name, value in vars(self).items() if name != "_gates"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._gates = WeakKeyDictionary()

    def _warn_of_unnamed(self) -> None:
        """Say which model's answers will not be in the cache."""
        models = {"llm": self.llm, "embedder": self.embedder}
        for parameter, model in models.items():
            if (
                self.cache is not None
                and model is not None
                and not has_name(model.name)
            ):
                warn_user(
                    f"cache cannot keep answers of the {parameter} "
                    f"{model.name.partition('#')[0]!r}: it holds a function or an object without "
                    "a stable identity. Wrap it in a class that takes name=..., such as "
                    "FunctionModel, FunctionEmbedder or those of the adapters.",
                )

    def run(self, flow: Flow[T]) -> T:
        """Drive an algorithm to its result. Warns if the language model was called and every call
        failed."""
        outcome = _Outcome()
        try:
            with said_once(self.said):
                result = drive(flow, lambda requests: self._answer(requests, outcome))
        finally:
            flow.close()
        outcome.warn()
        return result

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop. Models and routes are awaited, or called in worker threads. The
        algorithm itself runs in worker threads."""
        outcome = _Outcome()
        try:
            with said_once(self.said):
                result = await adrive(
                    flow, lambda requests: self._aanswer(requests, outcome)
                )
        finally:
            flow.close()
        outcome.warn()
        return result

    def _answer(self, requests: Sequence[Request], outcome: _Outcome) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        calls = self._calls(requests, answers)
        granted = self._grant(calls)
        if granted:
            jobs = jobs_of(granted, self.call_settings.batch_size)
            pool = ThreadPoolExecutor(
                min(self.call_settings.max_concurrency, len(jobs))
            )
            done = 0
            try:
                futures = [
                    pool.submit(
                        contextvars.copy_context().run,
                        call_models,
                        self._asking(job),
                        self.call_settings.timeout,
                    )
                    for job in jobs
                ]
                for job, future in zip(jobs, futures, strict=True):
                    done += self._note(job, future.result(), answers, outcome)
                    self._report(ASKING, done, len(calls))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        self._check_budget(granted, calls)
        for i, request in enumerate(requests):
            if isinstance(request, Search):
                answers[i] = call_models(self._searching(request), None)
            elif type(request) in WORKS:
                of_models = self._working(request, outcome)
                answers[i] = call_models(of_models, self.call_settings.timeout)
        return answers

    async def _aanswer(
        self, requests: Sequence[Request], outcome: _Outcome
    ) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        calls = self._calls(requests, answers)
        granted = self._grant(calls)
        gate = self._gates.setdefault(
            asyncio.get_running_loop(),
            asyncio.Semaphore(self.call_settings.max_concurrency),
        )
        done = 0

        async def ask(job: list[Call]) -> None:
            nonlocal done
            async with gate:
                of_calls = await acall_models(
                    self._asking(job), self.call_settings.timeout
                )
            done += self._note(job, of_calls, answers, outcome)
            self._report(ASKING, done, len(calls))

        await _all_or_none(
            [ask(job) for job in jobs_of(granted, self.call_settings.batch_size)]
        )
        self._check_budget(granted, calls)

        async def search(i: int, request: Search) -> None:
            answers[i] = await acall_models(self._searching(request), None)

        await _all_or_none(
            [search(i, r) for i, r in enumerate(requests) if isinstance(r, Search)]
        )
        for i, request in enumerate(requests):
            if type(request) in WORKS:
                of_models = await in_thread(self._working, request, outcome)
                answers[i] = await acall_models(of_models, self.call_settings.timeout)
        return answers

    def _searching(self, request: Search) -> Calls[Any]:
        """The call of a route. Errors name the caller's, and pass unchanged from ours."""
        route = request.searcher or self.routes.get(request.route)
        if route is None:
            raise InvalidParameter(
                f"routes must hold every route that is searched: one of {sorted(self.routes)}; got "
                f"{request.route!r}."
            )
        name = getattr(route, "label", f"route {type(route).__name__}")
        is_ours = getattr(route, "is_ours", False)
        if not is_ours:
            request = replace(request, query=without_surrogates(request.query))
        with nullcontext() if is_ours else raised_by(name, AT_A_QUESTION):
            return (yield ModelCall(name, route, "search", (request,)))

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
            call = CALLS[type(request)](request, self.llm)
            held = None if call.unasked else call.cached(self.cache)
            if call.unasked:
                answers[i] = call.unasked
            elif held is not None:
                (answers[i],) = held
                self.usage.cache_hits += 1
            else:
                key = call.key if request.use_cache else i
                calls.setdefault(key, call).positions.append(i)
        return list(calls.values())

    def _note(
        self,
        job: list[Call],
        of_calls: Sequence[Any],
        answers: list[Any],
        outcome: _Outcome,
    ) -> int:
        """Put the answers of a job where its requests stand; how many there are."""
        for call, answer in zip(job, of_calls, strict=True):
            for position in call.positions:
                answers[position] = answer
        outcome.note(of_calls)
        return len(job)

    def _grant(self, calls: list[Call]) -> list[Call]:
        """The calls that `max_calls` allows, the first ones."""
        with self._lock:
            granted = calls
            if self.call_settings.max_calls is not None:
                # Never below 0: no more are granted than are left.
                left = int(self.call_settings.max_calls) - self._granted
                granted = calls[:left]
            self._granted += len(granted)
        return granted

    def _check_budget(self, granted: list[Call], calls: list[Call]) -> None:
        if len(granted) < len(calls):
            raise BudgetExceeded(
                f"The run needs more than max_calls={self.call_settings.max_calls} calls of the "
                "language model. "
                "Finished calls are in the cache (if cache= was given): run again with a higher "
                "max_calls and they are not repeated."
            )

    def _asking(self, job: list[Call]) -> Calls[list[Any]]:
        answers = yield from ask_models(job)
        return [self._finished(*pair) for pair in zip(job, answers, strict=True)]

    def _finished(self, call: Call, answer: Any) -> Any:
        """The answer counted, checked and kept; Failed if it is none."""
        tokens = CallTokens(0, 0)
        if not isinstance(answer, Failed):
            whole, answer = answer, call.checked(answer)
            is_cut_off = isinstance(answer, Failed)
            tokens = tokens_of(call.request.prompt, whole if is_cut_off else answer)
        with self._lock:
            self.usage.calls += 1
            self.usage.failed += isinstance(answer, Failed)
            self.usage.prompt_tokens += tokens.prompt
            self.usage.answer_tokens += tokens.answer
        call.keep(self.cache, answer)
        return answer

    # -- embedders and scorers

    def _working(self, request: Any, outcome: _Outcome) -> Calls[Any]:
        """The calls that answer a request of texts. This may take long, and the calls do not: the
        cache is read here, and an embedder made."""
        model = self._model_of(request)
        size = self.call_settings.batch_size
        work = WORKS[type(request)](request, model, self.cache, self.usage, size)
        return self._worked(work, outcome)

    def _worked(self, work: TextWork, outcome: _Outcome) -> Calls[Any]:
        answer = yield from work.calls(self._report)
        if isinstance(work, VectorWork) and len(answer):
            outcome.check_width(work, int(answer.shape[1]))
        return answer

    def _model_of(self, request: Embed | EmbedTokens | Score) -> Any:
        """The request's model, or the runner's."""
        if isinstance(request, Score):
            return request.scorer
        if isinstance(request, EmbedTokens):
            return request.encoder
        embedder = self.embedder if request.embedder is None else request.embedder
        if embedder is None and request.texts:
            raise NoModel("There is no embedder; pass one as embedder=...")
        return embedder

    def _report(self, what: str, done: int, total: int) -> None:
        if callable(self.call_settings.progress):
            self.call_settings.progress(what, done, total)


@dataclass(slots=True)
class _Outcome:
    """How the calls of one run went."""

    calls: int = 0
    failed: int = 0
    first: Failed | None = None
    # by id; the embedder is kept, so that no other gets its id
    widths: dict[int, tuple[Embedder, int]] = field(default_factory=dict)

    def check_width(self, work: VectorWork, width: int) -> None:
        """InvalidAnswer if earlier vectors of the embedder had another width."""
        _, expected = self.widths.setdefault(id(work.model), (work.model, width))
        if width != expected:
            raise InvalidAnswer(
                f"The {work.who} returned vectors of {expected} dimensions, then of "
                f"{width}; one model must always return the same."
            )

    def note(self, answers: Sequence[Any]) -> None:
        """Count the answers of a job."""
        failures = [answer for answer in answers if isinstance(answer, Failed)]
        self.calls += len(answers)
        self.failed += len(failures)
        self.first = self.first or next(iter(failures), None)

    def warn(self) -> None:
        """Warn if there were calls and all failed."""
        if self.first is not None and self.failed == self.calls:
            warn_user(
                "Every call of the language model failed; the first error was: "
                f"{str(self.first).removesuffix('.')}. Fallbacks were used instead. "
                "Check the model and run again.",
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


StandIn = Callable[[Ask | Choose, int], Any]


class DryRun:
    """Runs steps with nobody asked: requests are counted, and answered by stand-ins.

    Example:
        >>> from structrag import FunctionModel
        >>> def one_question():
        ...     return (yield [Ask("one"), Ask("two"), Ask("one")])
        >>> run = DryRun(Runner(llm=FunctionModel(str.upper, name="upper")))
        >>> run.run(one_question())
        ['', '', '']
        >>> run.stages[""].calls
        2

    What the runner's cache holds is answered by it and counted as a cache hit. Equal requests count
    once. Texts have equal vectors, scores are 0, searches find nothing.

    Args:
        runner: Whose models would be asked. A request that none of them can answer fails, as it
            would.
        stand_in: What a model is taken to answer to a request, given with the number of different
            requests so far. Default: "" to a prompt, 0 to a choice.
        stage_of: The stage that a request is counted for. Default: "" for all.

    Attributes:
        stages: Stage -> what would be spent; answers have no tokens.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        stand_in: StandIn | None = None,
        stage_of: Callable[[Request], str] = lambda request: "",
    ) -> None:
        self.runner = runner
        self.stand_in: StandIn = stand_in or _nothing
        self.stage_of = stage_of
        self.stages: defaultdict[str, Usage] = defaultdict(Usage)
        self._counted: set[tuple[object, ...]] = set()

    def forget(self) -> None:
        """Count equal requests again, unless a cache would keep their answers."""
        if self.runner.cache is None:
            self._counted.clear()

    def run(
        self,
        flow: Flow[T],
        *,
        embedded: Callable[[Flow[T]], Flow[T]] = lambda flow: flow,
    ) -> T:
        """The result of the steps. `embedded` may answer their texts, once they are counted."""
        flow = embedded(map_requests(flow, self._count_embed))
        with said_once(self.runner.said):
            return drive(flow, lambda requests: list(map(self._answer, requests)))

    def count_texts(self, stage: str, texts: Sequence[str], embedder: Embedder) -> None:
        """Count texts to embed, less those counted before or cached."""
        self._count(stage, Embed(tuple(texts)), embedder, "embed", embedder.name)

    def _count(self, stage: str, request: Any, model: Any, *kind: object) -> None:
        new = [
            t for t in dict.fromkeys(request.texts) if (*kind, t) not in self._counted
        ]
        self._counted.update((*kind, text) for text in new)
        request = replace(request, texts=tuple(new))
        usage, cache = self.stages[stage], self.runner.cache
        work = WORKS[type(request)](request, model, cache, usage, 1)
        work.count(work.missing)

    def _count_embed(self, request: Request) -> Request:
        """Count texts for their model; pass them on with none named."""
        if not isinstance(request, Embed):
            return request
        embedder = self.runner.embedder
        model: Any = embedder if request.embedder is None else request.embedder
        # Instant models cost too little to count.
        if model is not None and not getattr(model, "instant", False):
            self.count_texts(self.stage_of(request), request.texts, model)
        return replace(request, embedder=None)

    def _answer(self, request: Request) -> Any:
        if isinstance(request, Ask | Choose):
            return self._answer_call(request)
        if isinstance(request, Embed):
            return np.full((len(request.texts), 4), 0.5, dtype=np.float32)
        if isinstance(request, Score):
            scorer = getattr(request.scorer, "name", "") or id(request.scorer)
            kind = ("score", scorer, request.query)
            self._count(self.stage_of(request), request, request.scorer, *kind)
            return [0.0] * len(request.texts)
        return []

    def _answer_call(self, request: Ask | Choose) -> Any:
        call = CALLS[type(request)](request, self.runner.llm)
        if call.unasked is not None:
            return call.unasked
        usage = self.stages[self.stage_of(request)]
        held = call.cached(self.runner.cache)
        if held is not None:
            usage.cache_hits += 1
            return held[0]
        if not request.use_cache or ("ask", call.key) not in self._counted:
            self._counted.add(("ask", call.key))
            usage.calls += 1
            usage.prompt_tokens += count_tokens(request.prompt)
        return self.stand_in(request, len(self._counted))


def _nothing(request: Ask | Choose, number: int) -> Any:
    return 0.0 if isinstance(request, Choose) else ""
