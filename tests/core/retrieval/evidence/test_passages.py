"""What the reader is given of a passage: exact text, its path, its tokens."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_making import WORDS, record

from structrag import read_text
from structrag.retrieval.evidence.packing import Passage
from structrag.retrieval.evidence.passages import PassageReader
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.scores import Ranking
from structrag.retrieval.evidence.store import stored_document

DOCUMENT = read_text(
    "# Pumps\n\nThey leak. They hum.\n\n## Code\n\n    indented = 1\n\n# Left\n\nx\n", id="a"
)
OTHER = read_text("Cats sleep.", id="b")
RANKING = Ranking(np.arange(8), np.arange(8.0), {"stems": np.arange(8.0)})


def reader(*, context: bool = False) -> PassageReader:
    documents = (DOCUMENT, OTHER)
    stored = [stored_document(WORDS.outline(document), []) for document in documents]
    return PassageReader(stored, Pool([record(one) for one in documents]), WORDS, context)


def test_a_run_of_atoms_is_an_exact_slice_without_blanks_around_it() -> None:
    chunk = reader().chunk(1, 3)
    assert chunk.text == "They leak. They hum." == DOCUMENT.text[chunk.start : chunk.end]
    assert (chunk.id, chunk.section_id, chunk.n_tokens) == ("a:9-29", "a#1", 4)


def test_the_first_line_keeps_its_indentation() -> None:
    assert reader().chunk(4, 5).text == "    indented = 1"


def test_the_body_begins_behind_the_heading() -> None:
    assert reader().chunk(0, 3).body.strip() == "They leak. They hum."
    alone = reader().chunk(0, 1)
    assert alone.body_start == alone.start


@pytest.mark.parametrize(
    ("first", "stop", "context", "tokens"),
    [(1, 3, "Pumps", 5), (4, 5, "Pumps > Code", 6), (3, 5, "Pumps", 6), (7, 8, "", 2)],
)
def test_the_path_is_shown_and_counted(first: int, stop: int, context: str, tokens: int) -> None:
    with_path = reader(context=True)
    assert with_path.chunk(first, stop).context == context
    assert with_path.tokens(first, stop) == tokens


def test_only_what_follows_in_the_same_document_joins() -> None:
    assert [reader().joins(atom) for atom in range(8)] == [False, *[True] * 6, False]


def test_a_hit_has_the_rank_and_the_parts_of_its_best_atom() -> None:
    hit = reader().hit(Passage(1, 3, best=2, rank=5), RANKING)
    assert (hit.rank, hit.score, hit.parts) == (5, 2.0, {"stems": 2.0})


@pytest.mark.parametrize(("budget", "texts"), [(1, ["They"]), (2, ["They leak."])])
def test_an_atom_above_the_budget_is_cut_at_a_word(budget: int, texts: list[str]) -> None:
    hits = reader().cut(1, RANKING, budget)
    assert [hit.chunk.text for hit in hits] == texts
    assert all(hit.chunk.extras == {"cut": True} for hit in hits)


def test_where_the_path_alone_is_above_the_budget_nothing_is_given() -> None:
    assert reader(context=True).cut(1, RANKING, 1) == []
