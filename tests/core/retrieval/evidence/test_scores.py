"""Scores: worked numbers, sums of parts, and a first stage that loses nothing."""

from __future__ import annotations

from itertools import pairwise

from evidence_making import QUANTISER, frequencies, plain, pool, question
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.retrieval.evidence.corpus import Pool
from structrag.retrieval.evidence.scores import rank

TEXT = "# Pumps\n\nBlue pumps leak. Seals hold.\n\n# Cats\n\nCats sleep all day. Dogs bark.\n"
DOCUMENT = read_text(TEXT, id="a")


def test_the_only_atom_of_a_shortlist_is_measured_by_a_sample_of_all() -> None:
    asked = question("Which blue pumps leak?")
    ranking = rank(MANY, asked, frequencies(MANY, asked), QUANTISER, shortlist=1)
    assert ranking.shares["tokens"][ranking.units[0]] > 0.9 / 1.65


def test_equal_scores_stand_in_reading_order() -> None:
    corpus, asked = pool([DOCUMENT]), plain("zzz")
    found = rank(corpus, asked, frequencies(corpus, asked))
    assert found.units.tolist() == list(range(6))


def many() -> Pool:
    lines = [
        f"The {word} number {i} is kept dry."
        for i in range(90)
        for word in ("seal", "valve")
    ]
    return pool([read_text("\n\n".join(lines)), DOCUMENT])


MANY = many()


@given(
    st.text("abc wxyz.?", max_size=40),
    st.booleans(),
    st.integers(1, 200),
)
def test_shares_are_from_0_to_1_and_fall_with_the_rank(
    words: str, has_tokens: bool, shortlist: int
) -> None:
    text = f"Which blue pumps leak {words}"
    asked = question(text) if has_tokens else plain(text)
    found = rank(MANY, asked, frequencies(MANY, asked), QUANTISER, shortlist=shortlist)
    shares = [found.share(atom) for atom in found.units.tolist()]
    assert all(0 <= share <= 1 + 1e-9 for share in shares)
    assert all(before >= after - 1e-9 for before, after in pairwise(shares))
