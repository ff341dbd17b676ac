"""Who is named for an exception: the caller's model or store, never our own code for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from structrag.errors import ModelFailed, TimedOut
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    Failed,
    Flow,
    Ranking,
    Request,
    Score,
    Search,
)
from structrag.model_calls.runner import Runner


class Down:
    """An embedder, scorer and route that raises; none of them has a call that is awaited."""

    name = "down"

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        raise OSError("no network")

    def score(self, query: str, texts: Any) -> Any:
        raise OSError("no network")

    def search(self, request: Search) -> Ranking:
        raise OSError("no network")


class Stops(Down):
    """Raises what generators and futures take for an end, as `next()` of a used-up answer does."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        raise StopIteration("no more answers")

    def score(self, query: str, texts: Any) -> Any:
        raise StopIteration("no more answers")

    def search(self, request: Search) -> Ranking:
        raise StopIteration("no more answers")


class Ours(Down):
    is_ours = True


def call_settings(request: Request) -> Flow[Any]:
    return (yield [request])


def asked(runner: Runner, request: Request, on_loop: bool) -> Any:
    return (
        asyncio.run(runner.arun(call_settings(request)))
        if on_loop
        else runner.run(call_settings(request))
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("Timed out."), "raised TimeoutError: Timed out. Fix the cause"),
        (TimeoutError(), "raised TimeoutError. Fix the cause"),
    ],
)
def test_the_message_ends_with_one_period(error: Exception, said: str) -> None:
    class Raising(Down):
        def embed(self, texts: Any, *, query: bool = False) -> Any:
            raise error

    with pytest.raises(ModelFailed) as failure:
        asked(Runner(embedder=Raising()), Embed(("text",), query=True), False)
    assert said in str(failure.value)


@pytest.mark.timeout(20)  # on a loop it was waited for without an end
@pytest.mark.parametrize("on_loop", [False, True])
@pytest.mark.parametrize(
    "request_",
    [Embed(("a",)), Score("q", ("a",), Stops()), Search("dense:raw", "q", None, 3)],
)
@pytest.mark.parametrize("timeout", [None, 10])
def test_an_iterator_at_its_end_is_a_failure_like_any(
    request_: Request, on_loop: bool, timeout: float | None
) -> None:
    runner = Runner(embedder=Stops(), routes={"dense:raw": Stops()}, timeout=timeout)
    with pytest.raises(ModelFailed, match="raised StopIteration: no more answers"):
        asked(runner, request_, on_loop)


@pytest.mark.parametrize("on_loop", [False, True])
def test_our_own_route_that_raises_is_nobody_elses_failure(on_loop: bool) -> None:
    runner = Runner(embedder=Down(), routes={"dense:raw": Ours()})
    with pytest.raises(OSError, match="no network"):
        asked(runner, Search("dense:raw", "q", None, 3), on_loop)


class Hangs:
    """Answers when it is let, as every kind of model; a prompt with "fast" at once."""

    name = "hangs"

    def __init__(self) -> None:
        self.let = threading.Event()
        self.choices = 0

    def complete(self, prompt: str) -> str:
        if "fast" not in prompt:
            self.let.wait(20)
        return f"answer to {prompt}"

    def choose_many(self, prompts: Any, options: Any) -> Any:
        self.choices += 1
        self.let.wait(20)
        return [1.0] * len(prompts)

    choose = complete

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        self.let.wait(20)
        return [[1.0]] * len(texts)

    def score(self, query: str, texts: Any) -> Any:
        self.let.wait(20)
        return [1.0] * len(texts)


class AwaitedHangs(Hangs):
    def __init__(self) -> None:
        super().__init__()
        self.cancelled: list[str] = []

    async def _wait(self, what: str) -> None:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            self.cancelled.append(what)
            raise

    async def acomplete(self, prompt: str) -> str:
        if "fast" not in prompt:
            await self._wait("complete")
        return f"answer to {prompt}"

    async def aembed(self, texts: Any, *, query: bool = False) -> Any:
        await self._wait("embed")


def several(*requests: Request) -> Flow[Any]:
    return (yield requests)


WAYS = [(Hangs, False), (Hangs, True), (AwaitedHangs, True)]


@pytest.mark.parametrize(("kind", "on_loop"), WAYS)
def test_a_call_that_hangs_has_failed_and_the_others_are_answered(
    kind: type[Hangs], on_loop: bool
) -> None:
    model = kind()
    runner = Runner(llm=model, timeout=0.2)
    flow = several(Ask("slow"), Ask("fast one"), Ask("fast two"))
    began = time.monotonic()
    failed, *others = asyncio.run(runner.arun(flow)) if on_loop else runner.run(flow)
    assert time.monotonic() - began < 10
    assert isinstance(failed, Failed) and isinstance(failed.reason, TimedOut)
    assert "The language model 'hangs' did not answer within timeout=0.2" in str(
        failed.reason
    )
    assert others == ["answer to fast one", "answer to fast two"]
    assert runner.usage.calls == 3
    assert getattr(model, "cancelled", ["complete"]) == ["complete"]
    model.let.set()


@pytest.mark.parametrize("on_loop", [False, True])
def test_choices_that_hang_together_are_not_asked_one_by_one(on_loop: bool) -> None:
    model = Hangs()
    flow = several(*(Choose(f"{n}?", ("yes", "no")) for n in range(5)))
    runner = Runner(llm=model, timeout=0.2)
    answers = asyncio.run(runner.arun(flow)) if on_loop else runner.run(flow)
    assert all(isinstance(answer.reason, TimedOut) for answer in answers)
    assert model.choices == 1
    model.let.set()


@pytest.mark.parametrize(("kind", "on_loop"), WAYS)
@pytest.mark.parametrize("what", ["embedder", "scorer"])
def test_an_embedder_or_scorer_that_hangs_is_named(
    what: str, kind: type[Hangs], on_loop: bool
) -> None:
    model = kind()
    request: Request = (
        Embed(("a",)) if what == "embedder" else Score("q", ("a",), model)
    )
    with pytest.raises(
        ModelFailed, match=rf"The {what} 'hangs' did not answer within timeout="
    ):
        asked(Runner(embedder=model, timeout=0.2), request, on_loop)
    model.let.set()


def test_a_thread_that_hangs_does_not_keep_the_process_from_ending() -> None:
    code = (
        "import time; from structrag.model_calls.calling import within; "
        "from structrag.errors import TimedOut\n"
        "try:\n    within(0.1, 'model', time.sleep, 60)\nexcept TimedOut:\n    "
        "print('timed out')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=40
    )
    assert done.stdout == "timed out\n"
