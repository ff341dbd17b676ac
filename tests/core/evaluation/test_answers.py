"""Hits@k, token F1."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.evaluation import (
    answer_tokens,
    has_answer,
    hits_at_k,
    normalize_answer,
    token_f1,
)

WORDS = st.sampled_from(
    [
        "Paris",
        "the",
        "Eiffel",
        "tower",
        "a",
        "3.50",
        "résumé",
        "手机",
        "हिन्दी",
        ",",
        "U.S.",
        "",
    ]
)
PHRASES = st.lists(WORDS, max_size=5).map(" ".join)


def test_tokens_keep_marks() -> None:
    assert answer_tokens("Re\u0301sume\u0301, हिन्दी 1,234") == [
        "résumé",
        "हिन्दी",
        "1",
        "234",
    ]
    assert answer_tokens("résumé", strip_marks=True) == ["resume"]
    assert answer_tokens("Straße Ⅳ") == ["strasse", "iv"]


@examples
def test_has_answer(text, alias, expected) -> None:
    assert has_answer([alias], text) is expected


def test_strip_marks_folds_both_sides() -> None:
    assert has_answer(["Beyonce"], "Beyoncé sang", strip_marks=True)
    assert has_answer(["Beyoncé"], "Beyonce sang", strip_marks=True)


def test_hits_at_k() -> None:
    chunks = ["nothing here", "the Eiffel", "Tower in Paris"]
    assert hits_at_k(["eiffel tower"], chunks, 3) == 0  # never across a border
    assert hits_at_k(["paris", "Lutetia"], chunks, 3) == 1
    assert hits_at_k(["paris", "Lutetia"], chunks, 2) == 0
    assert hits_at_k(["paris"], [], 5) == 0
    assert hits_at_k(["--", ""], chunks, 3) is None
    assert hits_at_k([], chunks, 3) is None
    with pytest.raises(
        InvalidParameter, match="k must be a number of at least 1; got 0"
    ):
        hits_at_k(["paris"], chunks, 0)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_answer_inside_words_of_its_own_is_found(left, alias) -> None:
    assert has_answer([alias], f"{left} {alias} end") is bool(answer_tokens(alias))


@examples
def test_normalize_answer(text, expected) -> None:
    assert normalize_answer(text) == expected


def test_token_f1() -> None:
    assert token_f1(["eiffel tower"], "eiffel tower paris") == pytest.approx(0.80)
    assert token_f1(["nothing", "eiffel tower"], "eiffel tower paris") == pytest.approx(
        0.80
    )
    assert token_f1(["no"], "no no yes") == pytest.approx(
        0.5
    )  # a bag: the second "no" is unmatched
    assert token_f1(["Unanswerable"], "unanswerable") == 1
    assert token_f1(["", "a"], "") == 0
    assert token_f1([], "x") is None


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=3))
def test_f1_of_a_reference_itself_is_full(prediction, references) -> None:
    f1 = token_f1([*references, prediction], prediction)
    assert f1 == (1 if normalize_answer(prediction) else 0)
    assert 0 <= token_f1(references, prediction) <= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: has_answer("text", ["alias"]),
        lambda: hits_at_k("text", ["alias"], 1),
        lambda: token_f1("prediction", ["reference"]),
    ],
)
def test_gold_comes_first(call) -> None:
    with pytest.raises(
        InvalidParameter, match=r"got (the|a) string.* The gold comes first"
    ):
        call()
