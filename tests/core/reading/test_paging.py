"""Which pages a span stands on: as written, as read, and whatever else metadata holds."""

from __future__ import annotations

from typing import Any

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.reading.paging import pages_between, starts_in_text, written_starts


@given(
    st.lists(st.text("ab ", min_size=1, max_size=9), min_size=1, max_size=9), st.data()
)
def test_a_span_is_on_the_pages_of_its_characters(pages: list[str], data: Any) -> None:
    blocks = [(page, [(0, number)]) for number, page in enumerate(pages, start=1)]
    text = "\n\n".join(pages)
    # Of each character; what is between two pages goes to the first.
    owners: list[int] = []
    for number, page in enumerate(pages, start=1):
        owners += [number] * (len(page) + 2)
    meta = written_starts(starts_in_text(text, blocks))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    inside = owners[start:end]
    assert pages_between(meta, start, end) == (min(inside), max(inside))


def test_pages_may_be_missing_and_out_of_order() -> None:
    meta = written_starts([(5, 3), (9, 3), (20, 2), (30, 7)])
    assert meta == {"page_starts": "5:3 20:2 30:7"}
    assert pages_between(meta, 0, 2) == (3, 3)  # what is before the first page
    assert pages_between(meta, 6, 25) == (2, 3)
    assert pages_between(meta, 29, 99) == (2, 7)
    assert written_starts([]) == {}
    returned = written_starts([(0, 1), (5, 2), (9, 2), (12, 1)])
    assert returned == {"page_starts": "0:1 5:2 12:1"}


@examples
def test_what_is_no_list_of_pages_says_nothing(value: Any) -> None:
    assert pages_between({"page_starts": value}, 0, 9) is None


@examples
def test_pages_begin_at_their_characters(
    start: int, end: int, pages: tuple[int, int]
) -> None:
    assert pages_between({"page_starts": "0:1 10:2 27:5"}, start, end) == pages
