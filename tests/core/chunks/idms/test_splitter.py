"""IDMS chunks: the threshold's worked trace, merging, contexts, models that fail, limits,
tiling."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from animals import TEXT, same_animal, sides, split, words
from doubles import HashEmbedder, ScriptedModel, Weigher
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text

PARTS = [
    "# What is it? Really.\n\n", "## Deep\n\n", "### Deeper\n", "# Next\n", "\n", "   \n   \n\n",
    "\r\n",
    "One sentence. Two sentences here! A third? Yes.\n\n", "Cats sleep all day. Cats eat fish. "
                                                           "Dogs bark at night.\n\n",
    "many words and no end in sight " * 6 + "\n\n", "天气很好。我们去公园散步。今天。\n\n",
    "👩‍👩‍👧‍👦 family 🇩🇪🇫🇷 "
                                                                            "e\u0301\n\n",
    "| a | b |\n|---|---|\n" + "".join(f"| row {i} | v {i} |\n" for i in range(8)) + "\n",
    "```py\n" + "".join(f"x{i} = {i}\n" for i in range(10)) + "```\n\n", "- one\n- two\n  - sub\n- "
                                                                         "three\n\n",
    "x" * 90 + "\n\n", "nul \x00\n", "<|endoftext|>\n", "<div>\n\nunclosed\n\n", "---\n",
]  # fmt: skip
markdown = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


# -- the threshold


# -- merging


# -- splitting


@settings(max_examples=60, deadline=None)
@given(
    markdown,
    st.sampled_from([(0, 1), (2, 5), (5, 20), (10, 60), (100, 400)]),
    st.sampled_from(["weakest", "greedy", "none"]),
    st.booleans(),
)
def test_chunks_tile_the_document_within_the_limit(
    text: str, sizes: tuple[int, int], merge: str, respect_sections: bool
) -> None:
    chunks = split(text, min_tokens=sizes[0], max_tokens=sizes[1], merge=merge,
    respect_sections=respect_sections,
                   counter=words)  # fmt: skip
    document = read_text(text, format="markdown")
    assert "".join(chunk.text for chunk in chunks) == (
        document.text if document.text.strip() else ""
    )
    for chunk in chunks:
        assert (
            chunk.text == document.text[chunk.start : chunk.end] and chunk.text.strip()
        )
        assert words(chunk.index_text) <= sizes[1] or chunk.extras.get("oversize")
    assert chunks == split(text, min_tokens=sizes[0], max_tokens=sizes[1], merge=merge,
                           respect_sections=respect_sections, counter=words)  # fmt: skip


# -- models that are not what one hopes for


def judged(margins: dict[str, float | None]) -> Weigher:
    """Margins by the sentence behind the gap."""
    return Weigher(lambda prompt: margins[sides(prompt)[1]])


def test_the_chunk_so_far_is_read_section_by_section() -> None:
    text = "# P\n\nA one. B one. C one.\n\n# Q\n\nD one. E one two. F one.\n"
    model = judged(
        {"B one.": 0.5, "C one.": -0.25, "E one two.": 0.125, "F one.": 0.0625}
    )
    splitter = IDMSSplitter(
        context="chunk",
        warmup=9,
        min_tokens=0,
        merge="none",
        counter=words,
        heading_path=False,
    )
    document = read_text(text, format="markdown")
    found = splitter.explain(document, llm=model, embedder=HashEmbedder())
    assert [sides(prompt) for prompt in model.prompts] == [
        ("A one.", "B one."),
        ("A one. B one.", "C one."),
        ("D one.", "E one two."),
        ("D one. E one two.", "F one."),
    ]
    assert [series.values[1:] for series in found.series] == [
        (0.5, -0.25),
        (0.125, 0.0625),
    ]
    assert [series.runs for series in found.series] == [((0, 2), (2, 3)), ((0, 3),)]
    assert [chunk.extras["margin"] for chunk in found.chunks] == [None, -0.25, None]
    # Where the limit cuts, nothing is asked, and the chunk so far begins anew.
    model = judged({"C one.": 0.5, "F one.": 0.5})
    limited = dataclasses.replace(splitter, max_tokens=5)
    found = limited.explain(document, llm=model, embedder=HashEmbedder())
    asked = [sides(prompt)[0] for prompt in model.prompts]
    assert asked == ["B one.", "E one two."]
    assert [chunk.text.strip() for chunk in found.chunks] == [
        "# P\n\nA one.",
        "B one. C one.",
        "# Q\n\nD one.",
        "E one two. F one.",
    ]


@examples
def test_the_least_tokens_are_half_of_the_limit(
    choices: dict[str, Any], least: int
) -> None:
    assert IDMSSplitter(**choices).least_tokens == least


# -- edges


def test_one_sentence_needs_no_model() -> None:
    model, embedder = Weigher(lambda prompt: 1.0), HashEmbedder()
    assert [
        chunk.text for chunk in split("Just one.", llm=model, embedder=embedder)
    ] == ["Just one."]
    assert model.prompts == embedder.texts == []


def together(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [1.0 for _ in pairs]


def apart(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [-1.0 for _ in pairs]


def test_sections_are_kept_or_not() -> None:
    kept = split(TEXT, margin=together, warmup=99)
    assert [chunk.path for chunk in kept] == [("Cats",), ("Rain",)]
    assert len(split(TEXT, margin=together, warmup=99, respect_sections=False)) == 1
    assert len(split(TEXT, margin=apart, warmup=99, merge="none")) == 8


def test_excluded_sections_are_left_out_and_never_bridged() -> None:
    text = "# A\n\nOne here.\n\n# Out\n\nGone now.\n\n# B\n\nTwo here.\n"
    chunks = split(
        text, exclude_titles=["out"], respect_sections=False, margin=together, warmup=99
    )
    assert [chunk.text for chunk in chunks] == [
        "# A\n\nOne here.\n\n",
        "# B\n\nTwo here.\n",
    ]


def test_explain_shows_the_series() -> None:
    explanation = IDMSSplitter(min_tokens=0).explain(
        read_text(TEXT, format="markdown"), embedder=HashEmbedder()
    )
    assert [len(series.units) for series in explanation.series] == [6, 2]
    for series in explanation.series:
        assert math.isnan(series.values[0]) and math.isnan(series.thresholds[0])
        assert len(series.values) == len(series.thresholds) == len(series.units)
        cuts = {first for first, _ in series.runs if first}
        decided = {
            i
            for i in range(1, len(series.units))
            if not series.values[i] > series.thresholds[i] + 1e-9
        }
        assert cuts == decided
    assert len(explanation.chunks) == sum(
        len(series.runs) for series in explanation.series
    )


def test_the_paper_preset() -> None:
    model = Weigher(
        lambda prompt: 0.5 if "unsplit in its original form" in prompt else -0.5
    )
    text = " ".join(f"Sentence number {i} here." for i in range(100))
    chunks = IDMSSplitter.paper(counter=words, target_tokens=200).split(
        read_text(text), llm=model
    )
    assert [words(chunk.text) for chunk in chunks] == [200, 200]
    assert IDMSSplitter.paper(context="adjacent").context == "adjacent"


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"margin": "embedding"}, "margin must be one of"),
        ({"context": "window:0"}, "context must be"),
        ({"context": "all"}, "context must be"),
        ({"margin": "similarity", "context": "chunk"}, "margin='similarity'"),
        ({"margin": "words", "context": "chunk"}, "margin='words'"),
        ({"merge": "best"}, "merge must be one of"),
        ({"history": 0}, "history must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"min_tokens": 500}, "min_tokens must be at most"),
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"target_tokens": 0}, "target_tokens must be"),
        ({"prompt": "Split {left}?"}, "prompt must contain {left} and {right}"),
        ({"prompt": "{left} {right} {"}, "prompt must be a template"),
        ({"exclude_titles": "References"}, "exclude_titles"),
    ],
)
def test_wrong_settings_are_named(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        IDMSSplitter(**choices)


def test_chunks_say_what_their_margins_were_read_from() -> None:
    weigher = Weigher(same_animal)
    for options, source in (
        ({"margin": "words"}, "words"),
        ({"embedder": HashEmbedder()}, "similarity"),
        ({"embedder": HashEmbedder(), "llm": weigher}, "log-probabilities"),
        (
            {"embedder": HashEmbedder(), "llm": weigher, "context": "chunk"},
            "log-probabilities",
        ),
        ({"margin": lambda pairs: [0.0] * len(pairs)}, "function"),
    ):
        chunks = split(TEXT, min_tokens=0, **options)
        assert {chunk.extras["margin_source"] for chunk in chunks} == {source}
    with pytest.warns(UserWarning, match="neither log-probabilities nor ratings"):
        chunks = split(TEXT, min_tokens=0, llm=Weigher(lambda prompt: None))
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"similarity"}


def test_of_many_documents_one_warning_says_where_margins_come_from() -> None:
    splitter = IDMSSplitter.paper()  # asks gap after gap
    documents = [Document(f"{TEXT} {i}.") for i in range(4)]
    with pytest.warns(UserWarning, match="no log-probabilities") as warned:
        list(splitter.split_all(documents[:3], llm=ScriptedModel("7")))
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="no log-probabilities") as warned:
        index = Index(splitter=splitter, llm=ScriptedModel("7"), views=("raw",))
        index.estimate(documents[:2])
        index.add(documents[:2])
        index.add(documents[2:4])
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="no log-probabilities"):  # of another run
        list(splitter.split_all(documents[:3], llm=ScriptedModel("7")))


def test_as_published_the_threshold_is_the_mean_of_all_margins_before() -> None:
    text = "# P\n\nA one. B one.\n\n# Q\n\nC one. D one.\n"
    margins = {"B one.": 0.5, "C one.": -0.25, "D one.": 0.125}
    before = []

    def margin(pairs: Any) -> list[float]:
        before.extend(left for left, _ in pairs)
        return [margins[after] for _, after in pairs]

    splitter = IDMSSplitter.paper(counter=words, merge="none", margin=margin)
    found = splitter.explain(read_text(text, format="markdown"))
    (series,) = found.series  # sections are not looked at
    assert series.values[1:] == (0.5, -0.25, 0.125)
    assert series.thresholds[1:] == pytest.approx((0.0, 0.5, 0.125))
    assert series.runs == ((0, 2), (2, 3), (3, 4))
    assert {chunk.context for chunk in found.chunks} == {""}
    # The chunk so far, without its heading.
    assert before == ["A one.", "A one. B one.", "C one."]


def test_as_published_segments_are_filled_up_to_260_tokens() -> None:
    text = "".join(f"W{i}. " for i in range(521))
    splitter = IDMSSplitter.paper(
        counter=words, margin=lambda pairs: [0.0] * len(pairs)
    )
    chunks = splitter.split(read_text(text, format="text"))
    assert [words(chunk.text) for chunk in chunks] == [260, 260, 1]
    assert splitter.reuse_vectors is False


def test_the_least_size_is_at_most_what_the_heading_path_leaves() -> None:
    """One word of the path, a quarter of the limit, leaves five of six."""
    text = "# P q\n\n" + "".join(f"W{i} is. " for i in range(6))
    chunks = split(
        text,
        margin=lambda pairs: [-1.0] * len(pairs),
        min_tokens=6,
        max_tokens=6,
        counter=words,
    )
    assert [words(chunk.text) for chunk in chunks] == [5, 4, 4, 2]
    assert {chunk.context for chunk in chunks[1:]} == {"P"}


def test_parts_of_a_sentence_above_the_limit_have_gaps_of_their_own() -> None:
    text = "One two three four five six. Seven eight."
    chunks = split(
        text,
        margin=lambda pairs: [-0.5] * len(pairs),
        min_tokens=0,
        max_tokens=3,
        merge="none",
        counter=words,
    )
    assert [(chunk.text.strip(), chunk.extras["margin"]) for chunk in chunks] == [
        ("One two three", None),
        ("four five six.", -0.5),
        ("Seven eight.", -0.5),
    ]
