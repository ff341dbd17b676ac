"""The benchmark of stores on some hundred made sections: stores keep the same and find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.stores_made import PEERS, Made, own


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
