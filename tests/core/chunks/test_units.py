"""Units: sentences and whole blocks that tile a division, each known by its own words; windows and
mean vectors of long ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.divisions import divide
from structrag.chunks.run_vectors import unit_text
from structrag.chunks.units import Unit, units_of
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.text.cutting import Cutter
from structrag.text.tokens import count_tokens

TEXT = """---
title: x
---
# Top

## Inner

First sentence. Second one!

- item one. Still one.
- item two

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

```python
x = 1. # Not. Sentences.
```

## Empty
"""


def units(
    text: str, max_tokens: int | None = None, format: str = "markdown"
) -> list[Unit]:
    outline = parse(read_text(text, format=format, id="d"))
    cutter = Cutter(count_tokens)
    return [
        unit
        for division in divide(outline)
        for unit in units_of(outline, division, cutter, max_tokens)
    ]


def test_sentences_items_tables_and_code_are_units_and_headings_travel_with_the_first() -> (
    None
):
    found = units(TEXT)
    assert "".join(TEXT[unit.start : unit.end] for unit in found) == TEXT
    words = [unit_text(TEXT, unit) for unit in found if unit.kind != "other"]
    assert words[:4] == [
        "First sentence.",
        "Second one!",
        "- item one. Still one.",
        "- item two",
    ]
    assert words[4].startswith("| a | b |") and words[4].endswith("| 3 | 4 |")
    assert words[5].startswith("```python") and len(words) == 6


def test_a_table_above_the_limit_is_cut_at_rows_that_know_their_header() -> None:
    table = "| name | value |\n|---|---|\n" + "".join(
        f"| row number {i} | {i} |\n" for i in range(20)
    )
    found = units(table, max_tokens=40)
    assert len(found) > 2 and all(unit.tokens <= 40 for unit in found)
    assert unit_text(table, found[1]).startswith(
        "| name | value |\n|---|---|\n| row number"
    )


def test_a_unit_of_a_heading_alone_is_known_by_the_heading() -> None:
    found = units("# Only a title\n")
    assert [unit_text("# Only a title\n", unit) for unit in found] == ["# Only a title"]


@settings(deadline=None, max_examples=60)
@given(
    st.text(alphabet="aB. \n#-|`中。é", max_size=200), st.sampled_from([None, 1, 5, 30])
)
def test_units_tile_any_text_and_keep_the_limit(text: str, most: int | None) -> None:
    found = units(text, most)
    assert "".join(text[unit.start : unit.end] for unit in found) == (
        text if text.strip() else ""
    )
    for unit in found:
        assert unit.start <= unit.text_start < unit.end
        assert unit.tokens == count_tokens(text[unit.start : unit.end])
        assert (
            most is None
            or unit.tokens <= most
            or unit.end - unit.start <= 2
            or most == 1
        )
