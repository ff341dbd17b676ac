"""The settings of evidence: E is what the library does, and choosing looks at the other sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import evidence
from benchmarks.datasets import Dataset, Question
from benchmarks.evidence import KeptTokens, Setting, kept_page, settings_page
from benchmarks.evidence_choices import (
    CHOICES,
    E,
    bench,
    order,
)
from benchmarks.methods import BUDGETS, Sample
from structrag import read_text
from structrag.evaluation import SpanMeasure
from structrag.retrieval.evidence.scores import rank
from structrag.text.tokens import count_tokens
from tests.doubles import HashTokens

LINES = [
    f"The {word} number {i} is kept dry."
    for i in range(410)
    for word in ("seal", "valve")
]
TEXT = "# Pumps\n\nThe blue pump leaks.\n\n# Rooms\n\n" + "\n\n".join(LINES)
ASKED = Question("q", "Which blue pump leaks?", (), (("d", 9, 29),), any=False)


@pytest.fixture
def one() -> Sample:
    return Sample(Dataset("qasper", (read_text(TEXT, id="d"),), (ASKED,)), 1, 1)


@pytest.fixture
def encoder(tmp_path: Path) -> KeptTokens:
    encoder = HashTokens()
    encoder.max_tokens = 256
    return KeptTokens(encoder, tmp_path / "tokens")


def test_e_is_the_order_of_the_library(
    one: Sample, encoder: KeptTokens, tmp_path: Path
) -> None:
    setting = Setting(
        one.dataset, encoder, count_tokens, SpanMeasure(one.dataset.texts)
    )
    of_set = bench(setting, one.dataset.questions, tmp_path / "signals")
    _, pool = of_set.retriever.level.reader().select(None)
    assert len(pool) > 800  # so that there is a shortlist
    question = of_set.retriever.run(
        of_set.retriever._question_flow(ASKED.question, None)
    )
    atoms = order(of_set.signals(0, ASKED, pool), E, pool)
    quantiser = of_set.retriever.level.quantiser
    ranking = rank(pool, question, quantiser, language="english")
    assert atoms[:50].tolist() == ranking.units[:50].tolist()
    # From the file.
    assert np.array_equal(order(of_set.signals(0, ASKED, pool), E, pool), atoms)
    assert of_set.recalls({"E": E}) == {"E": {str(budget): [1.0] for budget in BUDGETS}}


def of_set(best: str) -> dict[str, dict[str, list[float]]]:
    """Recall of one question with every choice."""
    return {
        label: {str(budget): [float(label == best)] for budget in BUDGETS}
        for label in CHOICES
    }


def test_the_page_of_the_settings(
    one: Sample, encoder: KeptTokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "KEPT", tmp_path)
    text = settings_page({"encoder": "hashes"}, [one], encoder, count_tokens)
    assert (
        "| all atoms matched | +0.0 [+0.0, +0.0] |" in text
        and "- encoder: hashes" in text
    )
    assert "Chosen without" not in text  # of one set alone nothing can be left out
    kept = kept_page({"encoder": "hashes"}, [one], encoder, count_tokens)
    assert "| 5 % of the energy lost | " in kept and "| +0.0 [+0.0, +0.0] |" in kept
