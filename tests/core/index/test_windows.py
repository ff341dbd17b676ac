"""Windows of chunks longer than an encoder reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder

from structrag import (
    ContentAwareSplitter,
    Document,
    FunctionEmbedder,
    Index,
)
from structrag.index.windows import split_windows


def test_windows_repeat_the_heading_path_where_it_leaves_room(embedder: HashEmbedder) -> None:
    embedder.max_tokens = 20
    body = " ".join(f"Sentence{i} tells something new." for i in range(12))
    windows = split_windows(f"Manual > Pump\n{body}", embedder, overflow="windows")
    assert len(windows) > 2 and all(window.startswith("Manual > Pump\n") for window in windows)
    long_path = " > ".join(f"Level{i}" for i in range(9))
    windows = split_windows(f"{long_path}\n{body}", embedder, overflow="windows")
    assert sum(long_path in window for window in windows) <= 1


@pytest.mark.parametrize("text", ["", "short", "one two\nthree"])
def test_what_fits_stays_whole(text: str, embedder: HashEmbedder) -> None:
    embedder.max_tokens = 20
    assert split_windows(text, embedder, overflow="windows") == [text]
    assert split_windows("w " * 50, embedder, overflow="truncate") == ["w " * 50]
    embedder.max_tokens = None
    assert split_windows("w " * 50, embedder, overflow="windows") == ["w " * 50]


@pytest.mark.slow
def test_minilm_reads_the_end_of_a_long_chunk(minilm: Any) -> None:
    filler = "The annual report lists the members of the board and their offices. " * 40
    text = f"# Report\n\n{filler}\n\nThe axolotl regrows its legs after an injury.\n"
    windows = split_windows(f"Report\n{text}", minilm, overflow="windows")
    assert len(windows) > 1 and all(minilm.count_tokens(window) <= 256 for window in windows)
    scores = {}
    for preset in ("default", "paper"):
        from structrag import ContentAwareSplitter

        index = Index(
            embedder=minilm,
            views=("raw",),
            preset=preset,
            splitter=ContentAwareSplitter(max_tokens=None),
        )
        index.add([Document(text, id="d", format="markdown")])
        (hit,) = index.search("Which animal grows new limbs?")
        scores[preset] = hit.score
    assert scores["default"] > scores["paper"] + 0.1


def test_a_chunk_longer_than_the_encoder_reads_scores_as_its_best_window() -> None:
    embedder = HashEmbedder(dimensions=512, max_tokens=40)
    sentences = [f"Sentence{i} tells of topic{i} and thing{i} with detail{i}." for i in range(30)]
    index = Index(embedder=embedder, views=("raw",), splitter=ContentAwareSplitter(max_tokens=None))
    index.add(
        [Document(f"# Long\n\n{' '.join(sentences)}\n", id="d", format="markdown", title="Manual")]
    )
    (hit,) = index.search("topic29 thing29 detail29")
    windows = embedder.texts
    assert len(windows) > 4 and all(len(text.split()) <= 40 for text in windows)
    assert all(any(sentence in window for window in windows) for sentence in sentences), (
        "no sentence is lost or cut"
    )
    query = embedder.vector("topic29 thing29 detail29")
    assert hit.score == pytest.approx(
        max(float(embedder.vector(window) @ query) for window in windows), abs=1e-6
    )
    assert hit.score > float(embedder.vector(hit.chunk.index_text) @ query) + 0.1


def test_windows_can_be_made_smaller_and_paper_leaves_truncation_to_the_encoder() -> None:
    text = " ".join(f"Sentence{i} tells of topic{i}." for i in range(100))
    smaller, paper = HashEmbedder(max_tokens=60), HashEmbedder(max_tokens=60)
    Index(embedder=smaller, views=("raw",), window_tokens=20).add([Document(text, id="d")])
    assert len(smaller.texts) >= 20 and max(len(window.split()) for window in smaller.texts) <= 20
    Index(embedder=paper, views=("raw",), preset="paper").add(
        [Document(f"# A\n{text}", id="d", format="markdown")]
    )
    assert paper.texts == [text]


def test_a_function_with_a_limit_gets_windows_by_a_cautious_count() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.ones((len(texts), 4))

    text = " ".join(f"Sentence{i} tells of topic{i}." for i in range(100))
    Index(embedder=FunctionEmbedder(embed, name="ones", max_tokens=50), views=("raw",)).add(
        [Document(text, id="d")]
    )
    assert len(seen) > 10 and max(map(len, seen)) <= 150
