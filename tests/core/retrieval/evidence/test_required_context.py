"""Headers, captions and lead-ins: what a part of a table or list is read with."""

from __future__ import annotations

from fixture_cases import examples

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.atoms import (
    find_required_context,
)


def shown(text: str, needle: str, format: str = "markdown") -> list[str]:
    """What a passage beginning at `needle` is read with."""
    document = read_text(text, format=format)
    start = document.text.index(needle)
    spans = [
        lead.shown(start, start + len(needle))
        for lead in find_required_context(
            ReadOptions().outline(document), ReadOptions()
        )
    ]
    return [document.text[slice(*span)].strip() for span in spans if span is not None]


@examples
def test_a_row_is_read_with_its_caption_and_header(text: str, leads: list[str]) -> None:
    assert shown(text, "| seal") == leads
    assert shown(text, "| part") == leads[:-1]


LIST = "- Open it.\n- Filters:\n  - Wash them.\n  - Dry them.\n- Close it.\n"


@examples
def test_an_item_is_read_with_its_lead_in(
    before: str, needle: str, leads: list[str]
) -> None:
    assert shown(f"{before}\n\n{LIST}", needle) == leads
