"""The quality benchmark on a made-up set: what its figures must be, and that it says when data is
absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import quality
from benchmarks.quality_scores import POINTS
from benchmarks.question_sets import Dataset, Question
from structrag.records import Document

ANIMALS = ("heron", "otter", "badger", "lynx", "marten", "osprey", "weasel", "curlew")


def _document(doc_id: str) -> Document:
    parts = [
        f"## The {a}\n\n" + f"A {a} of {doc_id} eats well and sleeps long. " * 15
        for a in ANIMALS
    ]
    return Document(
        f"# Animals {doc_id}\n\n" + "\n\n".join(parts) + "\n",
        id=doc_id,
        format="markdown",
    )


def _dataset() -> Dataset:
    documents = tuple(_document(name) for name in ("north", "south"))
    questions = []
    for document in documents:
        for animal in ANIMALS:
            start = document.text.index(f"A {animal}")
            gold = ((document.id, start, start + 20),)
            questions.append(
                Question(
                    f"{document.id}-{animal}",
                    f"What does the {animal} do?",
                    (),
                    gold,
                    False,
                )
            )
    questions.append(Question("no gold", "What is missing?", (), (), False))
    return Dataset("made up", documents, tuple(questions))


@pytest.fixture(scope="module")
def measured() -> dict[str, object]:
    dataset = _dataset()
    return quality.measure(
        quality.sampled(dataset, None, None), None, None, lambda text: len(text.split())
    )


def test_every_system_finds_what_bm25_names(measured: dict[str, object]) -> None:
    rows = measured["systems"]
    assert measured["questions"] == 16  # the question without gold is left out
    for row in rows:
        assert tuple(row["recall"]) == POINTS
        assert all(0 <= value <= 100 for value in row["recall"].values())
        if row["chunks"] != "preset paper":
            found = [row["recall"][point] for point in POINTS[:4]]
            assert found == sorted(found)
    sections = next(
        r
        for r in rows
        if r["chunks"].startswith("content-aware")
        and (r["views"], r["route"]) == ("raw", "BM25")
    )
    assert sections["recall"]["top 5"] == 100
    assert sections["tokens_at_top_5"] > 0


def test_the_command_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "load_or_exit", lambda name: _dataset())
    quality.main(
        [
            "--sets",
            "nq",
            "--embedder",
            "lsa",
            "--questions",
            "2",
            "--output",
            str(tmp_path),
        ]
    )
    page = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert page.startswith("# Retrieval quality") and ", 2 questions" in page
