"""The benchmark of evidence: what its rows measure, and what its tables say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.evidence import (
    BASE,
    EVIDENCE,
    POOLED_ROWS,
    ROWS,
    KeptTokens,
    Setting,
    cell,
    page,
)
from benchmarks.methods import Sample
from benchmarks.question_sets import Dataset, Question
from structrag import read_text
from structrag.evaluation import SpanMeasure
from structrag.text.tokens import count_tokens
from tests.doubles import HashTokens

TEXT = "# Pumps\n\nThe blue pump leaks.\n\n# Cats\n\nCats sleep all day long.\n"


@pytest.fixture
def one() -> Sample:
    document = read_text(TEXT, id="d", format="markdown")
    start = TEXT.index("The blue")
    question = Question(
        "q", "Which blue pump leaks?", (), (("d", start, start + 20),), any=False
    )
    return Sample(Dataset("qasper", (document,), (question,)), 1, 1)


@pytest.fixture
def encoder(tmp_path: Path) -> KeptTokens:
    encoder = HashTokens()
    encoder.max_tokens = 256
    return KeptTokens(encoder, tmp_path / "tokens")


def test_token_vectors_are_kept(encoder: KeptTokens) -> None:
    first = encoder.embed_tokens(["blue pump", "cats"])
    again = encoder.embed_tokens(["cats", "blue pump"])
    assert encoder.encoder.passes == [("blue pump", "cats"), ()]
    assert np.array_equal(first[0].ids, again[1].ids)
    assert np.allclose(first[0].vectors, again[1].vectors, atol=1e-2)
    assert np.array_equal(encoder.embed(["cats"])[0], first[1].vector)


@pytest.mark.parametrize("pooled", [False, True])
def test_every_row_finds_the_answer_and_is_kept(
    one: Sample, encoder: KeptTokens, tmp_path: Path, pooled: bool
) -> None:
    measure = SpanMeasure(one.dataset.texts)
    setting = Setting(one.dataset, encoder, count_tokens, measure, pooled)
    for name in POOLED_ROWS if pooled else ROWS:
        values = cell(name, one, setting, tmp_path, False)
        assert values["recall"] == {"500": [1.0], "1000": [1.0], "2000": [1.0]}, name
    (file,) = tmp_path.glob("qasper-*/evidenceretriever.json")
    file.write_text(json.dumps({"recall": "kept"}), encoding="utf-8")
    assert cell(EVIDENCE, one, setting, tmp_path, False) == {"recall": "kept"}
    assert cell(EVIDENCE, one, setting, tmp_path, True)["recall"] != "kept"


def test_paragraphs_are_searched_as_one_pool(one: Sample, encoder: KeptTokens) -> None:
    (question,) = one.dataset.questions
    measure = SpanMeasure(one.dataset.texts)
    for name, pooled, where in (
        ("qasper", False, {"doc_id": "d"}),
        ("qasper", True, None),
        ("xquad_de", False, None),
        ("boards", False, None),
    ):
        dataset = replace(one.dataset, name=name)
        setting = Setting(dataset, encoder, count_tokens, measure, pooled)
        assert setting.where(question) == where


def test_tables_compare_with_the_base() -> None:
    def row(*values: float) -> dict[str, Any]:
        return {"recall": {str(budget): list(values) for budget in (500, 1000, 2000)}}

    values = {"qasper": {BASE: row(0, 0, 1, 1), EVIDENCE: row(1, 1, 1, 1)}}
    text = page({"encoder": "hashes"}, values, pooled=False)
    assert "| **EvidenceRetriever** | 100.0 [100.0, 100.0] |" in text
    assert "+50.0 [+0.0, +100.0]" in text and "- encoder: hashes" in text
