"""Texts to embed: each once, in batches, from the cache where they are documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.asking.cache import Cache
from structrag.asking.embedding_plan import (
    EmbeddingPlan,
    batches_of,
    check_tokens,
    check_vectors,
)
from structrag.asking.naming import unnamed
from structrag.asking.requests import Embed, TokenVectors, Usage
from structrag.errors import InvalidAnswer
from structrag.text.tokens import count_tokens


def plan(
    request: Embed, cache: Cache | None = None, batch_size: int = 2
) -> EmbeddingPlan:
    return EmbeddingPlan(request, HashEmbedder(), cache, Usage(), batch_size)


def answered(planned: EmbeddingPlan) -> EmbeddingPlan:
    for batch in planned.batches():
        planned.take(batch, HashEmbedder().embed(batch))
    return planned


def test_each_text_is_sent_once_the_longest_first() -> None:
    planned = plan(Embed(("a", "long text", "a", "text")))
    assert planned.batches() == [["long text", "text"], ["a"]]
    rows = answered(planned).result()
    assert np.array_equal(rows, HashEmbedder().embed(["a", "long text", "a", "text"]))
    assert (planned.usage.embedded, planned.done) == (3, 3)


def test_documents_are_kept_in_the_cache_and_queries_are_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    answered(plan(Embed(("text",)), cache))
    again = plan(Embed(("text", "other")), cache)
    assert again.missing == ["other"] and again.usage.cache_hits == 1
    answered(plan(Embed(("query",), query=True), cache))
    for query in (True, False):
        assert plan(Embed(("query",), query=query), cache).missing == ["query"]
    assert plan(Embed(("text",), query=True), cache).missing == ["text"]


def test_what_an_instant_embedder_makes_is_one_batch_and_not_kept(
    tmp_path: Path,
) -> None:
    class Instant(HashEmbedder):
        instant = True

    cache = Cache(tmp_path / "cache")
    request = Embed(tuple("abcdef"))
    for _ in range(2):
        planned = EmbeddingPlan(request, Instant(), cache, Usage(), 2)
        assert [len(batch) for batch in planned.batches()] == [6]
        for batch in planned.batches():
            planned.take(batch, HashEmbedder().embed(batch))


def test_numbers_that_no_float_holds_are_refused() -> None:
    with pytest.raises(InvalidAnswer, match="one vector of numbers a text; got list"):
        check_vectors([[10**400, 1]], ["a"], "model")


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
    with pytest.raises(
        InvalidAnswer, match=f"The token encoder 'model' returned {message} for"
    ):
        check_tokens([tokens], ["ab"], "model")


def test_there_is_one_answer_a_text() -> None:
    with pytest.raises(InvalidAnswer, match="must return 2 answers for 2 texts; got 0"):
        check_tokens([], ["a", "b"], "model")


@given(st.lists(st.text(max_size=3), max_size=9), st.integers(1, 5))
def test_batches_hold_the_texts_in_order_and_only_the_last_is_short(
    texts: list[str], size: int
) -> None:
    batches = batches_of(texts, size)
    assert [text for batch in batches for text in batch] == texts
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(0 < len(batch) <= size for batch in batches)


def test_usage_counts_texts_and_their_tokens_once_for_each_text() -> None:
    planned = answered(plan(Embed(("one two", "one two", "three")), batch_size=1))
    assert planned.usage.embedded == 2
    assert planned.usage.embedding_tokens == count_tokens("one two") + count_tokens(
        "three"
    )
    assert planned.usage.cache_hits == 0


def test_an_embedder_without_a_name_keeps_nothing(tmp_path: Path) -> None:
    embedder = HashEmbedder(name=unnamed(object(), "lambda"))
    cache, request = Cache(tmp_path / "cache"), Embed(("text",))
    answered(EmbeddingPlan(request, embedder, cache, Usage(), 2))
    assert EmbeddingPlan(request, embedder, cache, Usage(), 2).missing == ["text"]


def test_models_of_one_name_and_different_widths_are_told_apart() -> None:
    planned = plan(Embed(("a", "b")), batch_size=1)
    planned.take(["a"], [[1.0, 2.0]])
    planned.take(["b"], [[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidAnswer, match=r"different dimensions \[2, 3\]"):
        planned.result()


@examples
def test_vectors_are_one_row_a_text(answer: object, shape: str) -> None:
    message = f"must return 2 vectors for 2 texts; got shape {shape}"
    with pytest.raises(InvalidAnswer, match=message):
        check_vectors(answer, ["a", "b"], "model")


def test_vectors_may_have_one_dimension() -> None:
    assert check_vectors([[1], [2]], ["a", "b"], "model").tolist() == [[1.0], [2.0]]


def test_the_first_text_without_a_vector_of_numbers_is_shown_by_sixty_characters() -> (
    None
):
    texts = ["fine", "y" * 60 + "z", "later"]
    answer = [[1.0, 2.0], [1.0, np.inf], [np.nan, np.nan]]
    with pytest.raises(InvalidAnswer, match=f"for the text '{'y' * 60}'"):
        check_vectors(answer, texts, "model")


def tokens_of(spans: list[list[int]]) -> TokenVectors:
    """Tokens with the vectors of a model of two dimensions."""
    n = len(spans)
    return TokenVectors(
        np.arange(n), np.array(spans).reshape(n, 2), np.ones((n, 2)), np.ones(2)
    )


@examples
def test_tokens_stand_in_order_inside_their_text(
    spans: list[list[int]], fits: bool
) -> None:
    answer = [tokens_of(spans)]
    if fits:
        assert check_tokens(answer, ["ab"], "model") == answer
        return
    with pytest.raises(InvalidAnswer, match="not in order or not inside"):
        check_tokens(answer, ["ab"], "model")


def test_the_vector_of_a_text_without_tokens_must_be_of_numbers() -> None:
    none = TokenVectors(
        np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2)), np.array([1.0, np.nan])
    )
    with pytest.raises(
        InvalidAnswer, match=f"NaN or infinite values for the text '{'x' * 60}'"
    ):
        check_tokens([none], ["x" * 61], "model")
