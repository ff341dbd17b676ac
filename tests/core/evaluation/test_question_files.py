"""Files of questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixture_cases import examples
from question_making import DOCUMENTS, questions_of

from structrag.errors import InvalidParameter
from structrag.evaluation.question_files import read_questions


def test_json_and_csv_hold_the_same(tmp_path: Path) -> None:
    records = [
        {"question": "a", "quote": "Keep it dry"},
        {"question": "b", "doc": "pump.md"},
        {"question": "c", "doc": "pump.md", "start": 2, "end": 6},
    ]
    expected = questions_of(tmp_path, *records)
    (tmp_path / "q.json").write_text(json.dumps({"questions": records}))
    (tmp_path / "list.json").write_text(json.dumps(records))
    rows = [
        "question,quote,doc,start,end",
        "a,Keep it dry,,,",
        "b,,pump.md,,",
        "c,,pump.md,2,6",
    ]
    (tmp_path / "q.csv").write_text(
        "\ufeff" + "\r\n".join(rows) + "\r\n", encoding="utf-8", newline=""
    )
    for name in ("q.json", "list.json", "q.csv"):
        assert read_questions(tmp_path / name, DOCUMENTS) == expected


@examples
@pytest.mark.parametrize("declared", ["", "sep=;\r\n"])
def test_questions_come_from_excel(
    tmp_path: Path, name: str, encoding: str, declared: str
) -> None:
    rows = [
        ["Question", "quote ", "Answer"],
        ["Wie hält man sie, kurz gesagt, trocken?", '"Keep\nit dry"', ""],
        ['"Why; and when?"', "dry", ""],
        ["", "", ""],
        ["What, then?", "", "dry"],
    ]
    is_tabbed = name == "q.tsv"
    text = "".join(("\t" if is_tabbed else ";").join(row) + "\r\n" for row in rows)
    text = ("" if is_tabbed else declared) + text
    (tmp_path / name).write_bytes(text.encode(encoding))
    read = read_questions(tmp_path / name, DOCUMENTS)
    assert [question.question for question in read] == [
        "Wie hält man sie, kurz gesagt, trocken?",
        "Why; and when?",
        "What, then?",
    ]
    assert all(question.places for question in read)


@examples
def test_a_bad_line_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "a", "quote": "dry"}\n' + line + "\n")
    with pytest.raises(InvalidParameter) as error:
        read_questions(path, DOCUMENTS)
    assert sentence in str(error.value) and "Line 2 of q.jsonl" in str(error.value)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"must end in \.jsonl, .*\.tsv"):
        read_questions(tmp_path / "q.txt", DOCUMENTS)
    with pytest.raises(
        InvalidParameter, match=r"Cannot read the questions in .*No such file"
    ):
        read_questions(tmp_path / "q.jsonl", DOCUMENTS)
    for name, text, sentence in (
        ("q.jsonl", "\n \n", "There is no question"),
        ("q.json", "[]", "There is no question"),
        ("q.csv", "question,quote\n", "There is no question"),
        ("q.csv", "Frage;Zitat\na;b\n", "must name its columns.*got 'frage', 'zitat'"),
        ("q.csv", "a,Keep it dry\n", "The first row of q.csv must name its columns"),
        ("q.json", "{}", "must hold a list of questions"),
        ("q.json", "[", "q.json is not JSON"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidParameter, match=sentence):
            read_questions(tmp_path / name, DOCUMENTS)
    (tmp_path / "q.jsonl").write_bytes(b"a\0b")
    with pytest.raises(InvalidParameter, match="it holds no text"):
        read_questions(tmp_path / "q.jsonl", DOCUMENTS)


@examples
def test_spans_may_be_lists_or_objects(
    tmp_path: Path, value: object, span: tuple[int, int]
) -> None:
    (question,) = questions_of(tmp_path, {"question": "a", "span": value})
    assert question.spans == ((DOCUMENTS[0].id, *span),)


def test_places_of_questions_count_blank_lines_from_one(tmp_path: Path) -> None:
    for name, text, place in (
        ("q.jsonl", "\n\n3\n", "Line 3"),
        ("q.json", '[{"question": "a", "doc": "pump.md"}, 3]', "Question 2"),
        ("q.csv", "question,doc\na,pump.md\n,pump.md\n", "Line 3"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidParameter, match=f"{place} of {name}: "):
            read_questions(tmp_path / name, DOCUMENTS)


@examples
def test_a_question_has_one_kind_of_gold(
    tmp_path: Path, gold: dict[str, object]
) -> None:
    with pytest.raises(InvalidParameter, match="must have one kind of gold"):
        questions_of(tmp_path, {"question": "a", **gold})


@examples
def test_spans_outside_of_the_document_are_refused(
    tmp_path: Path, value: object, sentence: str
) -> None:
    with pytest.raises(InvalidParameter) as error:
        questions_of(tmp_path, {"question": "a", "spans": value})
    assert sentence in str(error.value)


def test_of_two_documents_to_look_in_neither_is_named(tmp_path: Path) -> None:
    docs = [document.id for document in DOCUMENTS[:2]]
    with pytest.raises(InvalidParameter, match="'x9' was not found in the documents;"):
        questions_of(tmp_path, {"question": "a", "quote": "x9", "docs": docs})
