"""Labelled questions: reading them, finding their quotes, and what recall says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.labelled import GoldQuestion, evaluate, question_recall
from structrag.evaluation.measure import SpanMeasure
from structrag.evaluation.question_files import read_questions
from structrag.evaluation.quotes import QuoteFinder
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.show.evaluation import plot_evaluation

PUMP = (
    "# Pump\n\n## Cleaning\n\nRinse the filter\nmonthly with  water.\n\n## Storage\n\nKeep it "
    "dry at 7 degrees.\n"
)
TANK = "# Tank\n\nFill it to 17 litres. Rinse the filter weekly.\n"
DOCUMENTS = [
    read_text(PUMP, format="markdown", id="docs/pump.md"),
    read_text(TANK, format="markdown", id="docs/tank.md"),
    read_text("Nothing of interest.", format="text", id="old/tank.md"),
]


def questions_of(tmp_path: Path, *records: object) -> list[GoldQuestion]:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return read_questions(path, DOCUMENTS)


def test_every_kind_of_gold_is_read(tmp_path: Path) -> None:
    spans, quotes, answers, docs, inside = questions_of(
        tmp_path,
        {
            "question": "a",
            "spans": [["pump.md", 0, 6], {"doc": "docs/tank.md", "start": 2, "end": 6}],
        },
        {"question": "b", "quotes": ["filter monthly with water.", "Fill it to 17 litres."]},
        {"question": "c", "answer": ["7", "seven"]},
        {"question": "d", "docs": ["pump.md", "docs/tank.md"]},
        {"query": "e", "quote": "Rinse the filter", "doc": "docs/tank.md"},
    )
    assert spans.spans == (("docs/pump.md", 0, 6), ("docs/tank.md", 2, 6))
    (first,), (second,) = quotes.places
    assert PUMP[first[1] : first[2]] == "filter\nmonthly with  water."
    assert TANK[second[1] : second[2]] == "Fill it to 17 litres."
    ((place,),) = answers.places
    assert place == ("docs/pump.md", PUMP.index("7 degrees"), PUMP.index(" degrees"))
    assert docs.docs == ("docs/pump.md", "docs/tank.md")
    assert (
        inside.places == ((("docs/tank.md", TANK.index("Rinse"), TANK.index(" weekly")),),)
        and not inside.docs
    )


def test_json_and_csv_hold_the_same(tmp_path: Path) -> None:
    records = [
        {"question": "a", "quote": "Keep it dry"},
        {"question": "b", "doc": "pump.md"},
        {"question": "c", "doc": "pump.md", "start": 2, "end": 6},
    ]
    expected = questions_of(tmp_path, *records)
    (tmp_path / "q.json").write_text(json.dumps({"questions": records}))
    (tmp_path / "list.json").write_text(json.dumps(records))
    rows = ["question,quote,doc,start,end", "a,Keep it dry,,,", "b,,pump.md,,", "c,,pump.md,2,6"]
    (tmp_path / "q.csv").write_text(
        "\ufeff" + "\r\n".join(rows) + "\r\n", encoding="utf-8", newline=""
    )
    for name in ("q.json", "list.json", "q.csv"):
        assert read_questions(tmp_path / name, DOCUMENTS) == expected


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "Line 2 of q.jsonl is not JSON"),
        ("3", "Line 2 of q.jsonl: a question must be an object"),
        ('{"quote": "dry"}', "Line 2 of q.jsonl: 'question' must be a text"),
        (
            '{"question": "a"}',
            "must have its gold as 'spans', 'quotes', 'answers' or 'docs'; got none",
        ),
        ('{"question": "a", "quote": "dry", "answer": "dry"}', "must have one kind of gold"),
        (
            '{"question": "a", "quote": "Rinse the tank"}',
            "'Rinse the tank' was not found in the documents; it must",
        ),
        (
            '{"question": "a", "quote": "dry", "doc": "docs/tank.md"}',
            "'dry' was not found in 'docs/tank.md'",
        ),
        (
            '{"question": "a", "answers": ["x9", "y9"]}',
            "'x9' was not found in the documents (nor its 1 other spellings)",
        ),
        ('{"question": "a", "quotes": [4]}', "'quotes' must be a text or a list of texts"),
        ('{"question": "a", "doc": "well.md"}', "there is no document 'well.md'; there are 3"),
        ('{"question": "a", "doc": "tank.md"}', "'tank.md' is the end of 2 documents' names"),
        (
            '{"question": "a", "doc": ""}',
            "'docs' must be a text or a list of texts, none of them blank",
        ),
        ('{"question": "a", "spans": [["pump.md", 4]]}', "a span must be [document, start, end]"),
        (
            '{"question": "a", "spans": [["pump.md", 4, 4]]}',
            "a span must have 0 <= start < end <= ",
        ),
        ('{"question": "a", "spans": [["pump.md", 4, 4000]]}', "got 4 and 4000"),
        (
            '{"question": "a", "spans": [["pump.md", "x", 9]]}',
            "a span must be [document, start, end]",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "a", "quote": "dry"}\n' + line + "\n")
    with pytest.raises(InvalidParameter) as error:
        read_questions(path, DOCUMENTS)
    assert sentence in str(error.value) and "Line 2 of q.jsonl" in str(error.value)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"must end in \.jsonl, \.json or \.csv"):
        read_questions(tmp_path / "q.txt", DOCUMENTS)
    with pytest.raises(InvalidParameter, match=r"Cannot read the questions in .*No such file"):
        read_questions(tmp_path / "q.jsonl", DOCUMENTS)
    for name, text, sentence in (
        ("q.jsonl", "\n \n", "There is no question"),
        ("q.json", "[]", "There is no question"),
        ("q.csv", "question,quote\n", "There is no question"),
        ("q.json", "{}", "must hold a list of questions"),
        ("q.json", "[", "q.json is not JSON"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidParameter, match=sentence):
            read_questions(tmp_path / name, DOCUMENTS)
    (tmp_path / "q.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidParameter, match="it is not UTF-8"):
        read_questions(tmp_path / "q.jsonl", DOCUMENTS)


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=4))
@settings(max_examples=200, deadline=None)
def test_a_place_holds_the_quote_and_every_place_is_found(text: str, quote: str) -> None:
    document = Document(text, id="d")
    found = QuoteFinder([document]).find(quote)
    for _, start, end in found:
        assert text[start:end].split() == quote.split()
    words, wanted = text.split(), quote.split()
    runs = (
        sum(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))
        if wanted
        else 0
    )
    assert len(found) == runs


def test_recall_by_hand() -> None:
    measure = SpanMeasure({"d": "abcdefghij", "e": "abcdefghij"})
    found = [("d", 0, 5)]
    assert (
        question_recall(GoldQuestion("q", spans=(("d", 0, 5), ("e", 0, 5))), found, measure) == 0.5
    )
    places = ((("e", 0, 4), ("d", 3, 7)), (("d", 0, 2),))
    assert question_recall(GoldQuestion("q", places=places), found, measure) == (0.5 + 1) / 2
    assert question_recall(GoldQuestion("q", docs=("d", "e")), found, measure) == 0.5
    assert question_recall(GoldQuestion("q", docs=("d",)), [], measure) == 0


def test_evaluation_of_small_documents(tmp_path: Path) -> None:
    questions = questions_of(
        tmp_path,
        {
            "question": "How often is the pump's filter rinsed, monthly?",
            "quotes": ["Rinse the filter monthly"],
        },
        {"question": "How many litres?", "answers": ["17 litres"]},
        {"question": "storage dry degrees", "docs": ["pump.md"]},
    )
    splitters = {
        "sections": ContentAwareSplitter(),
        "again": ContentAwareSplitter(),
        "fixed": FixedSplitter(4),
    }
    found = evaluate(DOCUMENTS, splitters, questions, depths=(1, 2), budgets=(3, 500))
    assert list(found.methods[0].recall) == ["first 1", "first 2", "3 tokens", "500 tokens"]
    for method in found.methods:
        assert method.recall["500 tokens"].mean == 1.0  # everything fits
        assert method.recall["first 1"].mean <= method.recall["first 2"].mean
        assert method.recall["3 tokens"].mean < 1.0
        assert len(method.scores["first 1"]) == 3
    assert all(gap.mean == gap.low == gap.high == 0 for gap in found.methods[1].difference.values())
    assert found.methods[0].recall["first 1"].mean == 1.0
    figure = plot_evaluation(found)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["sections", "again", "fixed"]
    plot_evaluation(found, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameter, match="must end in"):
        plot_evaluation(found, tmp_path / "plot.txt")


def test_no_question_is_said() -> None:
    with pytest.raises(InvalidParameter, match="There is nothing to ask"):
        evaluate(DOCUMENTS, {"fixed": FixedSplitter()}, [])
