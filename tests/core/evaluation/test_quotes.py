"""Where quotes stand."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.evaluation.question_files import QuoteFinder
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
