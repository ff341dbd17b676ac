"""The loader of the evaluation sets, and the sets' own promises."""

from __future__ import annotations

import pytest

from benchmarks.question_sets import (
    NAMES,
    DataMissing,
    Dataset,
    Question,
    data_root,
    load,
    load_or_exit,
    map_gold,
)
from structrag.errors import InvalidParameter
from structrag.records import Document

COUNTS = {
    "boards": (1430, 600),
    "chroma": (5, 472),
    "covid_qa": (39, 619),
    "cuad": (120, 1131),
    "hotpotqa": (994, 100),
    "nq": (7, 36),
    "qasper": (10, 43),
    "qmsum": (35, 237),
}


@pytest.fixture(scope="module")
def data() -> None:
    try:
        data_root()
    except DataMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", NAMES)
def test_sets(data, name) -> None:
    dataset = load(name)
    assert (len(dataset.documents), len(dataset.questions)) == COUNTS[name]
    texts = dataset.texts
    assert len(texts) == len(dataset.documents)
    assert len({question.id for question in dataset.questions}) == len(
        dataset.questions
    )
    for question in dataset.questions:
        assert question.gold
        assert question.mode == ("any" if name == "nq" else "all")
        for doc_id, start, end in question.gold:
            assert 0 <= start < end <= len(texts[doc_id])
    assert load(name) == dataset


def test_map_gold() -> None:
    source = Document("<b>two</b><p>words", id="d", format="html")
    spans = ((3, 6), (0, 10), (0, 3), (13, 18), (10, 18))
    question = Question(
        "q",
        "?",
        ("two", "words"),
        tuple(("d", start, end) for start, end in spans),
        any=True,
    )
    shown = [
        0,
        0,
        0,
        0,
        1,
        2,
        *[4] * 7,
        4,
        5,
        6,
        7,
        8,
        9,
    ]  # the line end between the blocks is not in the source

    def text_offset(document: Document, offset: int) -> int:
        assert document.text == "two\nwords"
        return shown[offset]

    mapped = map_gold(
        Dataset("x", (source,), (question,)),
        [Document("two\nwords", id="d")],
        text_offset,
    )
    found = [mapped.texts["d"][start:end] for _, start, end in mapped.questions[0].gold]
    assert found == ["two", "two\n", "words", "words"]  # the tag alone is dropped
    assert mapped.questions[0].answers == question.answers


def test_absent_data(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("STRUCTRAG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataMissing, match="set STRUCTRAG_DATA to the folder"):
        load("nq")
    with pytest.raises(SystemExit) as stop:
        load_or_exit("nq")
    assert stop.value.code == 0
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("STRUCTRAG_DATA", str(tmp_path))
    with pytest.raises(DataMissing, match="'nq' is incomplete"):
        load("nq")
    with pytest.raises(
        InvalidParameter, match=r"name must be one of 'boards', .*; got 'trivia'"
    ):
        load("trivia")
