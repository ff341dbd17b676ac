"""The D3 comparison on a made-up set: an oracle that sees what is shown, figures that add up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import d3
from benchmarks.d3_oracle import oracle_for
from benchmarks.d3_scores import Outcome, averaged, scored
from benchmarks.d3_systems import NAMES
from benchmarks.question_sets import Dataset, Question
from structrag.records import Document, Hit
from structrag.retrieval.d3.condensing import ParagraphSplitter
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.hops import Answered

ANIMALS = ("heron", "otter", "badger", "lynx")


def _document(doc_id: str) -> Document:
    parts = []
    for animal in ANIMALS:
        eats = f"The {animal} of {doc_id} eats at dawn. " * 8
        sleeps = f"The {animal} of {doc_id} sleeps in a den. " * 30
        parts.append(f"## The {animal}\n\n{eats}\n\n{sleeps}")
    return Document(
        f"# Animals of {doc_id}\n\n" + "\n\n".join(parts) + "\n",
        id=doc_id,
        format="markdown",
    )


def _dataset() -> Dataset:
    documents = tuple(_document(name) for name in ("north", "south"))
    questions = []
    for document in documents:
        for animal in ANIMALS:
            start = document.text.index(f"The {animal} of {document.id} eats")
            end = document.text.index("\n\n", start)
            questions.append(
                Question(
                    f"{document.id}-{animal}",
                    f"When does the {animal} of {document.id} eat?",
                    ("at dawn",),
                    ((document.id, start, end),),
                    False,
                )
            )
    return Dataset("made up", documents, tuple(questions))


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, dict[str, float]]]:
    dataset = _dataset()
    return d3.compare(dataset, NAMES, llm=oracle_for(dataset))


def test_the_oracle_finds_the_evidence_by_every_system(
    results: dict[str, dict[str, dict[str, float]]],
) -> None:
    assert tuple(results) == NAMES
    for name, result in results.items():
        means = result["means"]
        assert means["evidence recall"] == means["answer F1"] == 100
        # BM25 keeps whatever shares words with the question.
        assert name == "D3-LEXICAL" or means["evidence F1"] == 100
        assert means["failed calls"] == 0
        stages = result["stages"].values()
        assert means["tokens"] == pytest.approx(
            sum(stage["tokens"] for stage in stages)
        )
        assert means["calls"] == pytest.approx(sum(stage["calls"] for stage in stages))


def test_calls_are_those_of_the_methods(
    results: dict[str, dict[str, dict[str, float]]],
) -> None:
    calls = {name: result["means"]["calls"] for name, result in results.items()}
    assert calls == {
        "D3-BASE": 2,
        "D3-HIERBASE": 3,
        "PARAGRAPH": 8,
        "CHUNK": 1,
        "CHUNK 500": 4,
        "CHUNK 1000": 2,
        "CHUNK 2000": 1,
        "MAP-REDUCE": 9,
        "MAP-REDUCE OPTIMIZED": 2,
        "D3-LEXICAL": 1,
        "D3-LEXICAL+BASE": 2,
        "D3-BASE+LEXICAL": 2,
        "SELF-ASK CHUNK": 4,
        "SELF-ASK MAP-REDUCE OPTIMIZED": 5,
        "SELF-ASK D3-BASE": 5,
    }


def test_self_ask_looks_up_each_piece_of_the_evidence() -> None:
    dataset = _dataset()
    first, second, *_ = dataset.questions
    both = replace(first, question="When do both eat?", gold=first.gold + second.gold)
    asked = replace(dataset, questions=(both, second))
    names = ["D3-BASE", "SELF-ASK D3-BASE"]
    results = d3.compare(asked, names, llm=oracle_for(asked))
    direct, steps = (results[name]["rows"] for name in names)
    assert [row["calls"] for row in direct] == [2, 2]
    # Two or one times D3 and an answer, and what comes next each time.
    assert [row["calls"] for row in steps] == [2 * 3 + 3, 3 + 2]
    assert [row["evidence F1"] for row in steps] == [100, 100]


def test_questions_are_grouped() -> None:
    dataset = _dataset()
    long = replace(dataset.documents[1], text=dataset.documents[1].text * 9)
    first, second, *_ = dataset.questions
    asked = (
        replace(first, answers=()),
        replace(first, answers=("at sunrise",), gold=first.gold + second.gold),
        replace(dataset.questions[-1], answers=("eats at dawn ",)),
    )
    dataset = Dataset("made up", (dataset.documents[0], long), asked)
    labels = [[group(one, dataset) for one in asked] for group, _ in d3.GROUPS.values()]
    assert labels[0][0] == labels[0][1] < labels[0][2]
    assert labels[1] == ["yes or no", "abstractive", "extractive"]
    assert labels[2] == ["one paragraph", "several paragraphs", "one paragraph"]


def test_scores_of_one_question() -> None:
    dataset = _dataset()
    paragraphs = ParagraphSplitter().split(dataset.documents[0])
    gold, other = paragraphs[0], paragraphs[1]
    outcome = Outcome(
        [Hit(gold, 1.0, 1), Hit(other, 1.0, 2)],
        {"route": StageCost(1, 10, 1), "select": StageCost(1, 20, 2, 3)},
        Answered("dawn", 2, StageCost(1, 30, 1)),
        degraded=1,
    )
    row = scored(dataset.questions[0], paragraphs, outcome)
    assert row["evidence F1"] == pytest.approx(200 / 3)
    assert row["answer F1"] == pytest.approx(200 / 3)
    assert (
        row["tokens"],
        row["calls"],
        row["scored"],
        row["answering tokens"],
        row["failed calls"],
    ) == (
        33,
        2,
        3,
        31,
        1,
    )
    assert averaged([row, row])["failed calls"] == 2


def test_the_command_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(d3, "load_or_exit", lambda name: _dataset())
    d3.main(
        [
            "--oracle",
            "--systems",
            "CHUNK,D3-BASE",
            "--questions",
            "3",
            "--output",
            str(tmp_path),
        ]
    )
    page = (tmp_path / "d3_oracle.md").read_text(encoding="utf-8")
    assert page.partition("\n<!-- code of")[0] in capsys.readouterr().out
    assert "3 questions" in page
    assert "| CHUNK | 100.0" in page
    assert "| sections named too many | tokens | calls | of CHUNK's tokens |" in page
    paper = next(line for line in page.splitlines() if "preset paper" in line)
    assert paper.startswith("| D3-BASE, preset paper | 100.0 | 100.0 | 100.0")
    assert "(3 questions)" in page.partition("## Figure 3")[2]
    stages = [line.split(" | ") for line in page.splitlines() if "| route |" in line]
    default, published = (int(cells[2].replace(",", "")) for cells in stages)
    assert published > 1.5 * default  # its summaries are longer
