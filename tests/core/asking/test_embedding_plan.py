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


def plan(
    request: Embed, cache: Cache | None = None, batch_size: int = 2
) -> EmbeddingPlan:
    return EmbeddingPlan(request, HashEmbedder(), cache, Usage(), batch_size)


def answered(planned: EmbeddingPlan) -> EmbeddingPlan:
    for batch in planned.batches():
        planned.take(batch, HashEmbedder().embed(batch))
    return planned


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
