"""What the reader is given of a passage: exact text, its path, its tokens."""

from __future__ import annotations

import numpy as np
from evidence_making import WORDS, record
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.retrieval.evidence.leads import find_leads
from structrag.retrieval.evidence.packing import Passage
from structrag.retrieval.evidence.passages import PassageReader
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.scores import Ranking
from structrag.retrieval.evidence.store import stored_document

DOCUMENT = read_text(
    "# Pumps\n\nThey leak. They hum.\n\n## Code\n\n    indented = 1\n\n# Left\n\nx\n",
    id="a",
)
OTHER = read_text("Cats sleep.", id="b")
RANKING = Ranking(np.arange(8), np.arange(8.0), {"stems": np.arange(8.0)})


def reader(*, context: str = "none") -> PassageReader:
    documents = (DOCUMENT, OTHER)
    stored = [stored_document(WORDS.outline(document), []) for document in documents]
    return PassageReader(
        stored, Pool([record(one) for one in documents]), WORDS, context
    )


def test_a_run_of_atoms_is_an_exact_slice_without_blanks_around_it() -> None:
    chunk = reader().chunk(1, 3)
    assert (
        chunk.text == "They leak. They hum." == DOCUMENT.text[chunk.start : chunk.end]
    )
    assert (chunk.id, chunk.section_id, chunk.n_tokens) == ("a:9-29", "a#1", 4)


def test_the_first_line_keeps_its_indentation() -> None:
    assert reader().chunk(4, 5).text == "    indented = 1"


def test_the_body_begins_behind_the_heading() -> None:
    assert reader().chunk(0, 3).body.strip() == "They leak. They hum."
    alone = reader().chunk(0, 1)
    assert alone.body_start == alone.start


@examples
def test_the_path_is_shown_and_counted(
    first: int, stop: int, context: str, tokens: int
) -> None:
    with_path = reader(context="all")
    assert with_path.chunk(first, stop).context == context
    assert with_path.tokens(first, stop) == tokens


def test_only_what_follows_in_the_same_document_joins() -> None:
    assert [reader().joins(atom) for atom in range(8)] == [False, *[True] * 6, False]


def test_a_hit_has_the_rank_and_the_parts_of_its_best_atom() -> None:
    hit = reader().hit(Passage(1, 3, best=2, rank=5), RANKING)
    assert (hit.rank, hit.score, hit.parts) == (5, 2.0, {"stems": 2.0})


def test_an_atom_above_the_budget_is_cut_at_a_word() -> None:
    (hit,) = reader().cut(1, RANKING, 1)
    assert (hit.chunk.text, hit.chunk.extras) == ("They", {"cut": True})


def test_an_atom_that_only_its_context_makes_too_long_is_given_alone() -> None:
    (hit,) = reader(context="all").cut(1, RANKING, 2)
    assert (hit.chunk.context, hit.chunk.text, hit.chunk.extras) == (
        "",
        "They leak.",
        {},
    )


TABLE = read_text(
    "# Stock\n\nTable 1: All pumps\n\n| part | pieces |\n|---|---|\n| pump number one | 7 |\n"
    "| pump number two | 8 |\n",
    id="t",
)


@examples
def test_rows_come_with_their_caption_and_header(
    first: int, context: str, shown: str
) -> None:
    stored = stored_document(
        WORDS.outline(TABLE), [], find_leads(WORDS.outline(TABLE), WORDS)
    )
    of_table = PassageReader([stored], Pool([record(TABLE)]), WORDS, context)
    chunk = of_table.chunk(first, 5)
    assert TABLE.text[chunk.start : chunk.end] == chunk.text and chunk.text.endswith(
        "two | 8 |"
    )
    assert chunk.context == shown
    assert of_table.tokens(first, 5) == len(f"{shown}\n{chunk.text}".split())


def test_blocks_come_with_the_headings_before_them() -> None:
    blocks = reader().blocks(0)
    assert [block.text for block in blocks] == [
        "# Pumps\n\nThey leak. They hum.",
        "## Code\n\n    indented = 1",
        "# Left\n\nx",
    ]
    assert [block.path for block in blocks] == [
        ("Pumps",),
        ("Pumps", "Code"),
        ("Left",),
    ]
    for block in blocks:
        assert block.text == DOCUMENT.text[block.start : block.end]


def of_text(text: str, context: str = "none") -> PassageReader:
    outline = WORDS.outline(read_text(text, id="x", format="markdown"))
    stored = [stored_document(outline, [])]
    return PassageReader(stored, Pool([record(outline.document)]), WORDS, context)


def test_blocks_without_a_heading_stand_alone() -> None:
    blocks = of_text("Cats sleep.\n\nDogs bark. They run.\n\n# Left\n").blocks(0)
    assert [block.text for block in blocks] == [
        "Cats sleep.",
        "Dogs bark. They run.",
        "# Left",
    ]


def test_a_body_right_below_its_heading_has_it_in_the_context() -> None:
    below = of_text("# A\nThey leak.\nAnd hum.\n\n## B\nx", "all")
    assert [below.chunk(i, i + 1).context for i in range(3, 5)] == ["A", "A > B"]
    whole = below.chunk(0, 3)
    assert (whole.text, whole.body) == ("# A\nThey leak.\nAnd hum.", whole.text[4:])
    assert below.is_heading(0) and below.is_heading(3) and not below.is_heading(1)


@given(st.integers(0, 7), st.integers(1, 8))
def test_what_is_beside_a_passage_does_not_hold_it(first: int, length: int) -> None:
    passages = reader()
    stop = min(first + length, 7)
    if first >= stop:
        return
    chunk = passages.chunk(first, stop)
    before, behind = passages.beside(0, chunk.start, chunk.end)
    blocks = passages.blocks(0)
    for block in filter(None, (before, behind)):
        assert (
            block in blocks and not chunk.start <= block.start < block.end <= chunk.end
        )
    assert (before is None) == (
        not DOCUMENT.text[: chunk.start].strip() or chunk.start < 20
    )
    assert (behind is None) == (not DOCUMENT.text[chunk.end :].strip())


def test_passages_of_html_have_their_place_in_the_markup() -> None:
    markup = "<title>x</title><h1>Pumps</h1><p>They <b>leak</b>.</p><pre>  a &amp; b\n  c</pre>"
    page = read_text(markup, id="page", format="html")
    stored = [stored_document(WORDS.outline(page), [])]
    of_page = PassageReader(stored, Pool([record(page)]), WORDS, "none")
    for chunk in of_page.blocks(0):
        place = markup[chunk.extras["source_start"] : chunk.extras["source_end"]]
        shown = read_text(f"<div>{place}</div>", format="html").text
        assert shown.split() == chunk.text.split()
    assert "source_start" not in reader().chunk(1, 3).extras
