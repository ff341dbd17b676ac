"""Words broken at the ends of rows."""

from __future__ import annotations

from fixture_cases import examples
from page_making import FULL, column, markdown, page
from pdf_making import made, write

from structrag.reading.pdf.document import pdf_document
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


def test_ligatures_without_a_name_are_told_by_the_words_around_them() -> None:
    """Fonts give them codes of control characters; here "~", "^" and "|" stand for those."""
    rows = [
        "An e|cient o|ce con~rmed in ~ve words that the ^ow was re^ected.",
        "It ^agged them on a Han^ing, noti~ed of ~.",
    ]
    file = made(lambda canvas: write(canvas, rows, 60, 700), pageCompression=0)
    for sign, code in ((b"~", b"\x1f"), (b"^", b"\x1e"), (b"|", b"\\035")):
        file = file.replace(sign, code)
    assert " ".join(pdf_document(file).text.split()) == (
        "An efficient office confirmed in five words that the flow was reflected. "
        "It flagged them on a Hanfling, notified of \ufffd."
    )
