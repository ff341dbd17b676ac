"""Sections, parts and paragraphs as chunks; summaries whatever the model does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from doubles import ScriptedModel
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.retrieval.d3.condensing import (
    SUMMARY_TOKENS,
    ParagraphSplitter,
    PartSplitter,
    SectionSplitter,
)
from structrag.text.tokens import count_tokens

LONG = " ".join(f"Sentence number {i} tells of thing {i % 7}." for i in range(80))
PAPER = (
    f"# Paper\n\nPreamble.\n\n## Method\n\n{LONG}\n\nSecond.\n\n## Heading only\n\n### "
    "Deep\n\n- a\n- b\n"
)

markdown = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B, C",
            "### A",
            "text here.",
            "more text\nin two lines",
            "- item",
            "",
            "| a |\n|---|\n| 1 |",
            "\u4f60\u597d",
        ]
    ),
    max_size=14,
).map("\n\n".join)


@given(text=markdown)
@settings(max_examples=80, deadline=None)
def test_units_are_slices_in_order_and_each_paragraph_is_in_one_section_and_one_part(
    text: str,
) -> None:
    document = read_text(text, format="markdown")
    paragraphs = ParagraphSplitter().split(document)
    for unit in (
        SectionSplitter(),
        SectionSplitter(section_tokens=4),
        SectionSplitter(section_tokens=0),
        PartSplitter(5),
    ):
        chunks = unit.split(document)
        assert all(
            chunk.text == text[chunk.start : chunk.end] and chunk.text.strip()
            for chunk in chunks
        )
        assert all(a.end <= b.start for a, b in pairwise(chunks))
        for paragraph in paragraphs:
            assert (
                sum(
                    chunk.start <= paragraph.start and paragraph.end <= chunk.end
                    for chunk in chunks
                )
                == 1
            )


def test_a_section_above_the_window_is_summarised_in_parts_then_once_more() -> None:
    model = ScriptedModel("Part.")
    text = PAPER.replace(LONG, LONG * 8)
    splitter = SectionSplitter(section_tokens=0)
    splitter.split(read_text(text, format="markdown"), llm=model)
    tokens = count_tokens(LONG * 8)
    assert len(model.prompts) > tokens // 1000 + 1 > 2
    assert "Part.\nPart." in model.prompts[-1]


@pytest.mark.parametrize(
    "answer", ["", "I'm sorry, I cannot do that.", OSError("down"), LONG * 3]
)
def test_useless_summaries_are_replaced_by_the_sections_own_words(
    answer: str | Exception,
) -> None:
    chunks = SectionSplitter().split(
        read_text(PAPER, format="markdown"), llm=ScriptedModel(answer)
    )
    summary = chunks[1].extras["summary"]
    assert 0 < count_tokens(summary) <= SUMMARY_TOKENS
    assert bool(chunks[1].extras.get("degraded")) == (answer != LONG * 3)
    published = SectionSplitter.paper().split(
        read_text(PAPER, format="markdown"), llm=ScriptedModel(answer)
    )
    is_used = isinstance(answer, str) and bool(answer)  # a refusal too
    assert (published[1].extras["summary"] == str(answer).strip()) is is_used


@examples
def test_settings_are_checked(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        SectionSplitter(**changes)  # type: ignore[arg-type]


def words(text: str) -> int:
    return len(text.split())


def test_a_summary_of_exactly_the_tokens_stays() -> None:
    body = "One two three four. Five six seven eight. Nine ten eleven twelve thirteen."
    document = read_text(f"# A\n\n{body}\n", format="markdown")
    splitter = SectionSplitter(summary_tokens=8, whole_tokens=8, counter=words)
    for answer, summary in (
        ("a b c d e f g h", "a b c d e f g h"),
        (
            "One two three four. Five six seven eight nine.",
            "One two three four.",
        ),  # cut behind a sentence
        # Longer than the body.
        (f"{body} And more.", "One two three four. Five six seven eight."),
        (body, "One two three four. Five six seven eight."),
    ):
        (chunk,) = splitter.split(document, llm=ScriptedModel(answer))
        assert chunk.extras["summary"] == summary
    longer = replace(splitter, summary_tokens=13)
    (chunk,) = longer.split(document, llm=ScriptedModel(body))
    assert chunk.extras["summary"] == body  # as long as the body
