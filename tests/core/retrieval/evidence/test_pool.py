"""Several records as one row of atoms, against each alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from doubles import HashTokens
from evidence_making import QUANTISER, WORDS, pool, question, record
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.index.lexical import idf
from structrag.reading.settings import Reading
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.record import NO_ATOMS, read_atoms
from structrag.retrieval.evidence.windows import MAX_WIDTHS
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


def test_no_window_holds_two_documents() -> None:
    both = pool([FIRST, SECOND])
    for width in MAX_WIDTHS:
        of = both.windows[width]
        assert (of.stops[:5] <= 5).all() and (of.firsts[5:] >= 5).all()
    assert (both.section_windows.firsts.tolist()) == [0, 0, 0, 3, 3, 5, 5]


@pytest.mark.parametrize("most", [0, 256 << 20])
def test_cosines_are_those_with_the_sums_of_vectors(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the sums are kept in float32, or widened for each question."""
    monkeypatch.setattr("structrag.retrieval.evidence.pool._SUMS_BYTES", most)
    both, asked = pool([FIRST, SECOND]), question("Which pumps leak?")
    assert asked.vector is not None
    cosines = both.cosines(asked.vector)
    (tokens,) = HashTokens().embed_tokens([SECOND.text])
    unit = unit_rows(asked.vector[None])[0]
    for atom, part in ((5, slice(0, 2)), (6, slice(2, 6))):
        total = tokens.vectors[part].sum(axis=0)
        assert cosines[0][atom] == pytest.approx(
            total @ unit / np.linalg.norm(total), abs=2e-3
        )
    whole = tokens.vectors.sum(axis=0)
    assert cosines[-1][6] == pytest.approx(
        whole @ unit / np.linalg.norm(whole), abs=2e-3
    )


@pytest.mark.parametrize("most", [0, 256 << 20])
@pytest.mark.parametrize(
    "vector",
    [np.zeros(32, np.float32), np.ones(31, np.float32)],
    ids=["zero", "narrow"],
)
def test_a_vector_of_zeros_or_of_another_width_is_like_nothing(
    most: int, vector: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.retrieval.evidence.pool._SUMS_BYTES", most)
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
        monkeypatch.setattr("structrag.retrieval.evidence.pool._SUMS_BYTES", most)
        assert (pool([FIRST, EMPTY, SECOND])._sums is not None) == is_kept


def test_matches_are_the_best_cosines_of_the_atoms_tokens() -> None:
    both, asked = pool([FIRST, SECOND]), question("pumps sleep")
    assert asked.tokens is not None
    queries = unit_rows(asked.tokens)
    (tokens,) = HashTokens().embed_tokens([SECOND.text])
    cosines = unit_rows(tokens.vectors) @ queries.T
    expected = np.stack([cosines[:2].max(axis=0), cosines[2:].max(axis=0)])
    for atoms in ([5, 6], [0, 2, 5, 6]):
        matches = both.matches(np.array(atoms), queries, QUANTISER)
        assert np.allclose(matches[-2:], expected, atol=0.02)


def test_an_atom_without_a_token_matches_nothing() -> None:
    asked = question("pumps")
    assert asked.tokens is not None
    alone = pool([read_text("# ***\n\nPumps leak.\n")])
    matches = alone.matches(np.arange(2), unit_rows(asked.tokens), QUANTISER)
    assert matches[0].tolist() == [-1.0] and matches[1, 0] > 0.9


def test_many_tokens_are_multiplied_in_batches() -> None:
    text = "".join(f"Word {i} here stands. " for i in range(6000))  # 24,000 tokens
    whole = Pool([record(read_text(text), Reading())])
    asked = question("word 5999 stands")
    assert asked.tokens is not None
    matches = whole.matches(np.arange(len(whole)), unit_rows(asked.tokens), QUANTISER)
    assert int(matches[:, 1].argmax()) == 5999


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "atoms", [[0], [6], [1, 2, 3], [0, 2, 3, 5], [3, 4, 5, 6], list(range(7))], ids=str
)
def test_batches_of_any_size_give_the_same_matches(
    tokens: int, atoms: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    both, asked = pool([FIRST, SECOND]), question("pumps sleep")
    assert asked.tokens is not None
    queries = unit_rows(asked.tokens)
    expected = both.matches(np.arange(7), queries, QUANTISER)[atoms]
    monkeypatch.setattr("structrag.retrieval.evidence.pool._TOKENS", tokens)
    matches = both.matches(np.array(atoms), queries, QUANTISER)
    assert np.allclose(matches, expected, atol=1e-6) and (matches > -1).all()


def test_pieces_of_all_documents_are_counted_together() -> None:
    one, other = (
        replace(
            NO_ATOMS,
            piece_ids=np.array(ids, dtype=np.int32),
            piece_counts=np.array(counts, dtype=np.int32),
            pieces=np.array([pieces], dtype=np.int32),
        )
        for ids, counts, pieces in (([2, 5], [1, 3], 4), ([5, 9], [2, 1], 3))
    )
    ids = np.array([1, 2, 5, 7, 9, 10], dtype=np.int32)
    expected = [idf(7, df) for df in (0, 1, 5, 0, 1, 0)]
    assert np.allclose(Pool([one, other]).token_weights(ids), expected)
    assert np.allclose(Pool([]).token_weights(ids), np.log(2))


def test_weights_are_by_the_pieces_that_hold_a_token() -> None:
    both, asked = pool([FIRST, SECOND]), question("pumps rotor unknown")
    assert asked.ids is not None
    assert np.allclose(both.token_weights(asked.ids), [idf(2, 2), idf(2, 1), idf(2, 0)])
    assert idf(2, 2) == pytest.approx(np.log(1.2))
    assert idf(10, 2) == pytest.approx(np.log(1 + 8.5 / 2.5))


def test_stems_are_counted_by_atom_and_found_in_titles() -> None:
    both = pool([FIRST, SECOND])
    pump, part = stem_keys(["pump", "part"])
    assert both.stem_counts(pump).tolist() == [1, 1, 0, 0, 0, 0, 1]
    assert both.titled(pump).tolist() == [True] * 5 + [False] * 2
    assert both.titled(part).tolist() == [False] * 3 + [True] * 2 + [False] * 2
    assert both.stem_lengths[-1].tolist() == [5, 5, 5, 2, 2, 5, 5]


def test_titles_of_sections_behind_the_last_atom_are_of_no_other_document() -> None:
    excluded = Reading(exclude_titles=["pumps"])
    documents = [read_text("text\n\n# Pumps\n\nmore", title="A"), read_text("other")]
    both = Pool(
        [read_atoms(excluded.outline(document), excluded) for document in documents]
    )
    assert not both.titled(stem_keys(["pump"])[0]).any()


def test_a_pool_of_nothing_and_one_without_vectors() -> None:
    assert len(Pool([])) == 0
    plain = Pool([read_atoms(WORDS.outline(SECOND), WORDS)])
    assert not plain.has_tokens
    assert not np.any(plain.cosines(np.ones(3, dtype=np.float32)))


def test_a_pool_takes_over_as_many_records_as_are_the_same() -> None:
    one, two, three = (record(document) for document in (FIRST, SECOND, EMPTY))
    before = Pool([one, two])
    assert [
        before.begins_like(records)
        for records in (
            [],
            [one],
            [one, two],
            [one, two, three],
            [two, one],
            [one, one],
        )
    ] == [0, 1, 2, 2, 0, 1]
    assert Pool([one, two, three], before).shared == 2
    assert Pool([two], before).shared == Pool([one]).shared == 0


def test_only_what_was_worked_out_is_taken_over() -> None:
    one, two = record(FIRST), record(SECOND)
    before = Pool([one])
    before.titled(stem_keys(["pump"])[0])
    grown = Pool([one, two], before)
    assert "_titles" in vars(grown) and "windows" not in vars(grown)


def test_a_record_that_went_takes_its_stems_with_it() -> None:
    one, two, three = (
        record(read_text(f"# {word}\n\nA {word} leaks."))
        for word in ("pump", "valve", "seal")
    )
    before = Pool([one, two])
    keys = stem_keys(["pump", "valve", "seal"])
    for key in keys:
        before.stem_counts(key), before.titled(key)
    grown = Pool([one, three], before)
    assert [grown.stem_counts(key).tolist() for key in keys] == [
        [1, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 1, 1],
    ]
    assert [grown.titled(key).tolist() for key in keys] == [
        [True, True, False, False],
        [False] * 4,
        [False, False, True, True],
    ]


def test_a_record_of_a_single_atom_that_went_takes_its_stems_with_it() -> None:
    one, two, three = (
        record(read_text(f"The {word} leaks.")) for word in ("pump", "valve", "seal")
    )
    before = Pool([one, two])
    keys = stem_keys(["pump", "valve", "seal"])
    before.stem_counts(keys[0])
    grown = Pool([one, three], before)
    assert [grown.stem_counts(key).tolist() for key in keys] == [[1, 0], [0, 0], [0, 1]]


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
    before = Pool([records[i] for i in old])
    changed = [*before.records[:same], *(records[i] for i in new)]
    worked_out = ("windows", "stem_lengths", "_postings", "_titles")
    for name in worked_out:
        getattr(before, name)
    grown, fresh = Pool(changed, before), Pool(changed)
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
    monkeypatch.setattr("structrag.retrieval.evidence.pool._SUMS_BYTES", 0)
    monkeypatch.setattr("structrag.retrieval.evidence.pool._ROWS", 2)
    assert np.allclose(pool([FIRST, SECOND]).cosines(asked.vector), expected, atol=1e-6)
