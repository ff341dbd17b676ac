"""The self-test: what is asked, what is kept out of the index, and what the scores say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import TOPICS, manual

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.evaluation.references import references
from structrag.evaluation.selftest import make_selftest, selftest_scores
from structrag.evaluation.withholding import title_key, withheld_chunks, withheld_spans
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Document


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
    assert not any("Care of" in text or "care-of" in text or "read [what" in text for text in texts)
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
    words = "The filter is rinsed with clear water and then left to dry for a day or two. " * 3
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
    asked = [question.question for question in first.questions if question.kind == "heading"]
    assert len(asked) == 11 and first.left_out["not drawn"] == 10
    assert len(first.questions) == 22


def test_references_lead_by_anchor_file_definition_and_number() -> None:
    guide = read_text(
        "# Guide\n\n## 3.2 Cold start\n\nLet the engine run for a minute.\n\n## Notes "
        "{#own-name}\n\n"
        "For engines in winter see section 3.2 before you begin. All about that is written in [the "
        "list][terms] of words. "
        "Other things are told [elsewhere](https://example.org/x#terms) by other people. "
        "Two things, [one](#32-cold-start) and [two](terms.md#terms), are told in different "
        "sections.\n\n"
        "[terms]: ../docs/terms.md#terms\n",
        format="markdown",
        id="docs/guide.md",
    )
    terms = read_text(
        "# Words\n\nWhat they mean is told in [the notes](guide.md#own-name) of the guide.\n\n## "
        "Terms\n\nSome.\n",
        format="markdown",
        id="docs/terms.md",
    )
    found = references([parse(guide), parse(terms)])
    assert [(each.words, each.target.title) for each in found] == [
        ("For engines in winter see section 3.2 before you begin.", "3.2 Cold start"),
        ("All about that is written in the list of words.", "Terms"),
        ("What they mean is told in the notes of the guide.", "Notes"),
    ]
    assert guide.text[found[0].start : found[0].end].strip() == found[0].words


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("3.2 Drop scopes", "Drop Scopes"),
        ("Appendix A: Terms", "terms"),
        ("Chapter 4 `Use`", "use"),
    ],
)
def test_titles_are_equal_by_their_words(first: str, second: str) -> None:
    assert title_key(first) == title_key(second)


def test_a_title_of_a_number_or_an_article_keeps_its_words() -> None:
    assert title_key("7") == "7"
    assert title_key("A simple example") == "a simple example"


@given(
    st.lists(
        st.sampled_from(
            ["# One two\n", "Some words here.\n", "\n", "- One two\n", "1. one two 7\n", "x\n"]
        ),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_what_is_left_is_the_text_without_what_is_withheld(lines: list[str]) -> None:
    document = read_text("".join(lines), format="markdown", id="d")
    withheld = withheld_spans([parse(document)], [])
    for splitter in (ContentAwareSplitter(max_tokens=8), FixedSplitter(5)):
        kept = withheld_chunks(splitter.split(document), withheld)
        for chunk in kept:
            assert chunk.context == "" and chunk.index_text.strip()
            assert set(chunk.index_text) <= set(chunk.text) | {"\n"}
        left = "".join("".join(chunk.index_text for chunk in kept).split())
        ranges = withheld.get("d", [])
        expected = "".join(
            c for i, c in enumerate(document.text) if not any(a <= i < b for a, b in ranges)
        )
        assert left == "".join(expected.split())
