"""Several records as one row of atoms, against each alone."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_making import QUANTISER, pool, question, record
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.record import read_units
from structrag.text.stems import stem_keys

FIRST = read_text(
    "# Pumps\n\nPumps leak. Seals hold.\n\n## Parts\n\nA rotor.\n", id="a"
)
SECOND = read_text("Cats sleep. Dogs bark at pumps.\n", id="b")
EMPTY = read_text("", id="c")


def test_atoms_are_numbered_through_all_documents() -> None:
    both = pool([FIRST, EMPTY, SECOND])
    assert len(both) == 7 and both.firsts.tolist() == [0, 5, 5, 7]
    assert [both.place(atom) for atom in (0, 4, 5, 6)] == [
        (0, 0),
        (0, 4),
        (2, 0),
        (2, 1),
    ]
    assert both.blocks.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert both.sections.tolist() == [1, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("most", [0, 256 << 20])
@pytest.mark.parametrize(
    "vector",
    [np.zeros(32, np.float32), np.ones(31, np.float32)],
    ids=["zero", "narrow"],
)
def test_a_vector_of_zeros_or_of_another_width_is_like_nothing(
    most: int, vector: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.retrieval.evidence.corpus._SUMS_BYTES", most)
    both = pool([FIRST, SECOND])
    assert [of.tolist() for of in both.cosines(vector)] == [[0.0] * 7] * 6


def test_the_length_of_a_question_does_not_count() -> None:
    both, asked = pool([FIRST, SECOND]), question("Which pumps leak?")
    assert asked.vector is not None
    for one, other in zip(
        both.cosines(asked.vector), both.cosines(7 * asked.vector), strict=True
    ):
        assert np.allclose(one, other, atol=1e-6) and np.abs(one).max() > 0.3


def test_sums_of_exactly_the_memory_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, is_kept in ((7 * 32 * 4, True), (7 * 32 * 4 - 1, False)):
        monkeypatch.setattr("structrag.retrieval.evidence.corpus._SUMS_BYTES", most)
        assert (pool([FIRST, EMPTY, SECOND])._sums is not None) == is_kept


def test_many_tokens_are_multiplied_in_batches() -> None:
    text = "".join(f"Word {i} here stands. " for i in range(6000))  # 24,000 tokens
    whole = Corpus([record(read_text(text), ReadOptions())])
    asked = question("word 5999 stands")
    assert asked.tokens is not None
    matches = whole.matches(np.arange(len(whole)), unit_rows(asked.tokens), QUANTISER)
    assert int(matches[:, 1].argmax()) == 5999


def test_titles_of_sections_behind_the_last_atom_are_of_no_other_document() -> None:
    excluded = ReadOptions(exclude_titles=["pumps"])
    documents = [read_text("text\n\n# Pumps\n\nmore", title="A"), read_text("other")]
    both = Corpus(
        [read_units(excluded.outline(document), excluded) for document in documents]
    )
    assert not both.titled(stem_keys(["pump"])[0]).any()


TEXTS = [
    "",
    "Cats sleep.",
    "# Pumps\n\nThe pump leaks. It hums.",
    "# A\n\n# B",
    "- one\n- two",
]


@given(
    st.lists(st.sampled_from(range(len(TEXTS))), max_size=6),
    st.lists(st.sampled_from(range(len(TEXTS))), max_size=6),
    st.integers(0, 6),
)
def test_a_pool_that_takes_over_is_like_one_made_afresh(
    old: list[int], new: list[int], same: int
) -> None:
    records = [record(read_text(text, id=str(i))) for i, text in enumerate(TEXTS)]
    before = Corpus([records[i] for i in old])
    changed = [*before.records[:same], *(records[i] for i in new)]
    worked_out = ("windows", "stem_lengths", "_postings", "_titles")
    for name in worked_out:
        getattr(before, name)
    grown, fresh = Corpus(changed, before), Corpus(changed)
    assert grown.shared >= min(same, len(old))
    assert set(worked_out) <= set(vars(grown)) or not grown.shared
    for width, of in fresh.windows.items():
        assert all(map(np.array_equal, grown.windows[width], of))
    for name in worked_out[1:]:
        assert all(map(np.array_equal, getattr(grown, name), getattr(fresh, name))), (
            name
        )


def test_records_of_many_atoms_are_multiplied_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, asked = pool([FIRST, SECOND]), question("Which pumps leak?")
    assert asked.vector is not None
    expected = both.cosines(asked.vector)
    monkeypatch.setattr("structrag.retrieval.evidence.corpus._SUMS_BYTES", 0)
    monkeypatch.setattr("structrag.retrieval.evidence.corpus._ROWS", 2)
    assert np.allclose(pool([FIRST, SECOND]).cosines(asked.vector), expected, atol=1e-6)
