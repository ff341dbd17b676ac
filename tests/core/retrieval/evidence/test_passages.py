"""What the reader is given of a passage: exact text, its path, its tokens."""

from __future__ import annotations

from evidence_making import WORDS, pool
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.retrieval.evidence.passages import PassageReader

DOCUMENT = read_text(
    "# Pumps\n\nThey leak. They hum.\n\n## Code\n\n    indented = 1\n\n# Left\n\nx\n",
    id="a",
)
OTHER = read_text("Cats sleep.", id="b")


def reader(*, context: str = "none") -> PassageReader:
    return PassageReader(pool([DOCUMENT, OTHER]), WORDS, context)


@examples
def test_the_path_is_shown_and_counted(
    first: int, stop: int, context: str, tokens: int
) -> None:
    with_path = reader(context="all")
    assert with_path.chunk(first, stop).context == context
    assert with_path.tokens(first, stop) == tokens


TABLE = read_text(
    "# Stock\n\nTable 1: All pumps\n\n| part | pieces |\n|---|---|\n| pump number one | 7 |\n"
    "| pump number two | 8 |\n",
    id="t",
)


@examples
def test_rows_come_with_their_caption_and_header(
    first: int, context: str, shown: str
) -> None:
    of_table = PassageReader(pool([TABLE]), WORDS, context)
    chunk = of_table.chunk(first, 5)
    assert TABLE.text[chunk.start : chunk.end] == chunk.text and chunk.text.endswith(
        "two | 8 |"
    )
    assert chunk.context == shown
    assert of_table.tokens(first, 5) == len(f"{shown}\n{chunk.text}".split())


@given(st.integers(0, 7), st.integers(1, 8))
def test_what_is_beside_a_passage_does_not_hold_it(first: int, length: int) -> None:
    passages = PassageReader(pool([DOCUMENT]), WORDS, "none")
    stop = min(first + length, 7)
    if first >= stop:
        return
    chunk = passages.chunk(first, stop)
    before, after = passages.beside(chunk.start, chunk.end)
    blocks = passages.blocks()
    for block in filter(None, (before, after)):
        assert (
            block in blocks and not chunk.start <= block.start < block.end <= chunk.end
        )
    assert (before is None) == (
        not DOCUMENT.text[: chunk.start].strip() or chunk.start < 20
    )
    assert (after is None) == (not DOCUMENT.text[chunk.end :].strip())


def test_passages_of_html_have_their_place_in_the_markup() -> None:
    markup = "<title>x</title><h1>Pumps</h1><p>They <b>leak</b>.</p><pre>  a &amp; b\n  c</pre>"
    page = read_text(markup, id="page", format="html")
    of_page = PassageReader(pool([page]), WORDS, "none")
    for chunk in of_page.blocks():
        place = markup[chunk.extras["source_start"] : chunk.extras["source_end"]]
        shown = read_text(f"<div>{place}</div>", format="html").text
        assert shown.split() == chunk.text.split()
    assert "source_start" not in reader().chunk(1, 3).extras
