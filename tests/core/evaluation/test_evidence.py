"""Evidence F1, as QASPER scores it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.evaluation import (
    evidence_f1,
)


def test_evidence_f1_duplicates() -> None:
    assert evidence_f1(
        [["a", "c"]], ["a", "a", "b"], deduplicate=False
    ) == pytest.approx(0.40)
    assert evidence_f1([["a", "c"]], ["a", "a", "b"]) == pytest.approx(0.50)
    # Gold keeps its duplicates.
    assert evidence_f1([["a", "a"]], ["a"]) == pytest.approx(2 / 3)


def test_evidence_f1_edges() -> None:
    assert evidence_f1([[]], []) == 1
    assert evidence_f1([[]], ["a"]) == 0
    assert evidence_f1([["a"]], []) == 0
    assert evidence_f1([], []) is None
    assert (
        evidence_f1([["b"], ["a"]], ["a"]) == 1
    )  # the best annotator, also after one without overlap
    floats = [["FLOAT SELECTED: Table 2"]]
    assert evidence_f1(floats, []) == 0
    assert evidence_f1(floats, [], text_only=True) == 1
    assert evidence_f1(floats, ["a"], text_only=True) == 0
    assert evidence_f1([["a", *floats[0]]], ["a"], text_only=True) == 1


PARAGRAPHS = st.lists(st.sampled_from("abcd"), max_size=5)


@given(PARAGRAPHS, st.lists(PARAGRAPHS, min_size=1, max_size=3), PARAGRAPHS)
def test_evidence_f1_is_the_maximum_over_annotators(
    predicted, annotations, more
) -> None:
    score = evidence_f1(annotations, predicted)
    assert 0 <= score <= 1
    assert score == max(evidence_f1([one], predicted) for one in annotations)
    assert evidence_f1([*annotations, more], predicted) >= score
    assert (
        evidence_f1(annotations, list(dict.fromkeys(predicted)), deduplicate=False)
        == score
    )
