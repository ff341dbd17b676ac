"""Chroma's token-level metrics: the worked example, both versions, and the published
precision-omega table."""

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

from structrag.evaluation import (
    SpanMeasure,
    chroma_scores,
    chunks_to_retrieve,
    position_as_coded,
    precision_omega,
    span_recall,
)

GOLD = [("d", 100, 200)]
CHUNKS = [("d", 0, 120), ("d", 100, 180), ("d", 200, 300)]
RETRIEVED = [*CHUNKS, ("other", 0, 50)]


def test_worked_example_as_coded() -> None:
    scores = chroma_scores(GOLD, RETRIEVED, as_coded=True)
    assert (scores.recall, scores.precision, scores.iou) == pytest.approx(
        (0.80, 80 / 350, 80 / 370)
    )
    assert precision_omega(GOLD, RETRIEVED, as_coded=True) == pytest.approx(80 / 300)
    assert chunks_to_retrieve(GOLD, RETRIEVED, as_coded=True) == 3


def test_worked_example_clean() -> None:
    scores = chroma_scores(GOLD, RETRIEVED)
    assert (scores.recall, scores.precision, scores.iou) == pytest.approx(
        (0.80, 80 / 330, 80 / 350)
    )
    assert precision_omega(GOLD, RETRIEVED) == pytest.approx(80 / 200)
    assert chunks_to_retrieve(GOLD, RETRIEVED) == 2
    assert chunks_to_retrieve(GOLD, RETRIEVED, limit=1) == 1


def test_overlapping_excerpts() -> None:
    excerpts, chunk = [("d", 100, 200), ("d", 150, 250)], [("d", 100, 250)]
    assert chroma_scores(excerpts, chunk, as_coded=True).recall == pytest.approx(0.75)
    assert chroma_scores(excerpts, chunk).recall == 1


def test_nothing() -> None:
    for as_coded in (True, False):
        empty = chroma_scores(GOLD, [], as_coded=as_coded)
        assert (empty.recall, empty.precision, empty.iou) == (0, 0, 0)
        assert precision_omega(GOLD, [], as_coded=as_coded) == 0
        assert chroma_scores([], CHUNKS, as_coded=as_coded) is None
        assert precision_omega([], CHUNKS, as_coded=as_coded) is None


def test_positions_as_coded() -> None:
    text = "First. Second. First."
    assert position_as_coded(text, "First.") == (0, 5)
    assert position_as_coded(text, "Second. First.") == (7, 20)
    assert position_as_coded(text, "Third") is None


@st.composite
def apart(draw):
    """Disjoint ranges of one document, at least one character between neighbours."""
    edges = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=12)))
    return [("d", a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]


@given(apart(), apart())
def test_versions_agree_without_touching_and_overlap(excerpts, chunks) -> None:
    edges = {a for _, a, _ in excerpts} | {b for _, _, b in excerpts}
    clean, coded = (
        chroma_scores(excerpts, chunks),
        chroma_scores(excerpts, chunks, as_coded=True),
    )
    assert (clean.recall, clean.precision, clean.iou) == pytest.approx(
        (coded.recall, coded.precision, coded.iou)
    )
    assert clean.recall == pytest.approx(
        span_recall(excerpts, chunks, SpanMeasure(unit="char"))
    )
    if not edges & ({a for _, a, _ in chunks} | {b for _, _, b in chunks}):
        assert precision_omega(excerpts, chunks) == pytest.approx(
            precision_omega(excerpts, chunks, as_coded=True)
        )
        assert chunks_to_retrieve(excerpts, chunks) == chunks_to_retrieve(
            excerpts, chunks, as_coded=True
        )
    assert (
        0
        <= precision_omega(excerpts, chunks, as_coded=True)
        <= precision_omega(excerpts, chunks)
        <= 1
    )
    assert precision_omega(excerpts, excerpts) == 1


@given(
    apart(),
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60)).map(
            lambda p: ("d", min(p), max(p))
        ),
        max_size=5,
    ),
)
def test_omega_against_sets_of_characters(excerpts, chunks) -> None:
    def characters(spans):
        return {i for _, a, b in spans for i in range(a, b)}

    gold = characters(excerpts)
    met = [chunk for chunk in chunks if characters([chunk]) & gold]
    assert precision_omega(excerpts, chunks) == pytest.approx(
        len(characters(met) & gold) / len(characters(met) | gold)
    )


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
            position = position_as_coded(document["text"], piece)
            assert position is not None
            chunks.append((document["id"], *position))
    scores = [
        precision_omega(
            [tuple(span) for span in question["gold"]], chunks, as_coded=True
        )
        for question in questions
    ]
    assert len(scores) == 472
    assert (round(100 * fmean(scores), 1), round(100 * pstdev(scores), 1)) == PUBLISHED[
        splitter, size, overlap
    ]
