"""Running heads, page numbers and broken words of plain text."""

from __future__ import annotations

from fixture_cases import examples

from structrag.formatting.cleaning import cleaned_text
from structrag.formatting.heuristic import markdown_of_text

BODY = (
    "Line {0} of the page says what it says and runs on\nto the next line, where it ends.\nThe "
    "page has more to say about {0}."
)


def pages_of(count: int, head: str, foot: str) -> str:
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    return "\f".join(
        f"{head.format(i + 1)}\n\n{BODY.format(words[i])}\n\n{foot.format(i + 1, count)}\n"
        for i in range(count)
    )


def test_running_heads_stay_once_and_page_numbers_go() -> None:
    draft = markdown_of_text(pages_of(5, "ACME Widget Manual", "Page {0} of {1}"))
    assert draft.text.count("ACME Widget Manual") == 1
    assert "Page" not in draft.text.replace("The page", "")
    assert draft.removed.count("ACME Widget Manual") == 4
    assert "Page 5 of 5" in draft.removed
    assert any("running heads" in note for note in draft.uncertain)


def test_running_heads_with_numbers_and_chapters() -> None:
    numbered = markdown_of_text(pages_of(5, "ACME Manual {0}", ""))
    assert numbered.text.count("ACME Manual") == 1
    parts = "\f".join(
        f"Figure {n} shows it\n\n{BODY.format(n)}\n\nend {n}" for n in (3, 4, 9, 17)
    )
    assert markdown_of_text(parts).removed == ()
    chapters = markdown_of_text(pages_of(5, "Chapter {0}", ""))
    assert [f"Chapter {i}" in chapters.text for i in range(1, 6)] == [True] * 5


@examples
def test_sixty_per_cent_of_the_pages(on: int, removed: int) -> None:
    pages = [
        f"{'HEAD' if i < on else f'other{chr(97 + i)}'}\n\n{BODY.format(chr(97 + i) * 3)}"
        for i in range(5)
    ]
    assert len(markdown_of_text("\f".join(pages)).removed) == removed


def test_roman_page_numbers_go_and_a_year_on_every_page_stays_once() -> None:
    roman = "\f".join(
        f"{BODY.format(number)}\n\n{number}" for number in ("iv", "v", "vi", "vii")
    )
    assert markdown_of_text(roman).removed == ("iv", "v", "vi", "vii")
    years = markdown_of_text(pages_of(5, "2019", ""))
    assert years.text.count("2019") == 1 and years.removed == ("2019",) * 4


def test_two_pages_have_no_running_heads() -> None:
    assert markdown_of_text(pages_of(2, "HEAD", "")).removed == ()


def test_three_pages_may_have_running_heads() -> None:
    draft = cleaned_text(pages_of(3, "HEAD", ""))
    assert draft.removed == ("HEAD", "HEAD")
    assert draft.text.count("HEAD") == 1


def test_three_lines_at_the_top_and_at_the_bottom_may_be_heads() -> None:
    heads = "H one\nH two\nH three\nH four"
    feet = "F four\nF three\nF two\nF one"
    bodies = [BODY.format(word) for word in ("alpha", "beta", "gamma")]
    draft = cleaned_text("\f".join(f"{heads}\n{body}\n{feet}" for body in bodies))
    outer = ("H one", "H two", "H three", "F three", "F two", "F one")
    assert draft.removed == outer * 2
    assert draft.text.count("H four") == draft.text.count("F four") == 3


def test_five_of_the_removed_lines_are_shown_page_numbers_last() -> None:
    heads = "A\nB\nC"
    bodies = [BODY.format(word) for word in ("alpha", "beta", "gamma")]
    pages = [f"{i}\n{heads}\n{bodies[i]}\nY\nX" for i in range(3)]
    draft = cleaned_text("\f".join(pages))
    assert draft.uncertain == (
        "Lines left out as repeated running heads or page numbers: 11, such as "
        "'A', 'B', 'Y', 'X', '0'.",
    )


@examples
def test_paragraphs_go_on_over_a_page_break(
    above: str, below: str, goes_on: bool
) -> None:
    gap = "\n" if goes_on else "\n\n"
    expected = f"{above.strip()}{gap}{below.strip()}"
    assert cleaned_text(f"{above}\f{below}").text == expected


def test_a_sentence_goes_on_over_a_page_break() -> None:
    text = "The first page ends in the middle of\n\fa sentence.\n\fA new page."
    assert (
        markdown_of_text(text).text
        == "The first page ends in the middle of\na sentence.\n\nA new page.\n"
    )


@examples
def test_words_broken_at_line_ends(text: str, expected: str, unsure: bool) -> None:
    draft = markdown_of_text(text)
    assert draft.text == expected + "\n"
    assert any("rejoined by guess" in note for note in draft.uncertain) is unsure


@examples
def test_words_in_columns_are_not_rejoined(text: str, expected: str) -> None:
    assert cleaned_text(text).text == expected
