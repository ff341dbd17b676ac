"""Count what a flow would ask of models, without asking them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structrag.model_calls.calls import CALLS, WORKS
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    Embedder,
    Flow,
    Request,
    Score,
    T,
    drive,
    map_requests,
)
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import Usage
from structrag.text.tokens import count_tokens

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
        return drive(
            flow, lambda requests: [self._answer(request) for request in requests]
        )

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
