"""The benchmarks of two hops and of Chroma's protocol, on a few paragraphs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import evidence_chroma, hops
from benchmarks.question_sets import Dataset, Question
from structrag import read_text
from structrag.text.tokens import count_tokens
from tests.doubles import HashTokens

TEXTS = {
    "lantern": "The film The Lantern was shot by the crew of Ada Holm.",
    "holm": "Ada Holm grew up in a harbour town.",
    "tulips": "Tulips grow well in sandy soil and need little water.",
}
GOLD = tuple((name, 0, len(TEXTS[name])) for name in ("lantern", "holm"))
ASKED = Question(
    "q", "Where did the maker of The Lantern grow up?", ("town",), GOLD, any=False
)


@pytest.fixture
def dataset() -> Dataset:
    documents = tuple(read_text(text, id=name) for name, text in TEXTS.items())
    return Dataset("hotpotqa", documents, (ASKED,))


@pytest.fixture
def encoder() -> HashTokens:
    encoder = HashTokens()
    encoder.max_tokens = 256
    return encoder


def test_every_bridge_is_measured(dataset: Dataset, encoder: HashTokens) -> None:
    searching = hops.retrievers(dataset, encoder, count_tokens)
    values = hops.measured(dataset, searching, count_tokens)
    assert set(values) == {hops.FIXED, hops.EVIDENCE}
    for by_bridge in values.values():
        assert list(by_bridge) == ["", *hops.BRIDGES]
        assert all(found["both 1000"] == [1.0] for found in by_bridge.values())
    assert "gain in both, 500" in hops.table(values)


def test_chroma_rows_stand_beside_the_published(
    dataset: Dataset, encoder: HashTokens
) -> None:
    rows = evidence_chroma.systems(dataset, encoder, count_tokens)
    measured = evidence_chroma.scores(dataset.questions, rows, count_tokens)
    assert all(found["recall"] == [1.0] for found in measured.values())
    assert all(
        np.max(found["passages"]) <= evidence_chroma.K for found in measured.values()
    )
    table = evidence_chroma.table(measured)
    assert (
        "published: LLM GPT-4o (~240) | text-embedding-3-large | 5 | ~1,200 | 91.9"
        in table
    )
    by_corpus = evidence_chroma.by_corpus(dataset.questions, measured)
    assert f"| {evidence_chroma.FIVE} | 100.0 | 0 | 0 |" in by_corpus
