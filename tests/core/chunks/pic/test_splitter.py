"""PIC: the paper's case, the specification's numbers, invariants on any text, models that fail,
real documents."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, ScriptedModel, Similarities, by_words
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import numbered, topics

from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Chunk, Document

STATUE = [0.493, 0.445, 0.572, 0.557, 0.703]
SEVEN = [0.62, 0.58, 0.31, 0.44, 0.71, 0.40, 0.39]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"scope": "document"},
    {"bounds": "none", "hysteresis": 0.5},
    {"max_tokens": 30, "min_tokens": 12, "threshold": "median"},
    {"scope": "section", "pseudo_instruction": "mean", "threshold_sd": 0.5},
    {"respect_sections": False, "max_tokens": None, "exclude_titles": ["b"]},
    {"max_tokens": 3, "min_tokens": 1},
]
texts = st.lists(
    st.sampled_from(
        [
            "# a\n",
            "## b\n",
            "\n\n",
            "One two three. ",
            "Four! ",
            "- item\n",
            "| h |\n|---|\n| 1 |\n",
            "```\nx\n```\n",
            "中文句子。",
        ]
    )
    | st.text(max_size=12),
    max_size=30,
).map("".join)


def spans(chunks: list[Chunk]) -> list[tuple[int, int]]:
    """For each chunk its first sentence and the one behind its last."""
    counts = [chunk.text.count("number") for chunk in chunks]
    ends = np.cumsum(counts).tolist()
    return list(
        zip(
            [end - count for end, count in zip(ends, counts, strict=True)],
            ends,
            strict=True,
        )
    )


def split_numbers(values: list[float], **changes: Any) -> list[Chunk]:
    splitter = PICSplitter.paper(instructions="What?", counter=by_words, **changes)
    return splitter.split(numbered(len(values)), embedder=Similarities(values))


def test_the_papers_case_study() -> None:
    chunks = split_numbers(STATUE)
    assert spans(chunks) == [(0, 2), (2, 5)]
    assert [chunk.extras["relevant"] for chunk in chunks] == [False, True]
    assert chunks[0].extras["threshold"] == pytest.approx(0.554)
    assert chunks[0].extras["mean_similarity"] == pytest.approx((0.493 + 0.445) / 2)


def test_the_specifications_seven_sentences() -> None:
    chunks = split_numbers(SEVEN)
    assert spans(chunks) == [(0, 2), (2, 4), (4, 5), (5, 7)]
    assert [chunk.extras["relevant"] for chunk in chunks] == [True, False, True, False]
    chunks = split_numbers(SEVEN, bounds="merge", min_tokens=38, max_tokens=300)
    assert spans(chunks) == [(0, 2), (2, 4), (4, 7)]
    assert [chunk.extras["relevant"] for chunk in chunks] == [True, False, True]
    assert chunks[2].extras["mean_similarity"] == pytest.approx(0.5)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-0.99, 0.99), min_size=2, max_size=25))
def test_without_bounds_neighbours_have_opposite_labels(values: list[float]) -> None:
    chunks = split_numbers(values)
    assert all(
        a.extras["relevant"] != b.extras["relevant"] for a, b in pairwise(chunks)
    )
    found = PICSplitter.paper(instructions="What?").explain(
        numbered(len(values)), embedder=Similarities(values)
    )
    (series,) = found.series
    assert list(series.values) == pytest.approx(values, abs=1e-6)
    flags = [value >= series.thresholds[0] - 1e-9 for value in series.values]
    assert len(chunks) == 1 + sum(a != b for a, b in pairwise(flags))


def check(document: Document, splitter: PICSplitter, chunks: list[Chunk]) -> None:
    text = document.text
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end] and chunk.text.strip()
        json.dumps(dict(chunk.extras), allow_nan=False)
        if splitter.max_tokens is not None and not chunk.extras.get("oversize"):
            assert splitter.counter(chunk.index_text) <= splitter.max_tokens
        if chunk.extras.get("oversize"):
            assert len(chunk.text.strip()) <= 2
    assert all(left.end <= right.start for left, right in pairwise(chunks))
    if not splitter.exclude_titles:
        assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")


@settings(deadline=None, max_examples=50)
@given(texts, st.sampled_from(SETTINGS))
def test_chunks_tile_any_text_and_keep_the_limit(
    text: str, changes: dict[str, Any]
) -> None:
    document = read_text(text, format="markdown", id="d")
    splitter = PICSplitter(**changes)
    check(document, splitter, splitter.split(document, embedder=HashEmbedder()))


# -- instructions


# -- bad input


@pytest.mark.parametrize("text", ["", " \n\n", "\n"])
def test_blank_documents_have_no_chunk_and_ask_nothing(text: str) -> None:
    llm, embedder = ScriptedModel("s"), HashEmbedder()
    found = PICSplitter().explain(read_text(text), embedder=embedder, llm=llm)
    assert (
        found.chunks == ()
        and found.series == ()
        and not llm.prompts
        and not embedder.texts
    )


def test_one_sentence_is_one_relevant_chunk_and_asks_nothing() -> None:
    llm, embedder = ScriptedModel("s"), HashEmbedder()
    for splitter in (PICSplitter(), PICSplitter.paper()):
        (chunk,) = splitter.split(
            read_text("Only one sentence."), embedder=embedder, llm=llm
        )
        assert chunk.extras["relevant"] is True
    assert not llm.prompts and not embedder.texts


@pytest.mark.parametrize(
    "text", ["word " * 3000, "天" * 3000, "x" * 9000, "no marks at all\n" * 300]
)
def test_text_without_sentence_marks_is_cut_at_the_limit_and_nothing_is_lost(
    text: str,
) -> None:
    document = read_text(text, format="text", id="d")
    splitter = PICSplitter(max_tokens=100)
    embedder = HashEmbedder()
    chunks = splitter.split(document, embedder=embedder)
    check(document, splitter, chunks)
    assert max(len(sentence.split()) for sentence in embedder.texts) <= 150
    PICSplitter.paper().split(document, embedder=embedder)
    assert max(len(sentence) for sentence in embedder.texts) <= 1500


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"min_tokens": 160}, "min_tokens must be at most half"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"bounds": "both"}, "bounds must be one of"),
        ({"scope": "chapter"}, "scope must be one of"),
        ({"pseudo_instruction": "question"}, "pseudo_instruction"),
        ({"scope": "section", "respect_sections": False}, "respect_sections"),
        ({"instructions": [" "]}, "instructions must be"),
        ({"threshold": "max"}, "threshold"),
        ({"hysteresis": -1}, "hysteresis"),
        ({"prompt": "no place"}, "text"),
        ({"language": "klingon"}, "language"),
        ({"summary_window": 1}, "summary_window"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    changes: dict[str, Any], match: str
) -> None:
    with pytest.raises(InvalidParameter, match=match):
        PICSplitter(**changes)


# -- one source, many ways


def test_sync_async_pickled_and_many_at_once_are_equal() -> None:
    documents = [
        topics(),
        numbered(30),
        read_text("", id="e"),
        read_text("# H\n\nOne. Two.", id="h"),
    ]
    splitter = PICSplitter(max_tokens=60, min_tokens=10)

    async def together() -> list[list[Chunk]]:
        return [
            chunks
            async for chunks in splitter.asplit_all(
                documents, llm=lambda prompt: "Cats."
            )
        ]

    expected = [
        splitter.split(document, llm=lambda prompt: "Cats.") for document in documents
    ]
    assert (
        list(splitter.split_all(iter(documents), llm=lambda prompt: "Cats."))
        == expected
    )
    assert asyncio.run(together()) == expected
    assert (
        asyncio.run(splitter.asplit(documents[0], llm=lambda prompt: "Cats."))
        == expected[0]
    )
    copy = pickle.loads(pickle.dumps(splitter))
    assert (
        copy == splitter
        and copy.split(documents[1], llm=lambda prompt: "Cats.") == expected[1]
    )


@pytest.mark.slow
def test_every_process_gives_the_same_chunks() -> None:
    code = (
        "from structrag.chunks.pic.splitter import PICSplitter; "
        "from structrag.reading.files import read_text;"
        "t = ' '.join(f'Word {i * i % 17} and thing {i % 5} here.' for i in range(80));"
        "print([(c.id, dict(c.extras)) for c in PICSplitter().split(read_text(t, id='d'))])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1 and "relevant" in runs.pop()


def test_many_documents_share_batches_and_are_read_as_they_come() -> None:
    embedder = HashEmbedder()
    calls: list[int] = []
    embed = embedder.embed
    embedder.embed = lambda given, query=False: (
        calls.append(len(given)),
        embed(given, query=query),
    )[1]  # type: ignore[method-assign]
    documents = [
        read_text(f"First sentence {i}. Second one {i}.", id=str(i)) for i in range(100)
    ]
    list(PICSplitter.paper().split_all(documents, embedder=embedder))
    assert max(calls) == 64 and len(calls) == math.ceil(200 / 64)

    read: list[int] = []

    def endless() -> Any:
        for i in range(10**9):
            read.append(i)
            yield read_text(f"First sentence {i}. Second one {i}.", id=str(i))

    next(PICSplitter().split_all(endless(), embedder=embedder))
    assert len(read) <= 256


@pytest.mark.slow
def test_as_published_an_index_embeds_the_chunks_themselves() -> None:
    for splitter, by_itself in ((PICSplitter.paper(), True), (PICSplitter(), False)):
        embedder = HashEmbedder()
        index = Index(splitter=splitter, embedder=embedder, views=["raw"])
        index.add([numbered(60)])
        chunks = [chunk.index_text for chunk in index.chunks()]
        assert len(chunks) > 1 and set(chunks).issubset(embedder.texts) is by_itself


def test_real_vectors_put_a_topic_into_relevant_chunks(minilm: Any) -> None:
    found = PICSplitter.paper(instructions="How do cats behave?").explain(
        topics(), embedder=minilm
    )
    for chunk in found.chunks:
        assert chunk.extras["relevant"] is (
            "Cats" in chunk.text or "Kittens" in chunk.text
        )
    assert len(found.chunks) == 3


def count_words(text: str) -> int:
    return len(text.split())


def test_as_published_sections_paths_and_sizes_are_not_looked_at() -> None:
    text = "".join(
        f"# S {k}\n\nNumber {2 * k}. Number {2 * k + 1}.\n\n" for k in range(3)
    )
    splitter = PICSplitter.paper(instructions="What?", counter=count_words)
    found = splitter.explain(
        read_text(text, format="markdown"),
        embedder=Similarities([0.9, 0.1, 0.1, 0.9, 0.9, 0.9]),
    )
    (series,) = found.series
    assert series.runs == ((0, 1), (1, 3), (3, 6))
    assert {chunk.context for chunk in found.chunks} == {""}
    assert splitter.reuse_vectors is False and splitter.plain_headings is False


def long_section(n_words: int, k: int) -> str:
    """A section of so many words, the heading's two counted, in sentences of seven."""
    sentences = " ".join(
        f"w{i}." if i % 7 == 6 else f"w{i}" for i in range(n_words - 2)
    )
    return f"# S{k}\n\n{sentences}.\n\n"


@examples
def test_a_section_below_200_tokens_is_not_looked_at(
    words: int, is_looked_at: bool
) -> None:
    text = long_section(words, 0) + long_section(300, 1)
    found = PICSplitter(scope="section").explain(
        read_text(text, format="markdown"), embedder=HashEmbedder()
    )
    looked_at = [len(series.values) > 0 for series in found.series]
    assert looked_at == [is_looked_at, True]


@examples
def test_sections_of_more_than_2000_tokens_in_all_are_looked_at_by_themselves(
    words: int, scopes: int
) -> None:
    text = long_section(800, 0) + long_section(words - 800, 1)
    document = read_text(text, format="markdown")
    splitter = PICSplitter()
    assert len(splitter.explain(document, embedder=HashEmbedder()).series) == scopes
    across = PICSplitter(respect_sections=False)
    assert len(across.explain(document, embedder=HashEmbedder()).series) == 1
    flat = read_text("Word word word. " * 700, format="text")
    assert len(splitter.explain(flat, embedder=HashEmbedder()).series) == 1


def test_a_section_of_two_sentences_is_not_looked_at() -> None:
    words = " ".join(f"w{i}" for i in range(120))
    two, three = f"{words}. {words}.", f"{words}. {words}. {words}."
    found = PICSplitter(scope="section").explain(
        read_text(f"# A\n\n{two}\n\n# B\n\n{three}\n", format="markdown"),
        embedder=HashEmbedder(),
    )
    assert [len(series.values) for series in found.series] == [0, 3]


def test_runs_join_the_neighbour_of_closer_similarity_and_are_cut_at_the_limit() -> (
    None
):
    values = [0.9, 0.9, 0.1, 0.7, 0.7, 0.7, 0.7]
    assert spans(split_numbers(values)) == [(0, 2), (2, 3), (3, 7)]
    bounded = {"bounds": "merge", "min_tokens": 30, "max_tokens": 100}
    # 0.1 is nearer to 0.7 than to 0.9, and five sentences are just the limit.
    assert spans(split_numbers(values, **bounded)) == [(0, 2), (2, 7)]
    bounded["max_tokens"] = 99
    assert spans(split_numbers(values, **bounded)) == [(0, 3), (3, 7)]
    # Without "merge" only the limit counts.
    assert spans(split_numbers(values, max_tokens=60)) == [
        (0, 2),
        (2, 3),
        (3, 5),
        (5, 7),
    ]
