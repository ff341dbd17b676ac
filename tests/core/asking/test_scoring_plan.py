"""Scores as requests: batches, counts, the cache, failures, and on an event loop the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from structrag.asking.cache import Cache
from structrag.asking.requests import Score
from structrag.asking.runner import Runner
from structrag.errors import InvalidAnswer, ModelFailed

Drive = Callable[[Runner, Any], Any]


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param == "sync":
        return lambda runner, steps: runner.run(steps)
    return lambda runner, steps: asyncio.run(runner.arun(steps))


class Lengths:
    """Scores a text by its length and the query's; notes what it was asked, and where."""

    def __init__(self, name: str = "") -> None:
        if name:
            self.name = name
        self.batches: list[tuple[str, list[str]]] = []
        self.threads: set[int] = set()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.batches.append((query, list(texts)))
        self.threads.add(threading.get_ident())
        return [len(query) + len(text) / 3 for text in texts]


def scores(*requests: Score) -> Any:
    return (yield list(requests))


def test_no_text_asks_nothing(drive: Drive) -> None:
    scorer = Lengths("lengths")
    runner = Runner(cache=Cache(":memory:"))
    assert drive(runner, scores(Score("q", (), scorer))) == [[]]
    assert scorer.batches == []
    assert "scored" not in str(runner.usage)


def test_scores_of_a_named_scorer_are_kept_by_name_query_and_text(drive: Drive) -> None:
    cache = Cache(":memory:")
    texts = ("a", "bb")
    first = drive(Runner(cache=cache), scores(Score("q", texts, Lengths("one"))))
    same, other, nameless = Lengths("one"), Lengths("two"), Lengths()
    runner = Runner(cache=cache)
    assert drive(runner, scores(Score("q", (*texts, "c"), same)))[0][:2] == first[0]
    assert same.batches == [("q", ["c"])]
    assert (runner.usage.scored, runner.usage.cache_hits) == (1, 2)
    drive(runner, scores(Score("other", texts, same), Score("q", texts, other)))
    assert same.batches[1:] == [("other", ["a", "bb"])]
    assert other.batches == [("q", ["a", "bb"])]
    for _ in range(2):
        drive(runner, scores(Score("q", texts, nameless)))
    assert len(nameless.batches) == 2
    # Three texts of "q" and two of "other" for "one", two for "two".
    assert len(cache) == 7


@pytest.mark.parametrize(
    "bad", [[0.1], [float("nan")] * 2, ["x"] * 2, [[0.1]] * 2, [10**400] * 2, None]
)
def test_an_answer_that_cannot_be_used_is_refused_and_not_kept(
    drive: Drive, bad: Any
) -> None:
    class Bad:
        name = "bad"

        def score(self, query: str, texts: Sequence[str]) -> Any:
            return bad

    cache = Cache(":memory:")
    with pytest.raises(
        InvalidAnswer, match=r"The scorer 'bad' must give one .* of the 2 texts"
    ):
        drive(Runner(cache=cache), scores(Score("q", ("a", "b"), Bad())))
    assert len(cache) == 0


def test_a_scorer_that_raises_keeps_what_was_finished(drive: Drive) -> None:
    class Failing(Lengths):
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            if "b" in texts:
                raise OSError("out of memory")
            return super().score(query, texts)

    cache = Cache(":memory:")
    with pytest.raises(ModelFailed, match="out of memory"):
        drive(
            Runner(cache=cache, batch_size=1),
            scores(Score("q", ("a", "b"), Failing("f"))),
        )
    assert len(cache) == 1
