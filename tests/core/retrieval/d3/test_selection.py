"""Settings of a selection: what is refused, and the preset of the paper."""

from __future__ import annotations

from typing import Any

import pytest
from d3_making import QUESTION, TEXTS, selected
from doubles import HashEmbedder

from structrag.errors import InvalidParameter
from structrag.retrieval.d3.selection import (
    Selection,
)


class Scorer:
    def score(self, query: str, texts: list[str]) -> list[float]:
        return [0.0] * len(texts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "best"}, "strategy must be one of .*'hierbase'.*; got 'best'"),
        ({"strategy": "base+"}, "strategy must be one of .*; got ''"),
        ({"strategy": "auto+lexical"}, "strategy must be one of .*; got 'auto'"),
        (
            {"strategy": "monot5"},
            "monot5 must be passed with strategy 'monot5'; got None",
        ),
        (
            {"strategy": "base+cross_encoder"},
            "cross_encoder must be passed with strategy 'base.cross_encoder'",
        ),
        ({"k": 0}, "k must be a number of at least 1; got 0"),
        ({"chain_k": 0}, "chain_k must be"),
        ({"context_tokens": 0}, "context_tokens must be"),
        ({"answer_tokens": -1}, "answer_tokens must be"),
        ({"short_tokens": -1}, "short_tokens must be"),
        (
            {"threshold": 1.5},
            "threshold must be a share of the best score, from 0 to 1; got 1.5",
        ),
        ({"threshold": -0.1}, "threshold must be a number of at least 0"),
        ({"prompt": "{paragraphs}"}, "prompt must contain {paragraphs} and {question}"),
        ({"prompt": "{question} {paragraphs} {x}"}, "prompt must be a template"),
        ({"monot5": 3}, "monot5 must be a MonoT5"),
        ({"cross_encoder": object()}, "cross_encoder must be a CrossEncoder"),
        (
            {"summariser": object()},
            "summariser must be None, a function .*LangChainModel",
        ),
    ],
)
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Selection(**changes)


def test_chains_may_have_spaces() -> None:
    selection = Selection(strategy="base + monot5", monot5=Scorer())
    assert selection.stages == ("base", "monot5")


def test_scores_are_those_of_the_models() -> None:
    assert selected("monot5", k=2).scores == (-0.5, -0.5)
    assert selected("cross_encoder", k=2).scores == (0.5, 0.5)
    embedder = HashEmbedder()
    expected = [
        float(embedder.vector(f"Guide > Animals\n{text}") @ embedder.vector(QUESTION))
        for text in TEXTS
    ]
    assert selected("dense", k=5).scores == pytest.approx(expected, abs=1e-6)


def test_a_match_in_the_path_alone_is_found_lexically() -> None:
    assert selected(
        "lexical", ["Water is wet.", "Pumps move it."], context="What cats eat"
    ).positions == (0, 1)
    assert selected("lexical", ["Water is wet.", "Pumps move it."]).positions == ()
