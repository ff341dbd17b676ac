"""Running heads, page numbers and broken words of plain text."""

from __future__ import annotations

from fixture_cases import examples

from structrag.formatting.heuristic import cleaned_text, markdown_of_text

BODY = (
    "Line {0} of the page says what it says and runs on\nto the next line, where it ends.\nThe "
    "page has more to say about {0}."
)


@examples
def test_sixty_per_cent_of_the_pages(on: int, removed: int) -> None:
    pages = [
        f"{'HEAD' if i < on else f'other{chr(97 + i)}'}\n\n{BODY.format(chr(97 + i) * 3)}"
        for i in range(5)
    ]
    assert len(markdown_of_text("\f".join(pages)).removed) == removed


@examples
def test_paragraphs_go_on_over_a_page_break(
    above: str, below: str, goes_on: bool
) -> None:
    gap = "\n" if goes_on else "\n\n"
    expected = f"{above.strip()}{gap}{below.strip()}"
    assert cleaned_text(f"{above}\f{below}").text == expected


@examples
def test_words_broken_at_line_ends(text: str, expected: str, unsure: bool) -> None:
    draft = markdown_of_text(text)
    assert draft.text == expected + "\n"
    assert any("rejoined by guess" in note for note in draft.uncertain) is unsure


@examples
def test_words_in_columns_are_not_rejoined(text: str, expected: str) -> None:
    assert cleaned_text(text).text == expected


def pages_of(count: int, head: str, foot: str) -> str:
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    return "\f".join(
        f"{head.format(i + 1)}\n\n{BODY.format(words[i])}\n\n{foot.format(i + 1, count)}\n"
        for i in range(count)
    )


def test_three_pages_may_have_running_heads() -> None:
    draft = cleaned_text(pages_of(3, "HEAD", ""))
    assert draft.removed == ("HEAD", "HEAD")
    assert draft.text.count("HEAD") == 1
