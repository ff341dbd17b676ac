"""The metrics of the papers' tables: worked numbers, slow definitions as oracles, and Chroma's
published table."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from benchmarks.paper_metrics import (
    answer_f1,
    baseline_segmentations,
    boundaries,
    boundary_f1,
    chroma_scores,
    evidence_f1,
    has_answer,
    log_rank_index,
    mid_ranks,
    paper_recall,
    pk,
    precision_omega,
    window_diff,
)
from structrag.evaluation import SpanMeasure

GOLD = [("d", 100, 200)]
CHUNKS = [("d", 0, 120), ("d", 100, 180), ("d", 200, 300)]


def test_recall_of_mc_indexing_counts_overlap_twice() -> None:
    chunks = [("d", 90, 150), ("d", 140, 180)]
    measure = SpanMeasure(unit="char")
    assert paper_recall(GOLD, chunks, measure) == pytest.approx(0.90)
    assert paper_recall([], chunks, measure) is None


def test_evidence_f1_of_the_best_annotator() -> None:
    assert evidence_f1([["a", "c"]], ["a", "a", "b"]) == pytest.approx(0.50)
    # Gold keeps its duplicates.
    assert evidence_f1([["a", "a"]], ["a"]) == pytest.approx(2 / 3)
    assert evidence_f1([["b"], ["a"]], ["a"]) == evidence_f1([[]], []) == 1
    assert evidence_f1([[]], ["a"]) == evidence_f1([["a"]], []) == 0
    assert evidence_f1([], []) is None


# -- ranks


def test_log_rank_index() -> None:
    scores = [log_rank_index([rank], 1000) for rank in (1, 2, 10, 100, 1000)]
    assert scores == pytest.approx([1, 0.8997, 0.6667, 0.3333, 0], abs=5e-5)
    assert log_rank_index([1, 4], 10) == pytest.approx(0.6990, abs=5e-5)
    assert log_rank_index([None], 10, missing=7.5) == pytest.approx(0.1249, abs=5e-5)
    assert log_rank_index([None, 1], 10) == 0.5
    assert log_rank_index([1], 1) == 1
    assert log_rank_index([], 10) is None


@given(st.lists(st.integers(0, 4), max_size=12))
def test_mid_ranks_fill_all_ranks(scores: list[int]) -> None:
    for a, rank in zip(scores, mid_ranks(scores), strict=True):
        above, tied = sum(b > a for b in scores), scores.count(a)
        assert rank == pytest.approx(above + (tied + 1) / 2)


def test_scores_are_tied_from_the_ninth_decimal_on() -> None:
    assert mid_ranks([0.5, 0.5 + 4e-10]) == [1.5, 1.5]
    assert mid_ranks([0.5, 0.5 + 2e-9]) == [2, 1]


# -- segmentations

REFERENCE = boundaries([4, 4, 2])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    gaps = draw(st.integers(0, 24))
    side = st.lists(st.integers(0, 1), min_size=gaps, max_size=gaps)
    return draw(side), draw(side)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([4, 4, 2], (0, 0)),
        ([3, 5, 2], (0.25, 0.25)),
        ([10], (0.50, 0.50)),
        ([1] * 10, (0.50, 1.0)),
    ],
)
def test_pk_and_window_diff(sizes: list[int], expected: tuple[float, float]) -> None:
    found = pk(REFERENCE, boundaries(sizes)), window_diff(REFERENCE, boundaries(sizes))
    assert found == pytest.approx(expected)


@given(pairs(), st.integers(1, 5))
def test_against_the_definition(pair: tuple[list[int], list[int]], k: int) -> None:
    reference, hypothesis = pair
    n = len(reference) + 1
    windows = [
        (reference[i : i + k], hypothesis[i : i + k]) for i in range(max(0, n - k))
    ] or [([], [int(reference != hypothesis)])]
    assert pk(*pair, k) == pytest.approx(fmean(any(a) != any(b) for a, b in windows))
    assert window_diff(*pair, k) == pytest.approx(
        fmean(sum(a) != sum(b) for a, b in windows)
    )
    score = boundary_f1(*pair, tolerance=k)
    assert boundary_f1(*pair) <= score <= 1
    assert boundary_f1(hypothesis, reference, tolerance=k) == score


def test_boundaries_are_matched_one_to_one() -> None:
    near = boundaries([3, 5, 2])
    assert boundary_f1(REFERENCE, near) == 0.5
    assert boundary_f1(REFERENCE, near, tolerance=1) == boundary_f1([0], [0]) == 1
    assert boundary_f1([0, 1], [0, 0]) == 0
    assert boundary_f1([0, 1, 0], [1, 0, 1], tolerance=1) == pytest.approx(2 / 3)


def test_baselines() -> None:
    made = baseline_segmentations(REFERENCE, seed=1)
    assert list(made) == ["none", "all", "random", "fixed"]
    assert (sum(made["none"]), sum(made["all"]), sum(made["random"])) == (0, 9, 2)
    assert made["fixed"] == boundaries([3, 3, 3, 1])
    assert made == baseline_segmentations(REFERENCE, seed=1)


# -- Chroma


def test_worked_example() -> None:
    retrieved = [*CHUNKS, ("other", 0, 50)]
    assert chroma_scores(GOLD, retrieved) == pytest.approx((0.80, 80 / 350, 80 / 370))
    assert precision_omega(GOLD, retrieved) == pytest.approx(80 / 300)
    overlapping = [("d", 100, 200), ("d", 150, 250)]
    assert chroma_scores(overlapping, [("d", 100, 250)])[0] == pytest.approx(0.75)
    assert chroma_scores(GOLD, []) == (0, 0, 0) and precision_omega(GOLD, []) == 0
    assert chroma_scores([], CHUNKS) is precision_omega([], CHUNKS) is None


PUBLISHED = {
    ("token", 800, 400): (4.7, 3.1),
    ("token", 400, 200): (8.4, 5.1),
    ("token", 400, 0): (12.5, 8.1),
    ("token", 200, 0): (21.0, 11.9),
    ("recursive", 800, 400): (6.7, 5.2),
    ("recursive", 400, 200): (13.9, 10.4),
    ("recursive", 400, 0): (17.7, 14.0),
    ("recursive", 200, 0): (29.9, 18.4),
}


@pytest.fixture(scope="module")
def chroma_data():
    root = DATA / "chroma"
    if not root.is_dir():
        pytest.skip(
            "Chroma's corpora are not here; set STRUCTRAG_DATA to the folder of evaluation data."
        )

    def rows(name):
        with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return rows("documents"), rows("questions")


@pytest.fixture
def cl100k(monkeypatch):
    """tiktoken's cl100k_base from the copy inside llama-index-core, so that nothing is
    downloaded."""
    tiktoken = pytest.importorskip("tiktoken")
    package = find_spec("llama_index.core")
    if package is None or package.origin is None:
        pytest.skip(
            "llama-index-core, which carries the cl100k_base file, is not installed."
        )
    monkeypatch.setenv(
        "TIKTOKEN_CACHE_DIR",
        str(Path(package.origin).parent / "_static" / "tiktoken_cache"),
    )
    return tiktoken.get_encoding("cl100k_base")


def place_as_coded(text: str, piece: str) -> tuple[int, int]:
    """Where Chroma's code believes a chunk to be: the first place of its text, a final "." left
    out."""
    target = piece.removesuffix(".")
    start = text.index(target)
    return start, start + len(target)


@pytest.mark.slow
@pytest.mark.parametrize(("splitter", "size", "overlap"), PUBLISHED)
def test_published_precision_omega(
    chroma_data, cl100k, splitter, size, overlap
) -> None:
    splitters = pytest.importorskip("langchain_text_splitters")
    if splitter == "token":
        made = splitters.TokenTextSplitter(
            encoding_name="cl100k_base",
            chunk_size=size,
            chunk_overlap=overlap,
            disallowed_special=(),
        )
    else:
        made = splitters.RecursiveCharacterTextSplitter(
            separators=["\n\n", "\n", ".", "?", "!", " ", ""],
            chunk_size=size,
            chunk_overlap=overlap,
            length_function=lambda text: len(
                cl100k.encode(text, disallowed_special=())
            ),
        )
    documents, questions = chroma_data
    chunks = []
    for document in documents:
        for piece in made.split_text(document["text"]):
            chunks.append((document["id"], *place_as_coded(document["text"], piece)))
    scores = [
        precision_omega([tuple(span) for span in question["gold"]], chunks)
        for question in questions
    ]
    assert len(scores) == 472
    assert (round(100 * fmean(scores), 1), round(100 * pstdev(scores), 1)) == PUBLISHED[
        splitter, size, overlap
    ]


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("19.5 hours", "It lasts 19,5 Hours.", True),
        ("Eiffel tower", "the Eiffel", False),
        ("Beyonce", "Beyoncé sang", False),
        ("Straße", "STRASSE 4", True),
        ("hour", "hours", False),
        ("--", "a -- b", False),
    ],
)
def test_an_answer_stands_in_a_text_by_whole_words(
    answer: str, text: str, expected: bool
) -> None:
    assert has_answer(["another", answer], text) is expected


def test_f1_of_an_answer_is_that_of_the_best_reference() -> None:
    assert answer_f1(["nothing", "The Eiffel Tower!"], "Eiffel tower, Paris") == 0.8
    assert answer_f1(["no"], "no no yes") == 0.5
    assert answer_f1(["", "a"], "") == answer_f1([], "x") == 0
