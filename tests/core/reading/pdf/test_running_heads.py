"""Running heads, page numbers and watermarks."""

from __future__ import annotations

from fixture_cases import examples
from page_making import draft, line, page, text_from

from structrag.reading.pdf.running_heads import (
    HeadKey,
    find_running_heads,
    head_keys,
)

HEAD, FOOT = 30.0, 780.0  # heights of running heads


def test_what_is_no_head() -> None:
    same_words = [page(line("Repeated", 400), *text_from(200)) for _ in range(4)]
    elsewhere = [page(line("Moves", 30 + 12 * i), *text_from(200)) for i in range(4)]
    chapters = [page(line(f"Chapter {i}", HEAD), *text_from(200)) for i in range(4)]
    not_counting = [
        page(line(f"{i * i + 7} items", FOOT), *text_from(200)) for i in range(4)
    ]
    everything = [page(line("Slide", HEAD)) for _ in range(4)]
    for pages in (same_words, elsewhere, chapters, not_counting, everything):
        assert draft(*pages).removed == ()


def test_a_watermark_on_every_page_is_left_out_and_one_stays() -> None:
    mark = line("DRAFT", 400, 200, 60, upright=False)
    assert (
        draft(*[page(*text_from(200), mark) for _ in range(3)]).removed
        == ("DRAFT",) * 3
    )
    assert draft(page(*text_from(200), mark)).text.endswith("\n\nDRAFT\n")


@examples
def test_a_chapters_head_stands_on_sixty_percent_of_its_pages(
    on: list[int], count: int
) -> None:
    """Of those from its first to its last: of one side where it stands on one side only."""
    pages = [
        page(*([line("Head", HEAD)] if i in on else []), *text_from(200))
        for i in range(14)
    ]
    assert sum(map(len, find_running_heads(pages).removed)) == count


@examples
def test_keys_of_a_line(text: str, page_number: int, keys: list[HeadKey]) -> None:
    assert list(head_keys(text, page_number)) == keys
