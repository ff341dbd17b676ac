"""Words broken at the ends of rows."""

from __future__ import annotations

from fixture_cases import examples
from page_making import FULL, column, markdown, page

from structrag.reading.pdf.layout import markdown_of_pages


@examples
def test_line_ends(a: str, b: str, joined: str) -> None:
    assert joined in markdown(page(*column([FULL, f"{FULL[: 68 - len(a)]} {a}", b])))


def test_a_suspended_hyphen_joins_nothing_unless_the_word_is_found_elsewhere() -> None:
    draft = markdown_of_pages(
        [
            page(
                *column(
                    [
                        f"{FULL[:60]} the pre-",
                        "and post-war years, a fact-",
                        "or, and a factor",
                    ]
                )
            )
        ]
    )
    assert "pre- and post-war years, a factor, and" in draft.text


def test_a_text_in_another_language_than_english_joins_what_no_dictionary_knows() -> (
    None
):
    german = "Die Pumpe wird gereinigt, weil sich Sand darin absetzt, gemäß der"
    text = markdown(page(*column([german, f"{german} Verpackungs-", "verordnung."])))
    assert "Verpackungsverordnung." in text
