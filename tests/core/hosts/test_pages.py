"""Pages of one file joined again."""

from __future__ import annotations

from fixture_cases import examples

from structrag.hosts.documents import HostDocument
from structrag.hosts.pages import joined_pages


def page(text: str, **metadata: object) -> HostDocument:
    return HostDocument(text, metadata)


def test_pages_of_one_file_are_one_text() -> None:
    pages = [
        page("a", source="m.pdf", page=0, producer="x", total_pages=2),
        page("other", source="n.txt"),
        page("b", source="m.pdf", page=1, producer="y", total_pages=2),
    ]
    (whole, places), (alone, none) = joined_pages(pages)
    assert whole.text == "a\n\nb" and alone is pages[1] and none == ()
    facts = {"source": "m.pdf", "total_pages": 2, "pages": 2, "page_starts": "0:1 3:2"}
    assert whole.metadata == facts
    assert [(place.page, whole.text[place.start : place.end]) for place in places] == [
        (1, "a"),
        (2, "b"),
    ]


def test_numbers_are_those_that_people_count() -> None:
    ((_, places),) = joined_pages(
        [page("a", file_path="m", page_label=str(n)) for n in (7, 8)]
    )
    assert [place.page for place in places] == [7, 8]
    ((_, places),) = joined_pages(
        [page("a", file_path="m", page_label=n) for n in ("i", "ii")]
    )
    assert [place.page for place in places] == [1, 2]


def test_texts_without_a_file_stay_alone() -> None:
    assert len(joined_pages([page("a", page=1), page("a", page=1), page("b")])) == 3
    assert joined_pages([]) == []


@examples
def test_a_page_has_the_number_that_its_loader_tells(
    pages: list[dict[str, object]], numbers: list[int]
) -> None:
    ((_, places),) = joined_pages([page("ab", source="m", **facts) for facts in pages])
    assert [place.page for place in places] == numbers
    assert [(place.start, place.end) for place in places] == [(0, 2), (4, 6)]


def test_what_all_pages_say_is_said_of_the_whole() -> None:
    first = page("a", source="m", page=1, title="T", year=2020, only=1)
    second = page("b", source="m", page=2, title="T", year=2021)
    ((whole, _),) = joined_pages([first, second])
    assert set(whole.metadata) == {"source", "title", "pages", "page_starts"}
    ((alone, places),) = joined_pages([first])
    assert (alone.text, alone.metadata["pages"], len(places)) == ("a", 1, 1)
    assert alone.metadata["only"] == 1
