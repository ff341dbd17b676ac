"""Texts shortened to their evidence."""

from __future__ import annotations

import pytest
from doubles import HashTokens
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import EvidenceRetriever, read_text
from structrag.errors import InvalidParameter
from structrag.retrieval.evidence.shortening import Shortener, Slice, TextPlace
from structrag.text.tokens import count_tokens

SENTENCES = [
    "Cats sleep.",
    "The pump leaks.",
    "Rain fell on the hills.",
    "\n\n",
    "# Title\n\n",
]
TEXTS = st.lists(
    st.lists(st.sampled_from(SENTENCES), max_size=6).map(" ".join), max_size=4
)


@settings(deadline=None, max_examples=40)
@given(TEXTS, st.integers(1, 30))
def test_slices_are_of_the_texts_and_fit(texts: list[str], limit: int) -> None:
    slices = Shortener(max_tokens=limit).shorten(texts, "Which pump leaks?")
    given_texts = [texts[piece.text][piece.start : piece.end] for piece in slices]
    assert all(text.strip() for text in given_texts)
    assert sum(map(count_tokens, given_texts)) <= limit
    assert sorted(piece.rank for piece in slices) == list(range(1, len(slices) + 1))


def test_bad_input() -> None:
    shortener = Shortener()
    assert shortener.shorten([], "pump") == [] == shortener.shorten(["The pump."], " ")
    for texts in ("The pump.", [1]):
        with pytest.raises(InvalidParameter, match="texts must be a list of strings"):
            shortener.shorten(texts, "pump")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="query must be a string"):
        shortener.shorten(["The pump."], None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="order must be one of"):
        Shortener(order="best")


PUMP = " ".join(f"Pump {i} moves water to tank {i}." for i in range(40))
SEAL = " ".join(
    f"Seal {i} is made of {'rubber' if i == 13 else 'steel'}." for i in range(20)
)
STORED = f"# Pumps\n\n{PUMP}\n\n{PUMP}\n\n# Seals\n\n{SEAL}\n"


def shortened(
    text: str, language: str = "english"
) -> tuple[list[Slice], list[Slice], list[str]]:
    """Slices of a text that ends with one of an index, those without the index, and what is
    encoded where there is one."""
    encoder = HashTokens()
    options = {"token_encoder": encoder, "max_tokens": 120}
    document = read_text(STORED, id="d", format="markdown")
    index = EvidenceRetriever.from_documents([document], language=language, **options)
    tail = text.removeprefix("Found:\n\n")
    start = STORED.find(tail) if tail in STORED else 9
    place = TextPlace("d", start, len(text) - len(tail), index.handle)
    shortener = Shortener(**options)
    encoder.passes.clear()
    with_index = shortener.shorten([text], "Which seal is made of rubber?", [place])
    encoded = [one for texts in encoder.passes for one in texts if "Which" not in one]
    return (
        with_index,
        shortener.shorten([text], "Which seal is made of rubber?"),
        encoded,
    )


@pytest.mark.parametrize(
    "text",
    [
        STORED,
        f"Found:\n\n{SEAL}",
        SEAL[: SEAL.index("Seal 15")].strip(),
        STORED[STORED.index("Pump 30") : STORED.index("Seal 9")].strip(),
    ],
    ids=["all", "behind more", "part of a block", "parts of sections"],
)
def test_stored_texts_are_not_encoded_again_and_give_the_same(text: str) -> None:
    stored, anew, encoded = shortened(text)
    assert not encoded
    assert stored and all(text[one.start : one.end] in STORED for one in stored)
    # Pieces have other borders in a text of its own, so what is around the best may differ.
    shown, expected = ([text[s.start : s.end] for s in of] for of in (stored, anew))
    assert len(shown) == len(expected)
    assert [one.count("rubber") for one in shown] == [
        of.count("rubber") for of in expected
    ]
    # Not the same where headings above are stored.
    assert [s.score for s in stored] == pytest.approx([s.score for s in anew], abs=0.1)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SEAL, "german"),
        (STORED[STORED.index("Pump 3 ") + 5 : STORED.index("Seal 9")], "english"),
        (STORED[: STORED.index("Seal 9") + 12], "english"),
        (SEAL.replace("rubber", "RUBBER"), "english"),
    ],
    ids=["another language", "begins amid one", "ends amid one", "another text"],
)
def test_what_is_not_stored_as_it_is_is_encoded(text: str, language: str) -> None:
    stored, anew, encoded = shortened(text, language)
    assert encoded
    assert [(s.start, s.end) for s in stored] == [(s.start, s.end) for s in anew]
    assert [s.score for s in stored] == pytest.approx([s.score for s in anew], abs=0.01)


VALVES = (
    "The red valve opens at nine bar. Two people check the red valve every month. "
    "Visitors wear helmets in the hall. The canteen opens at noon on workdays. "
    "The blue valve opens at four bar. The roof was painted green last year."
)
ASKED = "At which pressure does the red valve open, and the blue valve?"
LENGTH = len(VALVES)
# Spans of texts: an overlap in a sentence, one in a word, a part of a whole, in any order.
OVERLAPS = [
    [(0, 120), (60, LENGTH)],
    [(45, LENGTH), (0, 70)],
    [(33, 76), (0, LENGTH)],
    [(0, LENGTH), (0, LENGTH)],
    [(60, 150), (0, 80), (130, LENGTH), (20, 100)],
]


@pytest.mark.parametrize("order", ["rank", "document"])
@pytest.mark.parametrize("spans", OVERLAPS)
@pytest.mark.parametrize("is_placed", [True, False])
def test_overlapping_texts_give_no_character_twice(
    spans: list[tuple[int, int]], is_placed: bool, order: str
) -> None:
    texts = [f"Pumps\n{VALVES[start:end]}" for start, end in spans]
    places = [
        TextPlace("a", start if is_placed else None, len("Pumps\n"))
        for start, _ in spans
    ]
    shortener = Shortener(max_tokens=1000, order=order)
    taken: list[int] = []
    for one in shortener.shorten(texts, ASKED, places):
        first = spans[one.text][0] - len("Pumps\n")
        taken += range(first + one.start, first + one.end)
    letters = [at for at in taken if VALVES[at] != " "]
    assert sorted(letters) == [at for at, c in enumerate(VALVES) if c != " "]


def test_only_texts_of_one_source_overlap() -> None:
    texts = [VALVES[:120], VALVES[60:]]
    apart = [TextPlace("a", 0), TextPlace("b", 60)]
    elsewhere = [TextPlace("a", 0), TextPlace("a", 500)]
    for places in (apart, elsewhere):
        slices = Shortener(max_tokens=1000).shorten(texts, ASKED, places)
        assert sum(one.end - one.start for one in slices) == 120 + len(VALVES) - 60
