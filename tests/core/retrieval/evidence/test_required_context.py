"""Headers, captions and lead-ins: what a part of a table or list is read with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.required_context import (
    RequiredContext,
    find_required_context,
)

ROWS = "| part | stock |\n|---|---|\n| pump | 7 |\n| seal | 8 |\n"


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


HEADER = "| part | stock |\n|---|---|"


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        (ROWS, [HEADER]),
        (f"# Stock\n\n{ROWS}", [HEADER]),
        (f"Stock in May\n\n{ROWS}", ["Stock in May", HEADER]),
        (f"We count. All of it:\n\n{ROWS}", ["We count. All of it:", HEADER]),
        (f"We count all of it.\n\n{ROWS}", [HEADER]),
        (f"Table 3. Stock in May.\n\n{ROWS}", ["Table 3. Stock in May.", HEADER]),
        (f"Tabelle IV: Lager.\n\n{ROWS}", ["Tabelle IV: Lager.", HEADER]),
        (f"We count.\n\n{ROWS}\n**Table 3**: Stock.", ["**Table 3**: Stock.", HEADER]),
        (f"Tables are good.\n\n{ROWS}\nMore text", [HEADER]),
        (f"{'x' * 401}\n\n{ROWS}", [HEADER]),
        (f"{'x' * 400}\n\n{ROWS}", ["x" * 400, HEADER]),
        (f"Stock\nin May\n\n{ROWS}", [HEADER]),
        (f"Table 3. Stock\nin May.\n\n{ROWS}", ["Table 3. Stock\nin May.", HEADER]),
        (f"- Stock\n\n{ROWS}", [HEADER]),
        (f"S\n\n{ROWS}", ["S", HEADER]),
        (f"Stock\n\n{ROWS}\nTable 3: Pumps", ["Stock", HEADER]),
    ],
)
def test_a_row_is_read_with_its_caption_and_header(text: str, leads: list[str]) -> None:
    assert shown(text, "| seal") == leads
    assert shown(text, "| part") == leads[:-1]


LIST = "- Open it.\n- Filters:\n  - Wash them.\n  - Dry them.\n- Close it.\n"


@pytest.mark.parametrize(
    ("before", "needle", "leads"),
    [
        ("It is dirty. Do this every day:", "- Close", ["Do this every day:"]),
        ("It is dirty. Do this every day.", "- Open", ["Do this every day."]),
        ("Do this:", "Dry them", ["Do this:", "- Filters:"]),
        ("Do this:", "- Filters", ["Do this:"]),
        ("# Care", "- Close", []),
        (f"Pump. {'word ' * 90}:", "- Close", []),
        (f"Pump. {'x' * 399}:", "- Close", ["x" * 399 + ":"]),
        (f"Pump. {'x' * 400}:", "- Close", []),
        (f"{'Pumps hum. ' * 90}Do this:", "- Close", ["Do this:"]),
    ],
)
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
