"""Units: sentences and whole blocks that tile a division, each known by its own words; windows and
mean vectors of long ones."""

from __future__ import annotations

from fixture_cases import examples
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


def count_words(text: str) -> int:
    return len(text.split())


def spans(text: str, most: int | None = None) -> list[tuple[str, str, int]]:
    """Of each unit its text, its own words and its tokens."""
    outline = parse(read_text(text, format="markdown", id="d"))
    cutter = Cutter(count_words)
    found = []
    for division in divide(outline):
        for each in units_of(outline, division, cutter, most):
            words = text[each.text_start : each.end]
            found.append((text[each.start : each.end], words, each.tokens))
    return found


def test_headings_travel_with_the_first_unit_and_with_the_last() -> None:
    assert spans("# A\n\nOne is. Two.\n\n- a b\n- c\n\n## E\n") == [
        ("# A\n\nOne is. ", "One is. ", 4),
        ("Two.\n\n", "Two.\n\n", 1),
        ("- a b\n", "- a b\n", 3),
        ("- c\n\n## E\n", "- c\n\n## E\n", 4),
    ]
    assert spans("# A\n\n- a b\n- c\n") == [
        ("# A\n\n- a b\n", "- a b\n", 5),
        ("- c\n", "- c\n", 2),
    ]


@examples
def test_a_unit_of_exactly_the_limit_is_whole(most: int, texts: list[str]) -> None:
    found = spans("One two three four. Five.", most)
    assert [text for text, _, _ in found] == texts
    assert [tokens for _, _, tokens in found] == list(map(count_words, texts))


def test_pieces_of_a_cut_unit_know_their_own_words() -> None:
    text = "# A\n\n```\na b\nc d\n```\n\n## E\n"
    assert spans(text, 5) == [
        ("# A\n\n```\na b\n", "```\na b\n", 5),
        ("c d\n```\n\n## E\n", "c d\n```\n\n## E\n", 5),
    ]
    # Where the heading alone fills a piece, its last words stand with the first of the text.
    first, second, *_ = spans("# A b c d e\n\none two three four\n", 3)
    assert first[1] == first[0] == "# A b "
    assert second[0].startswith("c d")


def test_only_the_piece_with_the_end_of_the_heading_has_words_behind_it() -> None:
    found = spans("# A b c d\n\none two three four five\n", 4)
    assert "".join(text for text, _, _ in found) == (
        "# A b c d\n\none two three four five\n"
    )
    behind = [(text, words) for text, words, _ in found if text != words]
    assert len(behind) <= 1
    assert all(words.startswith("one") for _, words in behind)


def test_each_later_piece_of_a_table_repeats_its_header() -> None:
    table = "| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n"
    text = f"# T\n\n{table}"
    outline = parse(read_text(text, format="markdown", id="d"))
    (division,) = divide(outline)
    found = units_of(outline, division, Cutter(count_words), 10)
    headers = [text[each.header[0] : each.header[1]] for each in found]
    assert headers[0] == "" and len(headers) > 1
    assert set(headers[1:]) == {"| a |\n|---|\n"}
