"""Texts as requests: batches, counts, the cache, failures, and on an event loop the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder

from structrag.errors import InvalidAnswer, ModelFailed
from structrag.model_calls.cache import Cache
from structrag.model_calls.calls import check_tokens
from structrag.model_calls.naming import unnamed
from structrag.model_calls.requests import Embed, Score, TokenVectors
from structrag.model_calls.runner import Runner
from structrag.text.tokens import count_tokens

Drive = Callable[[Runner, Any], Any]


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param == "sync":
        return lambda runner, flow: runner.run(flow)
    return lambda runner, flow: asyncio.run(runner.arun(flow))


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


def test_each_text_is_scored_once_in_bounded_batches(drive: Drive) -> None:
    scorer, reports = Lengths(), []
    runner = Runner(batch_size=2, progress=lambda *report: reports.append(report))
    texts = ("a", "bb", "a", "ccc", "bb")
    answers = drive(
        runner, scores(Score("q", texts, scorer), Score("qq", ("a",), scorer))
    )
    assert answers == [[1 + len(text) / 3 for text in texts], [2 + 1 / 3]]
    assert scorer.batches == [("q", ["a", "bb"]), ("q", ["ccc"]), ("qq", ["a"])]
    assert runner.usage.scored == 4
    assert reports == [("scoring", 2, 3), ("scoring", 3, 3), ("scoring", 1, 1)]
    assert "; 4 texts scored; " in str(runner.usage)


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


async def test_on_an_event_loop_scorers_are_awaited_or_run_in_a_worker_thread() -> None:
    class Awaited(Lengths):
        async def ascore(self, query: str, texts: Sequence[str]) -> list[float]:
            await asyncio.sleep(0)
            return self.score(query, texts)

    local, awaited = Lengths(), Awaited()
    answers = await Runner().arun(
        scores(Score("q", ("a",), local), Score("q", ("a",), awaited))
    )
    assert answers[0] == answers[1] == [1 + 1 / 3]
    assert threading.get_ident() not in local.threads
    assert awaited.threads == {threading.get_ident()}


class Instant(HashEmbedder):
    instant = True


def embedded(embedder: Any, request: Embed, cache: Cache) -> Runner:
    runner = Runner(embedder=embedder, cache=cache, batch_size=2)
    runner.run(scores(request))
    return runner


def test_documents_are_kept_in_the_cache_and_queries_are_not() -> None:
    cache = Cache(":memory:")
    embedded(HashEmbedder(), Embed(("text", "a", "text")), cache)
    again = embedded(HashEmbedder(), Embed(("text", "other")), cache).usage
    assert (again.embedded, again.cache_hits) == (1, 1)
    assert again.embedding_tokens == count_tokens("other")
    for _ in range(2):
        query = embedded(HashEmbedder(), Embed(("text",), query=True), cache).usage
        assert (query.embedded, query.cache_hits) == (1, 0)


def test_what_is_instant_or_has_no_name_is_not_kept() -> None:
    cache, told = Cache(":memory:"), []
    runner = Runner(
        embedder=Instant(),
        cache=cache,
        batch_size=2,
        progress=lambda *x: told.append(x),
    )
    runner.run(scores(Embed(tuple("abcdef"))))
    assert told == [("embedding texts", 6, 6)]  # in one batch
    nameless = HashEmbedder(name=unnamed(object(), "lambda"))
    with pytest.warns(UserWarning, match="cache cannot keep"):
        embedded(nameless, Embed(("text",)), cache)
    assert len(cache) == 0


@pytest.mark.parametrize(
    ("spans", "values", "width", "message"),
    [
        ([[0, 1]], [[1.0, 2.0]], 2, None),
        ([[0, 2]], [[1.0, 2.0]], 2, None),
        ([[0, 3]], [[1.0, 2.0]], 2, "spans that are not in order or not inside"),
        ([[-1, 1]], [[1.0, 2.0]], 2, "spans that are not in order or not inside"),
        ([[0, 9]], [[1.0, 2.0]], 2, "spans that are not in order or not inside"),
        ([[0, 1]], [[1.0, np.nan]], 2, "NaN or infinite values"),
        ([[0, 1]], [[1.0, 2.0]], 3, r"1 ids, spans \(1, 2\) and vectors \(1, 2\)"),
    ],
)
def test_token_vectors_are_checked(
    spans: list[list[int]], values: list[list[float]], width: int, message: str | None
) -> None:
    tokens = TokenVectors(
        np.array([7]), np.array(spans), np.array(values), np.zeros(width)
    )
    if message is None:
        assert check_tokens([tokens], ["ab"], "model") == [tokens]
        return
    with pytest.raises(InvalidAnswer, match=f"The model returned {message} for"):
        check_tokens([tokens], ["ab"], "model")
