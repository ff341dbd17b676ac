"""Headers, captions and lead-ins: what a part of a table or list is read with."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.required_context import (
    RequiredContext,
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


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_what_is_shown_never_overlaps_the_passage(
    start: int, length: int, lead_start: int, lead_length: int
) -> None:
    lead = RequiredContext(0, 30, lead_start, lead_start + lead_length)
    span = lead.shown(start, start + length)
    if span is not None:
        assert lead.start <= span[0] < span[1] <= lead.end
        assert span[1] <= start or span[0] >= start + length
