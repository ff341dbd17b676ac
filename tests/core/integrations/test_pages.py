"""Pages of one file joined again."""

from __future__ import annotations

from fixture_cases import examples

from structrag.integrations.documents import HostDocument, joined_pages


def page(text: str, **metadata: object) -> HostDocument:
    return HostDocument(text, metadata)


@examples
def test_a_page_has_the_number_that_its_loader_tells(
    pages: list[dict[str, object]], numbers: list[int]
) -> None:
    ((_, places),) = joined_pages([page("ab", source="m", **facts) for facts in pages])
    assert [place.page for place in places] == numbers
    assert [(place.start, place.end) for place in places] == [(0, 2), (4, 6)]


def test_numbers_are_those_that_people_count() -> None:
    ((_, places),) = joined_pages(
        [page("a", file_path="m", page_label=str(n)) for n in (7, 8)]
    )
    assert [place.page for place in places] == [7, 8]
    ((_, places),) = joined_pages(
        [page("a", file_path="m", page_label=n) for n in ("i", "ii")]
    )
    assert [place.page for place in places] == [1, 2]
