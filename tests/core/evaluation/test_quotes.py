"""Where quotes stand."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.evaluation.quotes import QuoteFinder
from structrag.records import Document


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=4))
@settings(max_examples=200, deadline=None)
def test_a_place_holds_the_quote_and_every_place_is_found(
    text: str, quote: str
) -> None:
    document = Document(text, id="d")
    found = QuoteFinder([document]).find(quote)
    for _, start, end in found:
        assert text[start:end].split() == quote.split()
    words, wanted = text.split(), quote.split()
    runs = (
        sum(
            words[i : i + len(wanted)] == wanted
            for i in range(len(words) - len(wanted) + 1)
        )
        if wanted
        else 0
    )
    assert len(found) == runs


@examples
def test_places_of_quotes_by_example(
    text: str, quote: str, places: list[tuple[int, int]]
) -> None:
    spans = QuoteFinder([Document(text, id="d")]).find(quote)
    assert spans == [("d", *place) for place in places]


def test_documents_are_searched_in_their_order_or_some_of_them() -> None:
    finder = QuoteFinder([Document("b a", id="x"), Document("a", id="y")])
    assert finder.find("a") == [("x", 2, 3), ("y", 0, 1)]
    assert finder.find("a", ["y"]) == [("y", 0, 1)]
    assert finder.find("a", ["z"]) == []


def test_at_most_1000_places_are_given() -> None:
    for counts, places in (((1000,), 1000), ((1001,), 1000), ((600, 600), 1000)):
        documents = [
            Document("a " * count, id=str(i)) for i, count in enumerate(counts)
        ]
        assert len(QuoteFinder(documents).find("a")) == places
