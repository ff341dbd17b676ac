"""Several pieces as one row of atoms."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_making import QUANTISER, pool, question, record

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.record import cut_pieces, pack, unpack
from structrag.retrieval.evidence.windows import SUM_WIDTHS
from structrag.text.stems import stem_keys

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
    places = [both.place(atom) for atom in (0, 4, 5, 6)]
    assert places == [(0, 0), (0, 4), (1, 0), (1, 1)]
    assert both.blocks.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert both.sections.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert [of.sections.tolist() for of in both.records] == [[1, 1, 1, 2, 2], [0, 0]]


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
    made, pieces = record(read_text(text), ReadOptions())
    whole, asked = Corpus.of_documents([made], [pieces]), question("word 5999 stands")
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
    made, spans = record(LONG)
    pieces = [pack(piece) for _, piece in cut_pieces(made, spans)]
    assert len(pieces) > 6
    yes, no = [True] * 4, [True, False, False, False]
    part = Corpus(pieces[1:5], no, yes, yes)
    whole = Corpus.of_documents([made], [spans])
    before = len(unpack(pieces[:1])[0])
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
    made, spans = record(LONG)
    pieces = [pack(piece) for _, piece in cut_pieces(made, spans)]
    yes = [True, True]
    apart = Corpus([pieces[0], pieces[2]], yes, yes, yes)
    first = len(unpack(pieces[:1])[0])
    assert apart.firsts.tolist() == [0, first, len(apart)]
    assert apart.windows[960].stops[:first].max() == first
    assert apart.blocks[first - 1] < apart.blocks[first]
