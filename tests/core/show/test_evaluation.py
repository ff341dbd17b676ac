"""The plot of an evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from question_making import DOCUMENTS, questions_of

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.labelled import evaluate
from structrag.show.explanation import plot_evaluation


def test_evaluation_of_small_documents(tmp_path: Path) -> None:
    questions = questions_of(
        tmp_path,
        {
            "question": "How often is the pump's filter rinsed, monthly?",
            "quotes": ["Rinse the filter monthly"],
        },
        {"question": "How many litres?", "answers": ["17 litres"]},
        {"question": "storage dry degrees", "docs": ["pump.md"]},
    )
    splitters = {
        "sections": ContentAwareSplitter(),
        "again": ContentAwareSplitter(),
        "fixed": FixedSplitter(4),
    }
    found = evaluate(DOCUMENTS, splitters, questions, depths=(1, 2), budgets=(3, 500))
    figure = plot_evaluation(found)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["sections", "again", "fixed"]
    assert figure.axes[0].get_ylim() == (0, 103)  # a mark at 100 is shown whole
    plot_evaluation(found, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameter, match="must end in"):
        plot_evaluation(found, tmp_path / "plot.txt")


def test_an_interval_that_leaves_out_its_mean_is_drawn(tmp_path: Path) -> None:
    """By the last digit, as that of a share of all."""
    questions = questions_of(
        tmp_path, {"question": "How many litres?", "answers": ["17 litres"]}
    )
    evaluation = evaluate(
        DOCUMENTS, {"fixed": FixedSplitter(4)}, questions, budgets=(3,)
    )
    recall = evaluation.methods[0].recall["3 tokens"]
    for low, high in ((recall.mean + 1e-9, 1.0), (0.0, recall.mean - 1e-9)):
        evaluation.methods[0].recall["3 tokens"] = replace(recall, low=low, high=high)
        plot_evaluation(evaluation, tmp_path / "plot.png")
