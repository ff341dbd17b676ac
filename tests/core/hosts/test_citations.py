"""Passages with where they stand."""

from __future__ import annotations

from fixture_cases import examples

from structrag.hosts.citations import Citation, citation_of, shown_citations


def test_a_citation_says_what_is_known() -> None:
    metadata = {"source": "pump.md", "heading_path": "Pump > Seal"}
    cited = citation_of("It leaks.\n", metadata, 3, 12)
    assert cited.shown(2) == "[2] pump.md, Pump > Seal, characters 3 to 12\nIt leaks."
    on_page = citation_of(
        "It leaks.\n", {**metadata, "page_label": "2-3"}, 3, 12
    ).shown(2)
    assert on_page.startswith("[2] pump.md, pages 2-3, Pump > Seal,")
    assert Citation("a", "m.pdf", pages="4").shown(1) == "[1] m.pdf, page 4\na"
    assert (
        citation_of("a", {"heading_path": ["A", "B"]}, None, 1).shown(1)
        == "[1] A > B\na"
    )
    assert Citation("a").shown(1) == "[1] unknown source\na"


def test_citations_are_numbered() -> None:
    assert shown_citations([Citation("a"), Citation("b")]).count("unknown source") == 2
    assert shown_citations([]) == "Nothing was found."


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


def test_numbers_begin_with_one() -> None:
    citations = [Citation("a", "m.md"), Citation("b", "n.md")]
    assert shown_citations(citations) == "[1] m.md\na\n\n[2] n.md\nb"
