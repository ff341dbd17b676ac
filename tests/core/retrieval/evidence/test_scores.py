"""Scores: worked numbers, sums of parts, and a first stage that loses nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from evidence_making import QUANTISER, pool, question
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.index.lexical import idf
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.scores import (
    MATCHED,
    UNMATCHED,
    Question,
    Ranking,
    Unmatched,
    _by_score,
    _covered,
    _norms,
    rank,
    stem_scores,
    token_scores,
    token_weights,
)
from structrag.retrieval.evidence.windows import Windows

TEXT = "# Pumps\n\nBlue pumps leak. Seals hold.\n\n# Cats\n\nCats sleep all day. Dogs bark.\n"
DOCUMENT = read_text(TEXT, id="a")


def test_bm25_counts_a_texts_length_beside_the_mean() -> None:
    lengths, counted = np.array([2.0, 4.0, 6.0]), np.array([2.0, 6.0])
    assert _norms(lengths, counted) == pytest.approx([0.75, 1.2, 1.65])
    for nothing in (np.zeros(0), np.zeros(2)):  # texts without words
        assert _norms(np.zeros(2), nothing) == pytest.approx([0.3, 0.3])


def test_windows_cover_their_atoms_once() -> None:
    windows = Windows(np.array([0, 1, 5]), np.array([2, 3, 7]))
    assert _covered(windows, 7).tolist() == [0, 1, 2, 5, 6]
    assert _covered(Windows(np.array([3]), np.array([4])), 7).tolist() == [3]


def test_what_each_part_adds_at_most() -> None:
    # one sentence each: the first is the best in every window
    whole = pool(
        [read_text("Blue pumps leak.", id="a"), read_text("Cats sleep.", id="b")]
    )
    asked = question("Which blue pumps leak?")

    def most(found: Ranking) -> dict[str, float]:
        return {
            name: round(float(values.max()), 6)
            for name, values in found.parts.items()
            if name != "titles"  # a share of the question
        }

    assert most(rank(whole, asked, QUANTISER)) == {
        "tokens": 1.0,
        "vectors": 0.25,
        "stems": 0.1,
        "section vectors": 0.05,
        "section stems": 0.05,
    }
    unmatched = {
        "vectors": 1.0,
        "stems": 1.0,
        "section vectors": 0.1,
        "section stems": 0.1,
    }
    assert most(rank(whole, asked)) == unmatched
    without_tokens = replace(asked, tokens=np.zeros((0, 4)), ids=np.zeros(0, np.int32))
    assert most(rank(whole, without_tokens, QUANTISER)) == unmatched


def test_what_was_not_matched_lies_below_by_one() -> None:
    document = read_text(
        " ".join(f"Pump {i} moves water {i * i}." for i in range(30)), id="a"
    )
    whole = pool([document])
    found = rank(whole, question("Which pump moves water 49?"), QUANTISER, shortlist=5)
    assert found.unmatched is not None and found.unmatched.atoms.sum() == len(whole) - 5
    below, above = (
        found.scores[found.unmatched.atoms],
        found.scores[~found.unmatched.atoms],
    )
    assert below.max() == pytest.approx(above.min() - 1)
    assert not found.unmatched.atoms[found.atoms[:5]].any()


def test_parts_add_up_and_the_sentence_that_answers_is_first() -> None:
    whole = pool([DOCUMENT])
    found = rank(whole, question("Which blue pumps leak?"), QUANTISER)
    assert found.atoms[0] == 1 and set(found.parts) == set(MATCHED)
    assert np.allclose(sum(found.parts.values()), found.scores)
    for name, values in found.parts.items():
        assert values.min() >= 0 and values.max() <= MATCHED[name] + 1e-9
    assert sorted(found.atoms.tolist()) == list(range(len(whole)))


def test_the_share_of_titles_is_weighted_by_idf() -> None:
    whole = pool([DOCUMENT])
    found = rank(whole, Question("pumps sleep"))
    # "pump" is in 2 of 6 atoms, "sleep" in 1
    weights = [float(idf(6, 2)), float(idf(6, 1))]
    assert found.parts["titles"][1] == pytest.approx(0.2 * weights[0] / sum(weights))
    assert not found.parts["titles"][3:].any()


def test_bm25_of_one_sentence_is_the_textbooks() -> None:
    whole = pool([read_text("Pumps leak. Seals hold well and long.\n")])
    found = rank(whole, Question("pumps"))
    # narrowest window: only the first of two atoms has the stem; in all others both have it
    assert found.parts["stems"][0] == pytest.approx(1.0)
    assert found.parts["stems"][1] == pytest.approx(4 / 5)


def test_bm25_of_one_sentence_alone() -> None:
    alone = pool([read_text("Pumps leak. ")])
    scores, titles = stem_scores(alone, "pumps pumps")
    # One text of one, as long as the mean, has the stem once; the question has it twice.
    expected = 2 * float(idf(1, 1)) * 1 / (1 + 1.2)
    assert [of.tolist() for of in scores] == [[pytest.approx(expected)]] * 6
    assert titles.tolist() == [0.0]


def test_of_sections_each_is_counted_once() -> None:
    text = "# Pumps\n\nPumps leak.\n\n# Cats\n\nPumps and cats. Cats sleep.\n"
    whole = pool([read_text(text)])
    # Sections of 3 and 5 stems: the mean is 4. Both have "pump", the second has "cat".
    norms = [1.2 * (0.25 + 0.75 * 3 / 4), 1.2 * (0.25 + 0.75 * 5 / 4)]
    both, one = float(idf(2, 2)), float(idf(2, 1))
    first = both * 2 / (2 + norms[0])
    second = both * 1 / (1 + norms[1]) + one * 3 / (3 + norms[1])
    scores, _ = stem_scores(whole, "pumps cats")
    assert scores[-1] == pytest.approx([first] * 2 + [second] * 3)
    ranking = rank(whole, Question("pumps cats"))
    assert ranking.parts["section stems"] == pytest.approx(
        [0.1 * first / second] * 2 + [0.1] * 3
    )


def test_scores_are_equal_to_nine_decimals() -> None:
    assert _by_score([0.5, 0.5 + 4e-10, 0.6]).tolist() == [2, 0, 1]
    assert _by_score([0.5, 0.5 + 4e-9, 0.5]).tolist() == [1, 0, 2]


@pytest.mark.parametrize("atoms", [[0], [40], [3, 90, 91, 185]], ids=str)
def test_matches_of_some_atoms_are_theirs_among_all(atoms: list[int]) -> None:
    asked = question("Which blue pumps leak near seal number 40?")
    weights = token_weights(MANY, asked)
    everywhere = np.arange(len(MANY))
    whole = token_scores(MANY, asked, QUANTISER, everywhere, weights)
    some = token_scores(MANY, asked, QUANTISER, np.array(atoms), weights)
    for of_all, of_some in zip(whole, some, strict=True):
        assert np.allclose(of_some, of_all[atoms], atol=1e-6)
    assert weights.sum() == pytest.approx(1.0)


def test_a_token_weighs_its_idf_to_the_power_of_one_and_a_half() -> None:
    whole = pool([DOCUMENT, read_text("Pumps and seals.", id="b")])
    asked = question("pumps cats unknown")
    # Of two pieces one token is in both, one in one, one in none.
    parts = np.array([float(idf(2, df)) ** 1.5 for df in (2, 1, 0)])
    assert np.allclose(token_weights(whole, asked), parts / parts.sum())


def test_the_only_atom_of_a_shortlist_is_measured_by_a_sample_of_all() -> None:
    ranking = rank(MANY, question("Which blue pumps leak?"), QUANTISER, shortlist=1)
    assert ranking.parts["tokens"][ranking.atoms[0]] > 0.9


def test_the_share_of_what_was_not_matched_falls_from_that_of_the_last_matched() -> (
    None
):
    ranking = Ranking(
        np.array([1, 0]),
        np.array([-0.5, 0.6]),
        {"tokens": np.array([-1.3, 0.4]), "stems": np.array([0.8, 0.2])},
        highest=2.0,
        unmatched=Unmatched(np.array([True, False]), scale=0.25),
    )
    assert ranking.shares(1) == {"tokens": 0.2, "stems": 0.1}
    assert ranking.shares(0) == {"tokens": 0.0, "stems": 0.1}
    assert ranking.share(1) == pytest.approx(0.3)


def test_without_vectors_stems_and_titles_rank() -> None:
    found = rank(pool([DOCUMENT]), Question("Do cats sleep?"))
    assert (
        set(found.parts) == {"stems", "section stems", "titles"} and found.atoms[0] == 4
    )
    assert set(found.parts) < set(UNMATCHED)


@pytest.mark.parametrize("text", ["of the", "???", "水", "zzz"])
def test_a_question_without_a_known_word_still_has_an_order(text: str) -> None:
    whole = pool([DOCUMENT])
    for asked in (Question(text), question(text)):
        found = rank(whole, asked, QUANTISER)
        assert np.isfinite(found.scores).all() and len(found.atoms) == len(whole)


def test_equal_scores_stand_in_reading_order() -> None:
    found = rank(pool([DOCUMENT]), Question("zzz"))
    assert found.atoms.tolist() == list(range(6))


def many() -> Pool:
    lines = [
        f"The {word} number {i} is kept dry."
        for i in range(90)
        for word in ("seal", "valve")
    ]
    return pool([read_text("\n\n".join(lines)), DOCUMENT])


MANY = many()


def test_a_shortlist_of_all_is_exact_and_a_short_one_keeps_its_best() -> None:
    whole, asked = many(), question("Which blue pumps leak?")
    exact = rank(whole, asked, QUANTISER)
    assert (
        rank(whole, asked, QUANTISER, shortlist=len(whole)).atoms.tolist()
        == exact.atoms.tolist()
    )
    short = rank(whole, asked, QUANTISER, shortlist=20)
    assert short.atoms[:2].tolist() == exact.atoms[:2].tolist()
    assert sorted(short.atoms.tolist()) == list(range(len(whole)))
    assert np.allclose(sum(short.parts.values()), short.scores)


@given(
    st.text("abc wxyz.?", max_size=40),
    st.booleans(),
    st.integers(1, 200),
)
def test_shares_are_from_0_to_1_and_fall_with_the_rank(
    words: str, has_tokens: bool, shortlist: int
) -> None:
    text = f"Which blue pumps leak {words}"
    asked = question(text) if has_tokens else Question(text)
    found = rank(MANY, asked, QUANTISER, shortlist=shortlist)
    shares = [found.share(atom) for atom in found.atoms.tolist()]
    assert all(0 <= share <= 1 + 1e-9 for share in shares)
    assert all(before >= after - 1e-9 for before, after in pairwise(shares))
    assert all(
        set(found.shares(atom)) == set(found.parts) for atom in found.atoms[:3].tolist()
    )


def test_1_is_the_share_of_what_matches_best_in_every_way() -> None:
    other = "\n\n".join(
        f"Line {i} is about cats and how they sleep." for i in range(80)
    )
    text = f"# Blue pumps leak\n\nBlue pumps leak.\n\n# Cats\n\n{other}\n"
    whole = pool([read_text(text)])
    for asked in (Question("Blue pumps leak"), question("Blue pumps leak")):
        found = rank(whole, asked, QUANTISER)
        assert found.share(int(found.atoms[0])) == pytest.approx(1.0, abs=0.05)
        assert found.shares(0)["titles"] == pytest.approx(0.2 / found.highest)


def test_what_is_not_on_the_shortlist_follows_in_the_order_of_the_first_stage() -> None:
    whole, asked = many(), question("Which blue pumps leak?")
    plain = Question(asked.text, asked.vector)
    first = rank(whole, plain).atoms.tolist()
    short = rank(whole, asked, QUANTISER, shortlist=20).atoms.tolist()
    assert set(short[:20]) == set(first[:20]) and short[20:] == first[20:]
