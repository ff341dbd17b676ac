"""Passages with where they stand."""

from __future__ import annotations

from fixture_cases import examples

from structrag.integrations.tools import Citation, citation_of, shown_citations


@examples
def test_a_place_is_said_where_both_ends_are_known(
    start: int | None, end: int | None, place: str
) -> None:
    assert Citation("a", "m.md", start=start, end=end).shown(3) == f"[3] m.md{place}\na"


def test_a_document_without_a_file_goes_by_its_id() -> None:
    by_id = {"structrag_document": "d7"}
    assert citation_of("a", by_id, None, None).source == "d7"
    assert citation_of("a", {**by_id, "file_name": "m.md"}, None, None).source == "m.md"
    assert citation_of("a", {}, None, None) == Citation("a")


def test_citations_are_numbered() -> None:
    assert shown_citations([Citation("a"), Citation("b")]).count("unknown source") == 2
    assert shown_citations([]) == "Nothing was found."
