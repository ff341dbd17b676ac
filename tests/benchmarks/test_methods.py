"""The table of all methods and peers: where peers' chunks stand, what the tables say, what a second
run keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import methods
from benchmarks.methods_peers import by_size
from benchmarks.methods_systems import Models, System, own_systems
from benchmarks.methods_tables import mean_of_sets
from benchmarks.placing import placed
from benchmarks.question_sets import Dataset, Question
from structrag import read_text
from structrag.text.tokens import count_tokens
from tests.doubles import HashEmbedder

TEXT = (
    "# Alpha\n\nThe pump needs oil. Fill it to the mark.\n\n# Beta\n\nThe valve opens at noon. "
    "It closes at night.\n"
)


@pytest.mark.parametrize(
    ("text", "parts", "spans"),
    [
        ("One two.\n\nThree  four.", ["One two. Three", "four."], [(0, 15), (17, 22)]),
        ("Yes. No. Yes.", ["Yes.", "No.", "Yes."], [(0, 4), (5, 8), (9, 13)]),
        ("a b c d e f", ["a b c", "b c d", "d e f"], [(0, 5), (2, 7), (6, 11)]),
    ],
    ids=["white space", "repeated", "overlapping"],
)
def test_chunks_are_found_again(
    text: str, parts: list[str], spans: list[tuple[int, int]]
) -> None:
    chunks = placed(read_text(text), parts)
    assert [(chunk.start, chunk.end) for chunk in chunks] == spans


def test_a_text_in_other_words_is_placed_by_those_it_shares() -> None:
    text = (
        "Before it.\n\n| part | size |\n|---|---|\n| the red lamp on top | 10 mm wide "
        "|\n\nBehind it."
    )
    (chunk,) = placed(read_text(text), ["x = the red lamp on top. 10 mm wide"])
    assert text[chunk.start : chunk.end] == "the red lamp on top | 10 mm wide"


def test_a_text_that_is_nowhere_is_left_out_and_the_context_is_kept() -> None:
    chunks = placed(
        read_text("One two three."),
        ["four five six", "One two three."],
        ["", "Numbers"],
    )
    assert [(chunk.text, chunk.index_text) for chunk in chunks] == [
        ("One two three.", "Numbers\nOne two three.")
    ]


def test_every_peer_that_reads_text_gives_nearly_all_of_it_back() -> None:
    document = read_text(TEXT * 20, format="markdown")
    peers, _ = by_size({})
    for name, peer in peers.items():
        (chunks,) = peer.split([document])
        assert sum(chunk.end - chunk.start for chunk in chunks) > 0.9 * len(
            document.text.strip()
        ), name


@pytest.fixture
def dataset() -> Dataset:
    document = read_text(TEXT, format="markdown", id="manual")
    gold = TEXT.index("The valve")
    question = Question(
        "q", "When does the valve open?", (), (("manual", gold, gold + 24),), False
    )
    return Dataset(
        "qasper",
        (document,),
        (question, replace(question, id="r", question="valve noon")),
    )


@pytest.mark.parametrize(
    "system",
    [each for each in own_systems() if "static" not in each.name],
    ids=lambda system: system.name,
)
def test_every_method_of_ours_finds_the_only_evidence(
    system: System, dataset: Dataset
) -> None:
    found = methods.measured(
        system, dataset, Models(HashEmbedder(), None), count_tokens
    )
    assert found["recall"]["both 1000"] == [1.0, 1.0]
    assert found["chunks"] >= 1 and found["largest"] >= found["tokens"]


def test_a_cell_is_measured_once_and_again_on_demand(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(methods, "KEPT", tmp_path)
    calls = []
    recall = {"both 1000": [1.0, 1.0]}
    monkeypatch.setattr(
        methods,
        "measured",
        lambda *_: calls.append(1) or {"recall": recall, "seconds": 1},
    )
    one = methods.Sample(dataset, 1, 2)
    row = own_systems()[0]
    for again in (False, False, True):
        assert (
            methods.cell(row, one, Models(None, None), count_tokens, again)["recall"]
            == recall
        )
    assert len(calls) == 2


def test_the_mean_gives_sets_equal_weight() -> None:
    interval = mean_of_sets([[1.0], [0.0, 0.0, 0.0]])
    assert (interval.mean, interval.low, interval.high) == (50.0, 50.0, 50.0)
