"""The self-test: what is asked, what is kept out of the index, and what the scores say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fixture_cases import examples
from samples import TOPICS, manual

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.evaluation.passages import Passages
from structrag.evaluation.selftest import (
    make_selftest,
    selftest_scores,
)
from structrag.evaluation.withholding import withheld_chunks
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.text.tokens import count_tokens


def test_headings_and_references_are_asked_for_the_text_below() -> None:
    document = manual()
    test = make_selftest([document])
    headings = [question for question in test.questions if question.kind == "heading"]
    assert [question.question for question in headings] == [
        "Manual",
        *(f"Care of the {topic}" for topic in TOPICS),
    ]
    for question in headings[1:]:
        _, start, end = question.gold
        body = document.text[start:end]
        assert (
            body.strip().startswith(f"The {question.question.split()[-1]} must")
            and "##" not in body
        )
    pointers = [question for question in test.questions if question.kind == "reference"]
    assert len(pointers) == len(TOPICS)
    assert (
        pointers[0].question
        == "Before you store it for long, read what to do about the neighbouring part."
    )
    assert document.text[pointers[0].gold[1] :].strip().startswith("The bramble must")


@pytest.mark.parametrize(
    "splitter", [ContentAwareSplitter(max_tokens=60), FixedSplitter(90), HiQASplitter()]
)
def test_nothing_that_is_asked_is_in_the_index(splitter: ContentAwareSplitter) -> None:
    document = manual()
    test = make_selftest([document])
    kept = withheld_chunks(splitter.split(document), test.withheld)
    index = Index(splitter=_Given(kept), views=("raw",))
    index.add([document])
    texts = [index.store.view_text(row, "raw") or "" for row in range(len(index))]
    assert texts == [chunk.index_text for chunk in kept]
    for question in test.questions:
        assert not any(question.question in " ".join(text.split()) for text in texts)
    assert not any(
        "Care of" in text or "care-of" in text or "read [what" in text for text in texts
    )
    assert any("must be rinsed" in text for text in texts)


class _Given:
    def __init__(self, chunks: Sequence[object]) -> None:
        self.chunks = chunks

    def split(self, document: Document) -> list[object]:
        return list(self.chunks)


def test_a_method_that_keeps_sections_whole_finds_all_of_them() -> None:
    document = manual()
    test = make_selftest([document], budget=200)
    scores = selftest_scores(
        test, [document], {document.id: ContentAwareSplitter().split(document)}
    )
    assert set(scores) == {"heading", "reference"}
    assert all(0 <= value <= 1 for values in scores.values() for value in values)
    assert sum(scores["heading"][1:]) / len(TOPICS) > 0.9


def test_duplicate_short_and_long_sections_are_not_asked() -> None:
    words = (
        "The filter is rinsed with clear water and then left to dry for a day or two. "
        * 3
    )
    unique = "".join(f"## Topic {topic}\n\n{words}\n\n" for topic in TOPICS[:12])
    same = f"## Storage\n\n{words}\n\n## 4.2 storage\n\n{words}\n\n"
    rest = f"## Tiny\n\nYes.\n\n## 7\n\n{words}\n\n## Endless\n\n{words * 40}\n"
    test = make_selftest([read_text(unique + same + rest, format="markdown")])
    assert len(test.questions) == 12 and test.headings == 17
    assert test.left_out == {
        "with words that another heading has": 2,
        "above less than 20 tokens of text": 1,
        "without a word of three letters": 1,
        "above more than 1000 tokens of text": 1,
    }


def test_few_headings_make_no_questions() -> None:
    few = make_selftest([manual(TOPICS[:5])])
    assert few.questions == () and few.left_out == {"too few to ask": few.headings}
    assert make_selftest([read_text("")]).questions == ()


def test_many_headings_are_drawn_the_same_each_time() -> None:
    first = make_selftest([manual()], most=11)
    assert first == make_selftest([manual()], most=11)
    asked = [
        question.question for question in first.questions if question.kind == "heading"
    ]
    assert len(asked) == 11 and first.left_out["not drawn"] == 10
    assert len(first.questions) == 22


def words_of(tokens: int) -> str:
    """A text of so many tokens."""
    text = "Rinse it"
    while count_tokens(text) < tokens:
        text += " a"
    assert count_tokens(text) == tokens
    return text


@examples
def test_a_section_of_20_tokens_up_to_the_budget_is_asked(
    tokens: int, reason: str | None
) -> None:
    sections = [f"## Topic {topic}\n{words_of(30)}" for topic in TOPICS[:12]]
    sections.insert(5, f"## Special\n{words_of(tokens)}")
    document = read_text("\n".join(sections), format="markdown")
    test = make_selftest([document], budget=60)
    assert test.left_out == ({} if reason is None else {reason: 1})
    is_asked = any(question.question == "Special" for question in test.questions)
    assert is_asked is (reason is None) and test.budget == 60


@examples
def test_a_heading_has_a_word_of_three_letters(title: str, is_asked: bool) -> None:
    sections = [f"## Topic {topic}\n\n{words_of(30)}" for topic in TOPICS[:12]]
    text = "\n\n".join([*sections, f"## {title}\n\n{words_of(30)}"])
    test = make_selftest([read_text(text, format="markdown")])
    assert (len(test.questions) == 13) is is_asked
    assert not is_asked or test.questions[-1].question == title.removeprefix("3.2 ")


def test_ten_questions_of_a_kind_are_enough() -> None:
    # Nine topics are ten headings and nine references.
    ten = make_selftest([manual(TOPICS[:9])])
    assert [question.kind for question in ten.questions] == ["heading"] * 10
    nine = make_selftest([manual(TOPICS[:8])])
    assert (nine.questions, nine.left_out) == ((), {"too few to ask": 9})
    both = make_selftest([manual(TOPICS[:10])])
    assert [question.kind for question in both.questions].count("reference") == 10


def test_as_many_as_there_are_need_no_drawing() -> None:
    all_of_them = make_selftest([manual()], most=len(TOPICS) + 1)
    assert "not drawn" not in all_of_them.left_out
    assert make_selftest([manual()], most=len(TOPICS)).left_out == {"not drawn": 1}


def test_passages_are_scored_over_what_is_not_withheld() -> None:
    document = manual()
    test = make_selftest([document], budget=200)
    calls: list[tuple[str, int, int]] = []
    scores = selftest_scores(
        test,
        [document],
        Passages(),
        progress=lambda *call: calls.append(call),
    )
    assert {kind: len(values) for kind, values in scores.items()} == {
        "heading": len(TOPICS) + 1,
        "reference": len(TOPICS),
    }
    assert all(0 <= value <= 1 for values in scores.values() for value in values)
    assert sum(scores["heading"]) > 0
    count = len(test.questions)
    assert calls == [("questions", number, count) for number in range(1, count + 1)]
