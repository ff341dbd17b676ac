"""The benchmark of stores on some hundred made sections: stores keep the same and find it."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks.stores import measured, rendered
from benchmarks.stores_made import PEERS, Made, own


def test_made_sections_are_the_same_each_time_and_near_their_kin() -> None:
    made = Made(250)
    documents = list(made.documents())
    assert [len(document) for document in documents] == [100] * 3
    again = Made(250).document(1)
    assert [(s.id, s.text) for s in again] == [(s.id, s.text) for s in documents[1]]
    vectors = np.array([section.vector for section in documents[1]])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    kin = (vectors @ vectors.T)[np.triu_indices(100, 1)].mean()
    others = (vectors @ np.array([section.vector for section in documents[2]]).T).mean()
    assert 0.6 < kin < 0.75 and abs(others) < 0.1
    changed = made.document(1, version=1)
    assert changed[0].id == again[0].id and changed[0].text != again[0].text


@pytest.mark.parametrize(
    "name", ["folder", "LlamaIndex's own (vectors alone)", "LangChain's own"]
)
def test_a_question_finds_the_section_it_was_made_of(name: str, tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core")
    pytest.importorskip("langchain_classic")
    pytest.importorskip("rank_bm25")
    made = Made(300)
    subject = (
        own(str(tmp_path / "corpus"), made)
        if name == "folder"
        else PEERS[name](tmp_path, made)
    )
    subject.fill()
    questions = subject.questions(5)
    texts = {
        section.id: section.text
        for document in made.documents()
        for section in document
    }
    for question in questions:
        assert question in texts[subject.ask(question)[0]]
    subject.update(0)
    assert len(subject.ask(questions[0])) == 10


def test_the_page_says_what_was_not_measured() -> None:
    options = argparse.Namespace(
        made=True, questions=3, stores=["folder"], retriever="multiview"
    )
    figures = measured("folder", 200, 3, made=True)
    page = rendered(
        [(200, {"folder": figures, "Chroma (vectors alone)": "no module"})], options
    )
    assert (
        "python benchmarks/stores.py --made --rows 200 --questions 3 --stores 'folder'"
        in page
    )
    (row,) = [line for line in page.splitlines() if line.startswith("| folder")]
    assert row.endswith("| 1.000 |") and len(row.split("|")) == 14
    assert "| Chroma (vectors alone) | 200 | no module | | | | | | | | | |" in page
