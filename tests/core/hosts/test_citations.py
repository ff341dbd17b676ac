"""Passages with where they stand."""

from __future__ import annotations

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
