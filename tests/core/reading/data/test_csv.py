"""CSV and TSV."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.reading.data.csv import to_markdown

TABLE = "| name | note |\n| --- | --- |\n| Seal | two lines |\n| Rotor | 5,5 |\n"


@examples
def test_the_delimiter_is_found_out(source: str, name: str) -> None:
    assert to_markdown(source.encode(), name).text == TABLE
    assert to_markdown(source.encode("utf-16"), name).text == TABLE


def test_places_are_rows() -> None:
    draft = to_markdown(b"a,b\n\n1,2\n,\n3\n")
    assert draft.text == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |\n"
    assert draft.places == ((0, "row 1"), (24, "row 3"), (34, "row 5"))


def test_a_quotation_mark_that_never_closes_is_text() -> None:
    draft = to_markdown(b'a,"b\n' + b"x,y\n" * 50_000)
    assert draft.text.startswith('| a | "b |\n| --- | --- |\n| x | y |\n')
    assert len(draft.uncertain) == 1


def test_what_is_no_text_is_refused() -> None:
    assert to_markdown(b"").text == ""
    with pytest.raises(InvalidDocument, match=r"a\.csv"):
        to_markdown(b"a\0b", "a.csv")
