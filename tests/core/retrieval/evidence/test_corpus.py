"""Several pieces as one row of atoms."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_making import QUANTISER, pool, question, rows

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.corpus import Pool
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.windows import SUM_WIDTHS
from structrag.text.terms import stem_keys

FIRST = read_text(
    "# Pumps\n\nPumps leak. Seals hold.\n\n## Parts\n\nA rotor.\n", id="a"
)
SECOND = read_text("Cats sleep. Dogs bark at pumps.\n", id="b")
EMPTY = read_text("", id="c")
LONG = read_text(
    "\n\n".join(
        f"# Part {i}\n\n" + f"Part {i} is made of steel and of wood. " * 9
        for i in range(20)
    ),
    id="l",
)


def test_atoms_are_numbered_through_all_runs() -> None:
    both = pool([FIRST, EMPTY, SECOND])
    assert len(both) == 7 and both.firsts.tolist() == [0, 5, 7]
    assert both.run_of.tolist() == [0] * 5 + [1] * 2
    assert [stored.id for stored in both.documents] == ["a", "b"]
    assert both.blocks.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert both.sections.tolist() == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "vector",
    [np.zeros(32, np.float32), np.ones(31, np.float32)],
    ids=["zero", "narrow"],
)
def test_a_vector_of_zeros_or_of_another_width_is_like_nothing(
    vector: np.ndarray,
) -> None:
    both = pool([FIRST, SECOND])
    assert [of.tolist() for of in both.cosines(vector)] == [[0.0] * 7] * 6


def test_the_length_of_a_question_does_not_count() -> None:
    both, asked = pool([FIRST, SECOND]), question("Which pumps leak?")
    assert asked.vector is not None
    for one, other in zip(
        both.cosines(asked.vector), both.cosines(7 * asked.vector), strict=True
    ):
        assert np.allclose(one, other, atol=1e-6) and np.abs(one).max() > 0.3


def test_a_token_is_found_among_many() -> None:
    text = "".join(f"Word {i} here stands. " for i in range(6000))  # 24,000 tokens
    whole, asked = pool([read_text(text)], ReadOptions()), question("word 5999 stands")
    assert asked.tokens is not None
    matches = whole.matches(np.arange(len(whole)), unit_rows(asked.tokens), QUANTISER)
    assert int(matches[:, 1].argmax()) == 5999


def test_titles_are_those_of_the_sections_of_each_piece() -> None:
    whole = pool([LONG])
    for number in (0, 7, 19):
        titled = whole.titled(stem_keys([str(number)])[0])
        texts = LONG.text.split("# Part ")[1:]
        start = LONG.text.index(texts[number]) - len("# Part ")
        end = start + len("# Part ") + len(texts[number])
        starts = whole.atoms.starts
        assert titled.tolist() == ((starts >= start) & (starts < end)).tolist()
    assert not whole.titled(stem_keys(["cat"])[0]).any()


def test_pieces_in_the_middle_of_a_document_are_scored_as_in_the_whole() -> None:
    pieces, whole = rows([LONG]), pool([LONG])
    assert len(pieces) > 6
    some = {row: pieces[row] for row in range(1, 5)}
    part, before = Pool(some, some, some), int(whole.piece_firsts[1])
    asked = question("Which part is made of wood?")
    assert asked.vector is not None
    both = zip(part.cosines(asked.vector), whole.cosines(asked.vector), strict=True)
    for width, (one, other) in zip(SUM_WIDTHS, both, strict=False):
        is_whole = part.windows[width].firsts > 0
        is_whole &= part.windows[width].stops < len(part)
        assert is_whole.any() == (width < 960)
        same = other[before : before + len(part)]
        assert np.allclose(one[is_whole], same[is_whole], atol=1e-6)
        assert np.allclose(one, same, atol=0.1)  # part of a window is like the whole


def test_runs_of_one_document_do_not_touch() -> None:
    pieces = rows([LONG])
    some = {row: pieces[row] for row in (0, 2)}
    apart = Pool(some, some, some)
    first = int(apart.piece_firsts[1])
    assert apart.firsts.tolist() == [0, first, len(apart)]
    assert apart.windows[960].stops[:first].max() == first
    assert apart.blocks[first - 1] < apart.blocks[first]
