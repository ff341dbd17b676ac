"""Content-aware and fixed chunks: tiling, hard limits, headings, tables, code, overlap, small
sections."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.reading.markdown import markdown_headings
from structrag.records import Chunk
from structrag.text.tokens import count_tokens, tiktoken_counter

TABLE = "| a | b |\n|---|---|\n" + "".join(f"| row {i} | v {i} |\n" for i in range(8))
CODE = "```py\n" + "".join(f"x{i} = {i}\n" for i in range(10)) + "```\n"
PARTS = [
    "# What is it? Really.\n\n", "## Deep\n\n", "### Deeper\n", "# Next\n", "Setext\n===\n", "\n",
    "   \n   \n\n", "\r\n",
    "One sentence. Two sentences here! A third? Yes.\n\n",
    "many words and no end in sight " * 6 + "\n\n",
    "天气很好。我们去公园散步。今天。\n\n", "👩‍👩‍👧‍👦 family 🇩🇪🇫🇷 e\u0301\n\n",
    "مرحبا بالعالم؟ نعم.\n\n", TABLE + "\n", CODE + "\n",
    "- one\n- two\n  - sub\n- three\n\n", "> quoted\n> lines\n\n", "x" * 90 + "\n\n", "\ud800 "
        "lone\n", "nul \x00\n", "<|endoftext|>\n",
    "<div>\n\nunclosed\n\n", "```\nunclosed\n\n", "[a]: /x\n", "---\n",
]  # fmt: skip
markdown = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
limits = st.sampled_from([1, 2, 3, 5, 8, 13, 20, 40, 80, 300])


def count_words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def counters() -> list[Callable[[str], int]]:
    return [count_tokens, len, count_words, tiktoken_counter("cl100k_base")]


def split(text: str, **settings: Any) -> list[Chunk]:
    return ContentAwareSplitter(**settings).split(read_text(text, format="markdown"))


def check(
    chunks: list[Chunk], text: str, limit: int, counter: Callable[[str], int]
) -> None:
    """What holds for every splitter and every input, overlap or not."""
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))
    assert bool(chunks) == bool(text.strip())
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        size = counter(chunk.index_text)
        assert chunk.n_tokens == counter(chunk.text)
        assert chunk.extras["index_tokens"] == size
        assert chunk.extras.get("oversize", False) == (size > limit)
        if size > limit:  # one code point, or one with the white space beside it
            assert len(chunk.text.strip()) == 1 or chunk.text != chunk.text.strip()


@settings(max_examples=150, deadline=None)
@given(markdown, limits, st.integers(0, 3), st.booleans())
def test_chunks_tile_and_keep_the_limit(
    counters: list[Any], text: str, limit: int, which: int, path: bool
) -> None:
    chunks = split(text, max_tokens=limit, counter=counters[which], context=path)
    check(chunks, text, limit, counters[which])
    assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")


@settings(max_examples=80, deadline=None)
@given(markdown, limits, st.integers(0, 3), st.integers(0, 40))
def test_overlap_keeps_the_limit(
    counters: list[Any], text: str, limit: int, which: int, overlap: int
) -> None:
    chunks = split(
        text,
        max_tokens=limit,
        counter=counters[which],
        overlap=min(overlap, limit // 2),
    )
    check(chunks, text, limit, counters[which])
    assert all(later.start <= chunk.end for chunk, later in itertools.pairwise(chunks))


@settings(max_examples=80, deadline=None)
@given(markdown, limits, st.integers(0, 3), st.integers(0, 100))
def test_joining_small_sections_keeps_tiling(
    counters: list[Any], text: str, limit: int, which: int, low: int
) -> None:
    chunks = split(text, max_tokens=limit, counter=counters[which], min_tokens=low)
    check(chunks, text, limit, counters[which])
    assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")


@settings(max_examples=80, deadline=None)
@given(markdown, limits, st.integers(0, 3), st.booleans(), st.booleans())
def test_fixed_chunks_tile_and_keep_the_limit(
    counters: list[Any], text: str, limit: int, which: int, sections: bool, path: bool
) -> None:
    splitter = FixedSplitter(
        limit, within_sections=sections, context=path, counter=counters[which]
    )
    chunks = splitter.split(read_text(text, format="markdown"))
    check(chunks, text, limit, counters[which])
    assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")


@settings(max_examples=100, deadline=None)
@given(markdown, st.sampled_from([40, 80]))
def test_a_heading_is_never_alone(text: str, limit: int) -> None:
    headings = markdown_headings(text)
    bodies = [
        text[a.end : b.start] for a, b in zip(headings, [*headings[1:]], strict=False)
    ]
    bodies += (
        [text[: headings[0].start], text[headings[-1].end :]] if headings else [text]
    )
    if not any(body.strip() for body in bodies):
        return
    inside = {i for heading in headings for i in range(heading.start, heading.end)}
    words = [i for i in range(len(text)) if i not in inside and not text[i].isspace()]
    for chunk in split(text, max_tokens=limit, context=False):
        if not any(chunk.start <= i < chunk.end for i in words):
            # Only where all the headings and the line they belong to are above the limit.
            after = [i for i in words if i >= chunk.end]
            first = chunk.start if after else text.rfind("\n", 0, words[-1]) + 1
            last = text.find("\n", after[0]) if after else chunk.end
            assert count_tokens(text[first:last]) > limit


@pytest.mark.parametrize(
    "heading", ["", "# The table\n\n", "# The table\n\nText before it.\n\n"]
)
def test_each_piece_of_a_table_is_a_table_with_the_same_header(heading: str) -> None:
    rows = [f"| row {i} | value {i} |\n" for i in range(60)]
    text = f"{heading}| name | value |\n|------|-------|\n{''.join(rows)}"
    chunks = split(text, max_tokens=60, flat_max_tokens=None)
    assert len(chunks) > 5
    parser = MarkdownIt("commonmark").enable("table")
    seen = 0
    for chunk in chunks:
        tokens = parser.parse(chunk.index_text)
        cells = [
            tokens[i + 1].content
            for i, token in enumerate(tokens)
            if token.type == "th_open"
        ]
        bodies = [token for token in tokens if token.type == "tr_open"]
        if "| row" in chunk.text:
            assert cells == ["name", "value"]
            seen += len(bodies) - 1
        assert chunk.text.endswith("|\n")
    assert seen == 60


def test_code_is_cut_between_lines() -> None:
    text = (
        "# C\n\n```\n"
        + "".join(f"    call(number_{i}, other)\n" for i in range(60))
        + "```\n"
    )
    chunks = split(text, max_tokens=40)
    assert len(chunks) > 3
    assert all(chunk.text.endswith("\n") for chunk in chunks)


def test_flat_limit_holds_where_there_is_no_section() -> None:
    text = "Some words stand here. " * 300
    assert (
        max(chunk.extras["index_tokens"] for chunk in split(text, max_tokens=2000))
        <= 300
    )
    assert (
        max(
            chunk.extras["index_tokens"]
            for chunk in split("# H\n\n" + text, max_tokens=2000)
        )
        > 300
    )


@examples
def test_bad_settings_are_named(settings: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        ContentAwareSplitter(**settings)


def test_overlap_is_at_most_half_of_the_limit() -> None:
    text = " ".join(f"Sentence {i} has five words." for i in range(40))
    document = read_text(text, format="text")

    def overlaps(overlap: int) -> list[int]:
        splitter = ContentAwareSplitter(
            max_tokens=2000, flat_max_tokens=40, overlap=overlap, counter=count_words
        )
        chunks = splitter.split(document)
        return [
            count_words(text[b.start : a.end]) for a, b in itertools.pairwise(chunks)
        ]

    # With sentences of five words.
    assert set(overlaps(1000)) == set(overlaps(20)) == {15}
    assert set(overlaps(10)) == {10}


@examples
def test_sections_below_six_words_join_their_neighbours(
    words: list[int], most: int | None, joined: list[int]
) -> None:
    text = "".join(
        f"# S\n\n{' '.join(f'w{i}' for i in range(n - 2))}\n\n" for n in words
    )
    for context in (True, False):  # the text begins with the path itself
        chunks = split(
            text, min_tokens=6, max_tokens=most, counter=count_words, context=context
        )
        assert [chunk.n_tokens for chunk in chunks] == joined


def test_a_chunk_of_several_sections_is_under_their_parent_and_names_them_all() -> None:
    text = (
        "# Pump\n\nIt moves water.\n\n## Seal\n\nIt leaks.\n\n### Ring\n\nReplace it.\n\n"
        f"## Motor\n\n{'It turns. ' * 20}\n\n## Oil\n\nAdd it.\n\n## Dust\n\nWipe it.\n"
    )
    chunks = split(text, min_tokens=12, max_tokens=50, counter=count_words)
    assert [(chunk.path, chunk.extras.get("section_paths")) for chunk in chunks] == [
        (
            ("Pump",),
            [["Pump"], ["Pump", "Seal"], ["Pump", "Seal", "Ring"]],
        ),
        (("Pump", "Motor"), None),
        (("Pump",), [["Pump", "Oil"], ["Pump", "Dust"]]),
    ]
    assert [chunk.context for chunk in chunks] == ["", "Pump", "Pump"]
    (whole,) = split("\n" + text, min_tokens=99, max_tokens=99, counter=count_words)
    assert (whole.path, whole.context) == (("Pump",), "")


@pytest.mark.parametrize("least", [0, 99])
def test_a_document_within_both_sizes_is_one_chunk(least: int) -> None:
    text = "Before.\n\n# A\n\n## X\n\nx\n\n# B\n\n## Y\n\ny\n\n## Z\n\nz\n"
    chunks = split(text, min_tokens=least)
    assert len(chunks) == (1 if least else 4)
    if least:
        assert chunks[0].path == () and len(chunks[0].extras["section_paths"]) == 4


def test_small_sections_of_different_parents_stay_apart() -> None:
    long = "word " * 40
    text = f"# A\n\n{long}\n\n## X\n\nx\n\n# B\n\n## Y\n\ny\n\n## Z\n\nz\n"
    chunks = split(text, min_tokens=20, max_tokens=44, counter=count_words)
    assert [chunk.text[:4] for chunk in chunks] == ["# A\n", "## X", "# B\n"]
    # Nor over a section that is left out.
    text = "Before.\n\n# A\n\na\n\n# X\n\nx\n\n# B\n\nb\n"
    chunks = split(text, min_tokens=99, counter=count_words, exclude_titles=["x"])
    assert [chunk.text.strip()[-1] for chunk in chunks] == ["a", "b"]


@pytest.mark.parametrize("shape", ["any", "equal", "rising"])
@pytest.mark.parametrize("change", ["insert", "remove", "edit"])
def test_a_change_of_one_section_moves_at_most_two_borders(
    shape: str, change: str
) -> None:
    rng = Random(1)
    sizes = {
        "any": [rng.randrange(3, 90) for _ in range(60)],
        "equal": [20] * 60,
        "rising": list(range(10, 70)),
    }
    parts = [f"## Part {i * i}\n\n{'oil ' * n}\n\n" for i, n in enumerate(sizes[shape])]
    before = first_sections(parts)
    for place in range(3, 60, 4):
        new = f"## New {place}\n\n{'seal ' * rng.randrange(60)}\n\n"
        kept = place if change == "insert" else place + 1
        changed = [*parts[:place], *([new] * (change != "remove")), *parts[kept:]]
        after = first_sections(changed) - {new}
        assert len(before - after - {parts[place]}) <= 2
        assert len(after - before) <= 2


def first_sections(parts: list[str]) -> set[str]:
    """The parts of a document that a chunk begins with."""
    text = "# Manual\n\n" + "".join(parts)
    chunks = split(text, min_tokens=50, max_tokens=150, counter=count_words)
    assert "".join(chunk.text for chunk in chunks) == text
    return {
        part for part in parts if any(chunk.text.startswith(part) for chunk in chunks)
    }


def overlap_of(text: str, overlap: int, most: int) -> list[str]:
    """What each later piece repeats of the one before."""
    chunks = split(text, max_tokens=most, overlap=overlap, counter=count_words)
    return [text[b.start : a.end] for a, b in itertools.pairwise(chunks)]


@examples
def test_as_many_sentences_are_repeated_as_the_overlap_holds(
    overlap: int, repeated: str
) -> None:
    text = "One is. Two is. Three is. Four is. Five is. Six is."
    found = overlap_of(text, overlap, 6 + overlap)
    assert found[0] == repeated


@examples
def test_sentences_are_repeated_of_prose_only(
    before: str, most: int, repeated: str
) -> None:
    text = f"# H\n\n{before}Three four five six seven eight nine ten.\n"
    assert overlap_of(text, 3, most) == [repeated]


def test_later_parts_of_a_table_have_its_header_and_no_overlap() -> None:
    rows = "".join(f"| {i} |\n" for i in range(6))
    text = f"# H\n\n| a |\n|---|\n{rows}"
    chunks = split(text, max_tokens=16, overlap=3, counter=count_words)
    assert len(chunks) > 1 and "".join(chunk.text for chunk in chunks) == text
    assert [chunk.context for chunk in chunks] == [
        "",
        *["H\n| a |\n|---|"] * (len(chunks) - 1),
    ]


def test_later_pieces_have_the_path_of_their_section_in_front_of_the_overlap() -> None:
    text = "# Top\n\n## Part\n\n" + "One is here. " * 9
    chunks = split(text, max_tokens=16, overlap=3, counter=count_words)
    assert len(chunks) > 2
    assert [chunk.context for chunk in chunks] == [
        "",
        *["Top > Part"] * (len(chunks) - 1),
    ]
    assert all(chunk.text.startswith("One is here. ") for chunk in chunks[1:])


HEADS = (  # of a message, in the copies that people make of chats
    "03/03/2024, 10:{0:02} - {1}: ",
    "[03.03.24, 10:{0:02}:11] {1}: ",
    "{1}, [03.03.2024 10:{0:02}]\n",
    "{1} 10:{0:02} AM\n",
)


@pytest.mark.parametrize("head", HEADS)
def test_a_message_begins_a_chunk(head: str) -> None:
    texts = (
        "Is the pump running again?",
        "No. The seal is broken:\n1. The upper one\nDo not start it. I mean it.",
        "I order new ones. They come on Friday: with luck.",
    )
    messages = [
        head.format(i, ("Ann Lee", "Ben", "Cleo")[i % 3]) + texts[i % 3]
        for i in range(40)
    ]
    document = read_text("\n".join(messages), format="text")
    begins = tuple(message.partition("\n")[0] for message in messages)
    for chunk in ContentAwareSplitter(max_tokens=90).split(document):
        assert chunk.text.startswith(begins)


LINES = {
    "log": "2024-01-01 12:{0:02}:07 INFO [main] Valve {0} closed. Waiting for pressure",
    "sql": "INSERT INTO pumps (id, place) VALUES ({0}, 'north. Behind the house');",
    "yaml": "- name: pump {0}\n  place: north of the house. Behind it\n  speed: {0}",
    "json": '{{"id": {0}, "text": "It runs. It moves water."}}',
}


@pytest.mark.parametrize("form", LINES.values(), ids=LINES)
def test_lines_that_nobody_wrapped_stay_whole(form: str) -> None:
    text = "\n".join(form.format(i) for i in range(80))
    chunks = ContentAwareSplitter(max_tokens=60).split(read_text(text, format="text"))
    assert len(chunks) > 10
    assert all(not chunk.start or text[chunk.start - 1] == "\n" for chunk in chunks)


def test_wrapped_prose_is_cut_between_sentences() -> None:
    names = ("Ann", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gina", "Hugo", "Ida", "Jan")
    sentences = [
        f"{name} cleans the {place} pump of the old house on day {i} and keeps a record of it."
        for i, name in enumerate(names)
        for place in ("upper", "lower", "middle")
    ]
    text = textwrap.fill(" ".join(sentences), 72)
    chunks = ContentAwareSplitter(max_tokens=60).split(read_text(text, format="text"))
    assert len(chunks) > 10
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)
