"""Sections, parts and paragraphs as chunks; summaries whatever the model does."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from doubles import Reluctant, ScriptedModel, split_twice
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import guide

from structrag import Cache
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.retrieval.d3.condensing import SUMMARY_TOKENS, SectionSplitter
from structrag.retrieval.d3.paragraphs import ParagraphSplitter, PartSplitter
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


def test_a_section_is_its_path_and_a_summary_no_longer_than_it() -> None:
    chunks = {
        chunk.path: chunk
        for chunk in SectionSplitter().split(read_text(PAPER, format="markdown"))
    }
    assert list(chunks) == [
        ("Paper",),
        ("Paper", "Method"),
        ("Paper", "Heading only"),
        ("Paper", "Heading only", "Deep"),
    ]
    assert chunks["Paper",].extras["summary"] == "Preamble."
    method = chunks["Paper", "Method"]
    assert (
        count_tokens(method.extras["summary"])
        <= SUMMARY_TOKENS
        < count_tokens(method.text)
    )
    assert method.index_text.startswith("Paper > Method\nSentence")
    heading = chunks["Paper", "Heading only"]
    assert heading.extras["summary"] == ""
    assert heading.text == "## Heading only\n\n"


def test_without_headings_whole_paragraphs_make_sections_of_up_to_1000_tokens() -> None:
    text = "\n\n".join(
        f"The {word} paragraph. {LONG[: len(LONG) // 2]}"
        for word in ("first", "second", "third")
    )
    chunks = SectionSplitter().split(Document(text=text))
    assert len(chunks) == 2
    assert all(chunk.extras["pseudo"] and chunk.path[0] for chunk in chunks)
    assert len({chunk.section_id for chunk in chunks}) == 2
    assert "".join(chunk.text for chunk in chunks) == text
    assert SectionSplitter().split(Document(text=" \n ")) == []


def test_the_model_is_asked_for_long_sections_only_and_in_the_paper_preset_for_all() -> (
    None
):
    document = read_text(PAPER, format="markdown")
    model = ScriptedModel("A summary.")
    chunks = SectionSplitter(window_tokens=5000).split(document, llm=model)
    assert len(model.prompts) == 1
    assert chunks[1].extras["summary"] == "A summary."
    unasked = ScriptedModel("A summary.")
    SectionSplitter(summaries="extractive").split(document, llm=unasked)
    assert unasked.prompts == []
    every = ScriptedModel("Short.")
    SectionSplitter.paper(window_tokens=5000).split(document, llm=every)
    assert len(every.prompts) == 3
    assert "Preamble." in [prompt.strip() for prompt in every.prompts]


def test_a_section_above_the_window_is_summarised_in_parts_then_once_more() -> None:
    model = ScriptedModel("Part.")
    SectionSplitter(window_tokens=200).split(
        read_text(PAPER, format="markdown"), llm=model
    )
    tokens = count_tokens(LONG)
    assert len(model.prompts) > tokens // 200 + 1
    assert "Part.\nPart." in model.prompts[-1]


@pytest.mark.parametrize(
    "answer", ["", "I'm sorry, I cannot do that.", OSError("down"), LONG * 3]
)
def test_useless_summaries_are_replaced_by_the_sections_own_words(
    answer: str | Exception,
) -> None:
    chunks = SectionSplitter(window_tokens=5000).split(
        read_text(PAPER, format="markdown"), llm=ScriptedModel(answer)
    )
    summary = chunks[1].extras["summary"]
    assert 0 < count_tokens(summary) <= SUMMARY_TOKENS
    assert bool(chunks[1].extras.get("degraded")) == (answer != LONG * 3)


def test_a_long_section_is_listed_in_parts_that_tile_it() -> None:
    text = (
        "# Top\n\n## Long\n\n"
        + "\n\n".join(f"Text {i}. {LONG}" for i in range(6))
        + "\n\n## Short\n\nWords.\n"
    )
    document = read_text(text, format="markdown")
    whole = SectionSplitter(section_tokens=0).split(document)
    chunks = SectionSplitter().split(document)
    parts = [chunk for chunk in chunks if "part" in chunk.extras]
    assert [chunk.extras["part"] for chunk in parts] == [
        [i, len(parts)] for i in range(1, len(parts) + 1)
    ]
    assert len(parts) > 2
    assert "".join(chunk.text for chunk in parts) == whole[1].text
    assert {(chunk.path, chunk.section_id) for chunk in parts} == {
        (whole[1].path, whole[1].section_id)
    }
    assert all(chunk.n_tokens <= 1010 for chunk in parts)
    assert len({chunk.extras["summary"] for chunk in parts}) == len(parts)
    assert [chunk for chunk in chunks if "part" not in chunk.extras] == [
        whole[0],
        whole[2],
    ]
    assert all(
        "part" not in chunk.extras
        for chunk in SectionSplitter.paper().split(document, llm=ScriptedModel("S"))
    )


def test_the_model_is_told_how_many_words() -> None:
    document = read_text(PAPER, format="markdown")
    for tokens, words in ((60, 46), (130, 100)):
        model = ScriptedModel("A summary.")
        SectionSplitter(summary_tokens=tokens).split(document, llm=model)
        assert f"of at most {words} words" in model.prompts[0]
    model = ScriptedModel("A summary.")
    SectionSplitter(prompt="{{words}} {words} {text}").split(document, llm=model)
    assert model.prompts[0].startswith("{words} 46 Sentence")


def test_a_section_of_200_000_tokens() -> None:
    text = "# Big\n\n" + "\n\n".join(
        f"Paragraph {i}. " + "word and other words here. " * 30 for i in range(1000)
    )
    started = time.process_time()
    (chunk,) = SectionSplitter(section_tokens=0).split(
        read_text(text, format="markdown")
    )
    assert chunk.n_tokens > 150_000
    assert 0 < count_tokens(chunk.extras["summary"]) <= SUMMARY_TOKENS
    parts = SectionSplitter().split(read_text(text, format="markdown"))
    assert len(parts) > 150
    assert all(
        0 < count_tokens(part.extras["summary"]) <= SUMMARY_TOKENS for part in parts
    )
    assert time.process_time() - started < 60


@examples
def test_settings_are_checked(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        SectionSplitter(**changes)  # type: ignore[arg-type]


def test_section_summaries(tmp_path: Path) -> None:
    document = guide()
    llm = Reluctant("A red machine crosses a bridge near Oslo.", word="crane")
    runs = split_twice(
        lambda runner: SectionSplitter().split(document, runner=runner),
        llm,
        Cache(tmp_path / "c"),
    )
    assert [calls for calls, _ in runs] == [2, 1, 0]
    assert [
        sum(bool(c.extras.get("degraded")) for c in chunks) for _, chunks in runs
    ] == [1, 0, 0]


def test_a_summary_with_more_characters_than_its_section_is_replaced() -> None:
    text = "# A\n\n" + "It is so. " * 12  # 36 words of few letters
    document = read_text(text, format="markdown")
    splitter = SectionSplitter(
        whole_tokens=1, window_tokens=5000, counter=lambda text: len(text.split())
    )
    longer, shorter = "Incomprehensibilities " * 8, "It is so."
    for answer in (longer, shorter):
        (chunk,) = splitter.split(document, llm=ScriptedModel(answer))
        assert (chunk.extras["summary"] == answer.strip()) == (answer == shorter)


def test_the_first_sentences_or_the_first_words_of_a_long_one() -> None:
    splitter = SectionSplitter(summary_tokens=8, counter=lambda text: len(text.split()))
    assert splitter.first_sentences(
        "One two three. Four five six. Seven eight nine."
    ) == ("One two three. Four five six.")
    long = " ".join(f"w{i}" for i in range(20))
    assert splitter.first_sentences(long) == " ".join(long.split()[:8])
    assert splitter.first_sentences(" ") == ""


def words(text: str) -> int:
    return len(text.split())


def test_the_papers_settings() -> None:
    paper = SectionSplitter.paper()
    assert (paper.summary_tokens, paper.whole_tokens, paper.section_tokens) == (
        142,
        0,
        0,
    )
    assert (paper.paragraph_tokens, paper.keywords, paper.prompt) == (0, 0, "{text}")
    assert SectionSplitter.paper(keywords=3).keywords == 3


@pytest.mark.parametrize(
    ("text", "title", "asked"),
    [
        (f"# Pumps\n\n## Care\n\n{LONG}\n", "", "Title: Pumps > Care"),
        # Before the first heading.
        (f"{LONG}\n\n# Pumps\n\nText.\n", "Manual", "Title: Manual"),
        (LONG, "", "Title: Sentence number, tells, thing"),  # no heading: the keywords
    ],
)
def test_the_model_is_told_what_it_reads(text: str, title: str, asked: str) -> None:
    model = ScriptedModel("A summary.")
    document = replace(read_text(text, format="markdown"), title=title)
    SectionSplitter(window_tokens=5000).split(document, llm=model)
    (shown,) = [
        line for line in model.prompts[0].splitlines() if line.startswith("Title:")
    ]
    assert sorted(shown.removeprefix("Title: ").split(", ")) == sorted(
        asked.removeprefix("Title: ").split(", ")
    )


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


def test_a_body_of_whole_tokens_is_its_own_summary() -> None:
    document = read_text("# A\n\nOne two three four.\n", format="markdown")
    for whole_tokens, prompts in ((4, 0), (3, 1)):
        model = ScriptedModel("Short.")
        SectionSplitter(whole_tokens=whole_tokens, counter=words).split(
            document, llm=model
        )
        assert len(model.prompts) == prompts


def test_keywords_are_as_many_as_asked_for() -> None:
    text = (
        "# A\n\n"
        + " ".join(f"Word{i} turns. " for i in range(40))
        + "\n\n# B\n\nOther.\n"
    )
    document = read_text(text, format="markdown")
    for keywords, lines in ((0, 2), (3, 3)):
        chunk = SectionSplitter(keywords=keywords).split(document)[0]
        assert len(chunk.index_text.splitlines()) == lines
        if keywords:
            assert len(chunk.index_text.splitlines()[-1].split(",")) == 3


def test_the_lowest_settings_are_allowed() -> None:
    lowest = SectionSplitter(
        summary_tokens=8,
        whole_tokens=0,
        section_tokens=0,
        paragraph_tokens=0,
        window_tokens=16,
        keywords=0,
    )
    assert (lowest.summary_tokens, lowest.window_tokens) == (8, 16)


def test_headings_alone_have_neither_summary_nor_keywords() -> None:
    document = read_text("# Pumps\n\n## Care\n\nOil them.\n", format="markdown")
    heading, care = SectionSplitter().split(document)
    assert (heading.kind, heading.context) == ("section", "")
    assert heading.extras["summary"] == "" and "reduced" not in heading.extras
    assert heading.extras["index_tokens"] == count_tokens(heading.index_text)
    assert care.context == "Pumps > Care"
    assert care.extras["reduced"].splitlines()[0] == care.extras["summary"]
    assert "part" not in care.extras and "pseudo" not in care.extras


def test_runs_of_a_text_without_headings_are_numbered() -> None:
    text = f"{'pump ' * 700}\n\n{'valve ' * 700}"
    chunks = SectionSplitter(paragraph_tokens=0).split(Document(text=text, id="d"))
    assert [chunk.path[0].split()[0] for chunk in chunks] == ["pump", "valve"]
    first, second = (chunk.section_id for chunk in chunks)
    assert first.removesuffix("0") == second.removesuffix("1")


def test_the_first_sentences_of_exactly_the_tokens() -> None:
    splitter = SectionSplitter(summary_tokens=8, counter=words)
    text = "One two three four. Five six seven eight. Nine."
    assert splitter.first_sentences(text) == "One two three four. Five six seven eight."
    assert splitter.first_sentences("One two.") == "One two."


def test_a_long_text_is_extracted_in_parts_then_once_more() -> None:
    """More than 8,000 tokens of text are not weighed against each other at once."""
    few = "Pumps move water every day. "
    text = "# A\n\n" + "\n\n".join(
        f"{few}Thing {i} is said here. {'And so on it goes. ' * 20}" for i in range(120)
    )
    splitter = SectionSplitter(section_tokens=0, keywords=0)
    (chunk,) = splitter.split(read_text(text, format="markdown"))
    assert count_tokens(text) > 8000
    summary = chunk.extras["summary"]
    assert 0 < count_tokens(summary) <= SUMMARY_TOKENS
    assert all(f"{sentence}." in text for sentence in summary.rstrip(".").split(". "))
