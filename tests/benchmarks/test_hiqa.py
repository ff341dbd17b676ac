"""The HiQA benchmark on made-up sets: ranks with ties, samples, names of contracts, places of
chunks, peers over the same routes."""

from __future__ import annotations

import pytest

from benchmarks import (
    hiqa_boards,
    hiqa_speed,
)
from benchmarks.hiqa_scores import Sizes, place_points, recall_points, relevant_ids
from benchmarks.question_sets import Dataset, Question
from structrag.evaluation import SpanMeasure
from structrag.records import Chunk, Document

PRODUCTS = ("Nova A10", "Nova B11", "Vega C12", "Vega D13", "Lyra E14", "Lyra F15")


def _chunk(name: str, start: int = 0, end: int = 10) -> Chunk:
    return Chunk(name, "d", "", start, end, "x" * (end - start))


def _manual(name: str, battery: int) -> Document:
    parts = [
        name,
        "=" * len(name),
        "",
        ".. contents::",
        "",
        "Battery",
        "-------",
        "",
        f"The battery holds {battery} mAh and charges fast.",
        "",
    ]
    parts += [
        "Camera",
        "------",
        "",
        "The camera sees far and wide, by day and by night.",
        "",
    ]
    return Document("\n".join(parts), id=name.replace(" ", "_"))


def _manuals() -> Dataset:
    documents = tuple(_manual(name, 1000 + 7 * i) for i, name in enumerate(PRODUCTS))
    questions = []
    for name, document in zip(PRODUCTS, documents, strict=True):
        start = document.text.index("holds")
        gold = ((document.id, start, start + 14),)
        questions.append(
            Question(
                name, f"What does the battery of the {name} hold?", (), gold, False
            )
        )
    return Dataset("boards", documents, tuple(questions))


def test_a_tied_chunk_counts_with_the_mean_of_the_tied_ranks() -> None:
    ranking = [(_chunk("a"), 2.0), (_chunk("b"), 1.0), (_chunk("c"), 1.0)]
    assert place_points(ranking, {"a"}, 10) == {
        "hit at 1": 1.0,
        "hit at 5": 1.0,
        "Log-Rank Index": 1.0,
    }
    tied = place_points(ranking[1:], {"c"}, 10)
    assert (tied["hit at 1"], tied["hit at 5"]) == (0.0, 1.0)
    assert place_points(ranking, {"b"}, 10) == place_points(ranking, {"c"}, 10)


def test_a_chunk_that_is_not_found_has_the_mean_rank_of_the_rest() -> None:
    ranking = [(_chunk(name), 4.0 - i) for i, name in enumerate("abcd")]
    missing = place_points(ranking, {"z"}, 10)
    assert missing["hit at 5"] == 0.0
    assert missing["Log-Rank Index"] == pytest.approx(
        0.1249, abs=1e-4
    )  # rank 7.5 of 10: metrics, section 5
    assert place_points(ranking, {"z"}, 4)["Log-Rank Index"] == 0.0


def test_relevant_chunks_share_a_character_with_the_gold() -> None:
    chunks = {"d": [_chunk("a", 0, 10), _chunk("b", 10, 20), _chunk("c", 20, 30)]}
    asked = Question("1", "?", (), (("d", 10, 21), ("elsewhere", 0, 5)), False)
    assert relevant_ids(asked, chunks) == {"b", "c"}


def test_recall_at_chunks_and_within_a_budget() -> None:
    text = "a" * 40
    chunks = [_chunk("a", 0, 10), _chunk("b", 10, 40)]
    asked = Question("1", "?", (), (("d", 5, 15),), False)
    points = recall_points(
        chunks, asked, SpanMeasure({"d": text}), Sizes(len), k=1, budgets=(15, 100)
    )
    assert points == {
        "1 chunks": 0.5,
        "15 tokens": 1.0,
        "100 tokens": 1.0,
        "tokens": 10.0,
    }


def test_the_path_finds_what_is_the_same_in_all_manuals() -> None:
    figures = hiqa_boards.measure(_manuals(), None, "LSA", None).figures
    assert figures["none | BM25"]["hit at 1"] == 0.0
    assert figures["path | BM25"]["hit at 1"] == 100.0
    for name in (hiqa_boards.DEFAULT, "BM25"):
        assert (
            figures[f"path | {name}"]["Log-Rank Index"]
            > figures[f"none | {name}"]["Log-Rank Index"]
        )


def test_made_segments_are_found_by_the_product_of_the_query() -> None:
    made = hiqa_speed.make(700)
    assert (len(made.index), made.matrices["raw"].shape) == (
        700,
        (700, hiqa_speed.DIMENSION),
    )
    (table,) = hiqa_speed.run(1, 700)
    assert {"bare product", "HiQARetriever"} <= set(table.figures)
    assert table.rows[0][2] == ""  # nothing is compared with itself
