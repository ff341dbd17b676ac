"""The D3 comparison on a made-up set: an oracle that sees only what is shown, figures that add up,
the slow server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import d3, d3_evidence, d3_server
from benchmarks.d3_oracle import SlowServer, gold_chunks, oracle_for
from benchmarks.d3_scores import Outcome, averaged, scored, target_lines
from benchmarks.d3_systems import NAMES
from benchmarks.datasets import Dataset, Question
from structrag.evaluation import SpanMeasure
from structrag.records import Document, Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.outlines import IDS_PROMPT
from structrag.retrieval.d3.paragraphs import ParagraphSplitter
from structrag.retrieval.multihop.answering import Answered
from structrag.text.tokens import count_tokens

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
    return d3.compare(dataset, oracle_for(dataset), NAMES)


def test_the_oracle_finds_the_evidence_by_every_system(
    results: dict[str, dict[str, dict[str, float]]],
) -> None:
    assert tuple(results) == NAMES
    for result in results.values():
        means = result["means"]
        assert (
            means["evidence F1"]
            == means["evidence recall"]
            == means["answer F1"]
            == 100
        )
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
        "MAP-REDUCE": 9,
        "MAP-REDUCE OPTIMIZED": 2,
        "SELF-ASK D3-BASE": 5,
    }


def test_the_oracle_names_nothing_that_is_not_gold() -> None:
    oracle = oracle_for(_dataset())
    question = "Question: When does the lynx of north eat?"
    shown = (
        "[1] The otter of north eats at dawn.\n\n[2] The lynx of south eats at dawn."
    )
    assert oracle.complete(f"{shown}\n\n{question}\n\nWhich ids?") == "none"
    assert (
        oracle.complete(
            f"[1] Animals of north > The lynx\nIt eats.\n\n{question}\n\nWhich ids?"
        )
        == "1"
    )
    assert (
        oracle.complete(
            f'A paragraph:\n\nnothing\n\n{question}\n\nAnswer with "yes" or "no"'
        )
        == "no"
    )
    assert oracle.complete(f"Evidence:\n[1] x\n\n{question}\nAnswer:") == "Unanswerable"


def test_an_oracle_may_name_more_sections_than_needed_but_no_more_paragraphs() -> None:
    dataset = _dataset()
    needed, more = (
        d3.compare(dataset, oracle_for(dataset, extra), ["D3-BASE"])["D3-BASE"]["means"]
        for extra in (0, 2)
    )
    assert more["tokens"] > needed["tokens"]
    assert more["evidence F1"] == needed["evidence F1"] == 100
    question = "When does the lynx of south eat?"
    outline = IDS_PROMPT.format(
        outline="[1] The otter\n\n[2] The lynx\n\n[3] The heron\n\n[4] The badger",
        question=question,
    )
    assert oracle_for(dataset, 2).complete(outline) == "2, 3, 4"
    assert oracle_for(dataset, 9).complete(outline) == "2, 3, 4, 1"


def test_gold_is_what_overlaps_by_half() -> None:
    dataset = _dataset()
    paragraphs = [
        chunk
        for document in dataset.documents
        for chunk in ParagraphSplitter().split(document)
    ]
    gold = gold_chunks(dataset.questions[0], paragraphs)
    assert [chunk.text.strip()[:24] for chunk in gold] == ["The heron of north eats "]


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


def test_targets_are_compared_both_ways() -> None:
    def system(tokens: float, calls: float) -> dict[str, dict[str, float]]:
        return {"means": {"tokens": tokens, "calls": calls}}

    lines = target_lines(
        {
            "D3-BASE": system(40, 2.2),
            "CHUNK": system(100, 2),
            "MAP-REDUCE OPTIMIZED": system(130, 3),
        }
    )
    assert [line.endswith(": reached.") for line in lines] == [True, False, False]
    assert target_lines({"CHUNK": system(1, 1)}) == []


@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_slow_server_is_kept_busy_within_its_limit(
    agent: bool, asynchronous: bool
) -> None:
    seconds, _, server = d3_server.timed(
        _dataset(), agent=agent, asynchronous=asynchronous, delay=0.05
    )
    assert server.most == d3_server.LIMIT
    assert server.calls >= 200
    assert (
        seconds < 4 * server.calls * 0.05 / d3_server.LIMIT
    )  # one call after the other takes 8; the benchmark's own limit is 1.2


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
    assert page in capsys.readouterr().out
    assert "3 questions" in page
    assert "| CHUNK | 100.0" in page
    assert "| sections named too many | tokens | calls | of CHUNK's tokens |" in page
    assert list(
        json.loads((tmp_path / "d3_oracle.json").read_text(encoding="utf-8"))
    ) == [
        "CHUNK",
        "D3-BASE",
    ]


def test_evidence_without_a_model_is_compared_with_plain_retrieval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(d3, "load_or_exit", lambda name: _dataset())
    first = ParagraphSplitter().split(_dataset().documents[0])[
        1
    ]  # what BM25 puts first, and is no evidence
    monkeypatch.setattr(d3_evidence, "BUDGET", count_tokens(first.text) + 20)
    monkeypatch.setattr(d3_evidence, "SUMMARIES", (40,))
    d3.main(
        [
            "--evidence",
            "--embedder",
            "lsa",
            "--set",
            "made up",
            "--output",
            str(tmp_path),
        ]
    )
    page = (tmp_path / "d3_evidence.md").read_text(encoding="utf-8")
    assert page in capsys.readouterr().out
    assert "### made up: 2 documents, 8 questions" in page
    figures = json.loads((tmp_path / "d3_evidence.json").read_text(encoding="utf-8"))
    systems = figures["systems"]["made up"]
    assert list(systems) == ["BM25", "dense", "fused", "D3"]
    assert {
        system["paragraphs"] for name, system in systems.items() if name != "D3"
    } == {8}
    assert systems["D3"]["paragraphs"] <= 8
    assert systems["D3"]["parts"] == 4
    assert 0 < systems["BM25"][d3_evidence.RECALL] < 1
    assert list(figures["summaries"]["made up"]) == ["40"]


def test_the_figures_of_a_ranking() -> None:
    dataset = _dataset()
    question, document = dataset.questions[0], dataset.documents[0]
    paragraphs = ParagraphSplitter().split(document)
    measure = SpanMeasure(dataset.texts)
    best = d3_evidence.ranking_figures(question, paragraphs[:1], paragraphs, measure)
    assert set(best.values()) == {1.0}
    worse = d3_evidence.ranking_figures(
        question, paragraphs[1:3] + paragraphs[:1], paragraphs, measure
    )
    assert worse[d3_evidence.F1] == pytest.approx(0.5)
    none = d3_evidence.ranking_figures(question, paragraphs[3:], paragraphs, measure)
    assert set(none.values()) == {0.0}
    either = replace(
        question, gold=(question.gold[0], dataset.questions[1].gold[0]), any=True
    )
    assert (
        d3_evidence.ranking_figures(either, paragraphs[:1], paragraphs, measure) == best
    )


def test_any_model_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(d3, "load_or_exit", lambda name: _dataset())
    monkeypatch.setattr(d3, "a_model", lambda prompt: "1", raising=False)
    d3.main(
        [
            "--llm",
            "benchmarks.d3:a_model",
            "--systems",
            "D3-BASE",
            "--questions",
            "2",
            "--output",
            str(tmp_path),
        ]
    )
    assert "D3-BASE" in (tmp_path / "d3.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        d3.main(["--oracle", "--systems", "nothing", "--output", str(tmp_path)])
    with pytest.raises(SystemExit):
        d3.main(["--systems", "CHUNK"])


def test_a_slow_server_answers_as_its_model() -> None:
    server = SlowServer(oracle_for(_dataset()), 0.0)
    prompt = (
        "Evidence:\n[1] x\n\nQuestion: When does the lynx of north eat? (7)\nAnswer:"
    )
    assert server.complete(prompt) == "Unanswerable"
    assert (server.calls, server.open) == (1, 0)
