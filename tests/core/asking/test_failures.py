"""Who is named for an exception: the caller's model or store, never our own code for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doubles import HashEmbedder

from structrag.asking.failures import raised_by
from structrag.asking.requests import Embed, Ranking, Request, Score, Search, Steps
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter, ModelFailed


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


def asking(request: Request) -> Steps[Any]:
    return (yield [request])


def asked(runner: Runner, request: Request, on_loop: bool) -> Any:
    return asyncio.run(runner.arun(asking(request))) if on_loop else runner.run(asking(request))


@pytest.mark.parametrize("on_loop", [False, True])
@pytest.mark.parametrize(
    ("request_", "who"),
    [
        (Embed(("a",)), "embedder 'down'"),
        (Score("q", ("a",), Down()), "scorer 'down'"),
        (Search("dense:raw", "q", None, 3), "route Down"),
    ],
)
def test_a_callers_object_that_raises_is_named(request_: Request, who: str, on_loop: bool) -> None:
    runner = Runner(embedder=Down(), routes={"dense:raw": Down()})
    with pytest.raises(ModelFailed, match=f"The {who} raised OSError: no network") as failure:
        asked(runner, request_, on_loop)
    assert isinstance(failure.value.__cause__, OSError)


@pytest.mark.timeout(20)  # on a loop it was waited for without an end
@pytest.mark.parametrize("on_loop", [False, True])
@pytest.mark.parametrize(
    "request_", [Embed(("a",)), Score("q", ("a",), Stops()), Search("dense:raw", "q", None, 3)]
)
def test_an_iterator_at_its_end_is_a_failure_like_any(request_: Request, on_loop: bool) -> None:
    runner = Runner(embedder=Stops(), routes={"dense:raw": Stops()})
    with pytest.raises(ModelFailed, match="raised StopIteration: no more answers"):
        asked(runner, request_, on_loop)


@pytest.mark.parametrize("on_loop", [False, True])
def test_our_own_route_that_raises_is_nobody_elses_failure(on_loop: bool) -> None:
    runner = Runner(embedder=Down(), routes={"dense:raw": Ours()})
    with pytest.raises(OSError, match="no network"):
        asked(runner, Search("dense:raw", "q", None, 3), on_loop)


@pytest.mark.parametrize("on_loop", [False, True])
@pytest.mark.parametrize("place", ["take", "_plan"])
def test_an_error_of_ours_beside_the_call_is_bare(
    place: str, on_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError("a bug")

    owner = {"take": "embedding_plan.EmbeddingPlan.take", "_plan": "runner.Runner._plan"}[place]
    monkeypatch.setattr(f"structrag.asking.{owner}", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        asked(Runner(embedder=HashEmbedder()), Embed(("a",)), on_loop)


def test_errors_on_purpose_pass_as_they_are() -> None:
    with pytest.raises(InvalidParameter, match="as it is"), raised_by("embedder 'x'"):
        raise InvalidParameter("as it is")
