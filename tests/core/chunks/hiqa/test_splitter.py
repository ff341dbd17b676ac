"""HiQASplitter: what holds for every document, and the rules for texts, headings and metadata."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.records import Chunk, Document
from structrag.text.tokens import count_tokens, tiktoken_counter

TABLE = "| Name | Price | Weight |\n|---|---|---|\n" + "".join(
    f"| item {i} | {i}.50 | {i} g |\n" for i in range(7)
)
HTML_TABLE = (
    "<table><caption>Table 9: "
    "Fees</caption>\n<thead><tr><th>Plan</th><th>Fee</th></tr></thead>\n<tbody>\n"
    "<tr><td>Basic</td><td>11</td></tr>\n<tr><td>Gold</td><td>22</td></tr>\n</tbody></table>\n"
)
PARTS = [
    "# What is it? Really.\n\n",
    "## Deep\n\n",
    "### Deeper\n",
    "# Next\n",
    "Setext\n===\n",
    "\n",
    "   \n   \n\n",
    "\r\n",
    "One sentence. Two sentences here! A third? Yes.\n\n",
    "many words and no end in sight " * 6 + "\n\n",
    "天气很好。我们去公园散步。今天。\n\n",
    "👩‍👩‍👧‍👦 family 🇩🇪🇫🇷 e\u0301\n\n",
    TABLE + "\n",
    TABLE.replace("\n", "\r\n") + "\r\n",
    HTML_TABLE + "\n",
    "<table>\n<tr><td>a</td>\n\n<td>b</td></tr>\n\n<tr><td>c</td></tr>\n</table>\n\n",
    "<table><tr><td>never closed\n\n",
    "<div>\n\n",
    "</div>\n\n",
    "</table>\n\n",
    "Table 1: what follows\n\n",
    '![A chart](img/chart.png "The title")\n\n',
    "![one](a.png) ![two][ref]\n\n",
    "[ref]: b.png\n\n",
    "Words with ![inline](c.png) and `![none](d.png)`.\n\n",
    "*A caption in italics*\n\n",
    '<figure><img src="e.png" alt="E"><figcaption>Fig. 2: Eeh</figcaption></figure>\n\n',
    "<img src=f.png>\n",
    "![](data:image/png;base64," + "A" * 400 + ")\n\n",
    "| a | b |\n|---|---|\n| ragged |\n| x | y | z |\n| "
    + "long cell " * 30
    + "| 1 |\n\n",
    "| a | b |\n| no | delimiter |\n\n",
    "| | |\n|---|---|\n| | |\n\n",
    "```\n| a | b |\n|---|---|\n| code | 1 |\n![x](y)\n```\n\n",
    "- one\n- ![two](g.png)\n\n",
    "> quoted\n\n",
    "x" * 90 + "\n\n",
    "\ud800 lone\n",
    "nul \x00\n",
    "---\n",
]
documents = st.lists(st.sampled_from(PARTS), max_size=9).map("".join)
limits = st.sampled_from([1, 2, 3, 5, 8, 13, 20, 40, 80, 300, None])
metadata = st.sampled_from(["path", "section", "none"])


def count_words(text: str) -> int:
    return len(text.split())


COUNTERS = [count_tokens, len, count_words]


def split(text: str, **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format="markdown"))


def check(
    chunks: list[Chunk],
    document: Document,
    limit: int | None,
    counter: Any = count_tokens,
) -> None:
    """What holds for every input."""
    text = document.text
    assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.kind in {"text", "table", "image"}
        size = counter(chunk.index_text)
        assert chunk.extras["index_tokens"] == size
        assert chunk.n_tokens == counter(chunk.text)
        too_long = limit is not None and size > limit
        assert chunk.extras.get("oversize", False) == too_long
        if too_long:  # one code point, or one with the white space beside it
            assert chunk.kind == "text"
            assert len(chunk.text.strip()) == 1 or chunk.text != chunk.text.strip()
        if (
            limit is not None
            and chunk.kind == "table"
            and chunk.extras.get("part", 1) > 1
        ):
            assert chunk.extras["header"] in text


@settings(max_examples=250, deadline=None)
@given(documents, limits, st.sampled_from(COUNTERS), metadata, st.booleans())
def test_chunks_tile_and_keep_the_limit(
    text: str, limit: int | None, counter: Any, mode: str, cells: bool
) -> None:
    document = read_text(text, format="markdown")
    splitter = HiQASplitter(limit, mode, table_cells=cells, counter=counter)
    chunks = splitter.split(document)
    check(chunks, document, limit, counter)
    assert splitter.split(document) == chunks


@settings(max_examples=60, deadline=None)
@given(documents, limits)
def test_pages_of_html_tile_too(text: str, limit: int | None) -> None:
    document = read_text(
        f"<h1>T</h1><p>{text}</p>{HTML_TABLE}<img alt='x' src='y'>", format="html"
    )
    check(HiQASplitter(limit).split(document), document, limit)


@settings(max_examples=40, deadline=None)
@given(documents, st.sampled_from([13, 40, 300]))
def test_the_limit_holds_for_a_counter_that_is_not_additive(
    text: str, limit: int
) -> None:
    counter = tiktoken_counter("cl100k_base")
    document = read_text(text, format="markdown")
    check(
        HiQASplitter(limit, counter=counter).split(document), document, limit, counter
    )


@settings(max_examples=100, deadline=None)
@given(documents, limits)
def test_removing_the_context_of_a_text_gives_the_text(
    text: str, limit: int | None
) -> None:
    for chunk in split(text, max_tokens=limit):
        if chunk.kind == "text":
            assert chunk.index_text == (
                f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
            )
            assert "reduced" not in chunk.extras


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([part for part in PARTS if not set("|<!") & set(part)]),
        max_size=8,
    ).map("".join)
)
def test_prose_alone_is_split_as_by_content(text: str) -> None:
    document = read_text(text, format="markdown")
    ours = HiQASplitter(60).split(document)
    theirs = ContentAwareSplitter(60, flat_max_tokens=None).split(document)
    assert [(chunk.start, chunk.end, chunk.context) for chunk in ours] == [
        (chunk.start, chunk.end, chunk.context) for chunk in theirs
    ]


def test_the_path_from_the_document_title_down_has_one_title_a_level() -> None:
    text = (
        "# One\n\n"
        + "Words stand here. " * 30
        + "\n\n## Two\n\n### Three\n\n"
        + "Words stand here. " * 30
    )
    chunks = HiQASplitter(40).split(read_text(text, format="markdown", title="Manual"))
    assert {chunk.context for chunk in chunks if chunk.path == ("One",)} == {
        "Manual",
        "Manual > One",
    }
    assert {
        chunk.context for chunk in chunks if chunk.path == ("One", "Two", "Three")
    } == {
        "Manual > One",
        "Manual > One > Two > Three",
    }


def test_duplicate_headings_a_body_of_a_parent_and_the_last_section_are_kept() -> None:
    text = "# A\n\nbody of the parent\n\n## Notes\n\nsame\n\n## Notes\n\nsame\n\n# Last\n\nthe end"
    chunks = split(text)
    assert [chunk.text.split("\n\n")[1].strip() for chunk in chunks] == [
        "body of the parent",
        "same",
        "same",
        "the end",
    ]
    assert (
        len({chunk.id for chunk in chunks})
        == len({chunk.section_id for chunk in chunks})
        == 4
    )


def test_a_section_without_a_body_stays_in_the_paths_below_it() -> None:
    (chunk,) = split("# A\n\n## B\n\n### C\n\nbody\n")
    assert chunk.path == ("A", "B", "C")
    (table,) = split("# A\n\n## B\n\n" + TABLE)
    assert table.context == "A > B"


def test_long_texts_are_cut_at_sentence_ends() -> None:
    chunks = split(
        "# A\n\n" + " ".join(f"Sentence number {i} is here." for i in range(60)),
        max_tokens=50,
    )
    assert len(chunks) > 5
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)


def test_presets_set_the_limit_alone() -> None:
    long = "# A\n\n" + "Some words stand here. " * 900
    document = read_text(long, format="markdown")
    assert len(HiQASplitter.paper().split(document)) == 1
    assert len(HiQASplitter.paper(max_tokens=400).split(document)) > 5


@examples
def test_bad_settings_are_named(settings: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        HiQASplitter(**settings)
