"""Margins by mutual information: against the likelihoods of a tiny model, and in a splitter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder

from structrag import IDMSSplitter, read_text
from structrag.asking.naming import setting_name
from structrag.errors import InvalidParameter
from structrag.models.information_margin import InformationMargin
from structrag.models.margins import squash


class Words:
    """A model for which a word is likelier where it was said before."""

    name = "words"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def score(
        self, prompt: str, continuations: Sequence[str], *, chat: bool
    ) -> list[float]:
        assert not chat
        self.prompts.append(prompt)
        said = set(prompt.casefold().split())
        return [
            -sum(1.0 if word.casefold() in said else 2.0 for word in text.split())
            for text in continuations
        ]


def test_a_margin_is_the_gain_a_token() -> None:
    margin = InformationMargin(Words())
    pairs = [
        ("cats eat fish", "cats eat mice"),
        ("rain falls", "pumps leak"),
        ("", "a"),
        ("a", ""),
    ]
    expected = [math.tanh(2 / 3), 0.0, None, None]
    for value, right in zip(margin(pairs), expected, strict=True):
        assert value == (None if right is None else pytest.approx(right))
    assert margin([]) == []


def test_only_the_end_of_what_stands_before_is_read() -> None:
    model = Words()
    InformationMargin(model, before_tokens=10)([("word " * 1000 + "the end", "then")])
    assert (
        model.prompts[-1].endswith("the end")
        and 0 < len(model.prompts[-1].split()) <= 10
    )
    InformationMargin(model, before_tokens=2)([("x" * 5000, "then")])
    assert model.prompts[-1] == "x" * 16  # eight characters a token


@pytest.mark.parametrize("context", ["adjacent", "window:2", "chunk"])
def test_a_splitter_cuts_where_the_next_sentence_is_news(context: str) -> None:
    text = (
        "Cats eat fish. Cats eat mice. Cats eat fish. Pumps move water. Pumps move oil."
    )
    margin = InformationMargin(Words())
    splitter = IDMSSplitter(
        margin=margin, context=context, min_tokens=0, merge="none", warmup=1
    )
    chunks = splitter.split(read_text(text))
    assert "".join(chunk.text for chunk in chunks) == text
    assert any(chunk.text.startswith("Pumps move water.") for chunk in chunks)
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"function"}
    assert setting_name(splitter) != setting_name(
        IDMSSplitter(margin=InformationMargin(Words(), 9))
    )


def test_with_vectors_the_margin_is_the_mean_of_both() -> None:
    text = "Cats eat fish. Cats eat mice. Pumps move water. Pumps move oil. Rain falls."

    def margins(margin: Any) -> Any:
        splitter = IDMSSplitter(margin=margin, context="window:2")
        (series,) = splitter.explain(read_text(text), embedder=HashEmbedder()).series
        return np.array(series.values[1:])

    alone, vectors = margins(InformationMargin(Words())), margins("similarity")
    both = margins(InformationMargin(Words(), with_vectors=True))
    assert both == pytest.approx((squash(alone) + vectors) / 2)
    names = {
        InformationMargin(Words(), with_vectors=choice).name for choice in (True, False)
    }
    assert len(names) == 2
    with pytest.raises(InvalidParameter, match="with_vectors"):
        IDMSSplitter(
            margin=InformationMargin(Words(), with_vectors=True), context="chunk"
        )


def test_the_likelihoods_of_a_model_of_transformers() -> None:
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    from small_models import small_causal_model, small_tokenizer

    from structrag.models import TransformersModel

    model = TransformersModel(small_causal_model(), small_tokenizer())
    (value,) = InformationMargin(model)([("cats eat", "dogs sleep .")])
    behind, plain = (
        model.score(p, ["dogs sleep ."], chat=False)[0] for p in ("cats eat", "")
    )
    assert value == pytest.approx(math.tanh((behind - plain) / 3), abs=1e-6)


@pytest.mark.parametrize("bad", [None, "gpt", object()])
def test_what_gives_no_likelihoods_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidParameter, match="model must give likelihoods"):
        InformationMargin(bad)


@pytest.mark.parametrize(
    ("before", "read"),
    [
        ("a b c d", "a b c d"),
        (" a b c d\n", "a b c d"),
        ("a b c d e", "c d e"),  # a quarter is left out, and the word that it ends in
        ("aa bb cc dd ee", "cc dd ee"),
        ("abcdefg h i j k", "h i j k"),
    ],
)
def test_a_passage_of_exactly_the_limit_is_read_whole(before: str, read: str) -> None:
    model = Words()
    InformationMargin(model, before_tokens=4)([(before, "then")])
    assert model.prompts == ["", read]


def test_what_follows_is_weighed_by_itself_once() -> None:
    model = Words()
    margin = InformationMargin(model)
    first, second, third = margin([("a", "b c"), ("b", " b c "), ("b c", "b c")])
    assert (first, second, third) == (0.0, math.tanh(0.5), math.tanh(1))
    assert model.prompts == ["", "a", "b", "b c"]


def test_a_text_that_the_model_counts_no_tokens_of_is_one() -> None:
    class Uncounted(Words):
        def count_tokens(self, text: str) -> int:
            return 0

    (value,) = InformationMargin(Uncounted())([("cats eat", "cats eat")])
    assert value == pytest.approx(math.tanh(2))


def test_a_likelihood_that_is_no_number_gives_no_margin() -> None:
    class Impossible(Words):
        def score(
            self, prompt: str, continuations: Sequence[str], *, chat: bool
        ) -> list[float]:
            return [-math.inf for _ in continuations]

    assert InformationMargin(Impossible())([("a", "b")]) == [None]


def test_its_name_is_the_models_with_what_it_reads() -> None:
    assert InformationMargin(Words()).name == "information|words|256"
    assert InformationMargin(Words(), 1, "mine").name == "mine"
    assert InformationMargin(Words(), 1, with_vectors=True).name == (
        "information|words|1|with vectors"
    )
    with pytest.raises(InvalidParameter, match="before_tokens must be"):
        InformationMargin(Words(), 0)


def test_a_word_of_more_tokens_than_the_limit_loses_its_beginning() -> None:
    class Letters(Words):
        def count_tokens(self, text: str) -> int:
            return len(text)

    model = Letters()
    InformationMargin(model, before_tokens=1)([("abc", "then")])
    assert model.prompts == ["", "c"]
