"""Small cases of every format: `tests/fixtures/formats/cases`, one file a format.

A case begins with `>>>> NAME`; behind its source and `<<<<` stands what is expected. Of a markup:
`LEVEL TITLE` for each heading, `title: TITLE`, and `KIND: FIRST LINE` for each block in order. Of
code: `LEVEL TITLE: FIRST LINE` for each definition; the name begins with the language. Of any other
format: its Markdown, then `@title:`, `@places:` (their labels), `@removed:` and `@uncertain:`.
`format_making` makes office files of a few lines.
"""

from __future__ import annotations

from typing import Any

import format_making
import pytest
from format_making import Case, cases

from structrag.reading.drafts import Draft
from structrag.reading.formats import format_named
from structrag.reading.markdown import markdown_headings

CASES = list(cases())


def read_markup(reader: Any, source: str) -> str:
    headings = reader.headings(source)
    lines = [f"{heading.level} {heading.title}" for heading in headings]
    lines += [f"title: {title}"] if (title := reader.title(source)) else []
    starts = [0, *(heading.end for heading in headings)]
    ends = [*(heading.start for heading in headings), len(source)]
    for start, end in zip(starts, ends, strict=True):
        for block in reader.blocks(source, start, end):
            if text := source[block.text_start : block.end].strip():
                lines.append(f"{block.kind}: {text.splitlines()[0].strip()}")
    return "\n".join(lines)


def read_code(reader: Any, source: str) -> str:
    return "\n".join(
        f"{each.level} {each.title}: {source[each.start : each.end].splitlines()[0].strip()}"
        for each in reader.headings(source)
    )


def draft_of(case: Case) -> Draft:
    make = getattr(format_making, case.format, str.encode)
    format = format_named(case.format)
    assert format
    draft: Draft = format.reader().to_markdown(make(case.source), "case")
    return draft


def read_file(case: Case) -> str:
    draft = draft_of(case)
    facts = {
        "title": draft.title,
        "places": "; ".join(label for _, label in draft.places),
        "removed": "; ".join(draft.removed),
        "uncertain": " ".join(draft.uncertain),
    }
    said = [f"@{key}: {value}" for key, value in facts.items() if value]
    return "\n".join([draft.text.rstrip("\n"), *said]).strip("\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.format}: {case.name}")
def test_case(case: Case) -> None:
    if case.format == "code":
        pytest.importorskip("tree_sitter_python", reason="the extra 'code'")
    name = case.name.partition(":")[0] if case.format == "code" else case.format
    format = format_named(name)
    assert format
    if case.format == "code":
        assert read_code(format.reader(), case.source) == case.expected
    elif format.is_markup:
        assert read_markup(format.reader(), case.source) == case.expected
    else:
        assert read_file(case) == case.expected


def test_every_format_has_cases_and_they_are_many() -> None:
    assert len(CASES) > 300
    assert len({(case.format, case.name) for case in CASES}) == len(CASES)


def test_places_ascend_and_begin_at_what_is_shown() -> None:
    for case in CASES:
        format = format_named(case.format)
        if format is None or format.is_markup:
            continue
        draft = draft_of(case)
        starts = [start for start, _ in draft.places]
        assert starts == sorted(set(starts)), case.name
        assert all(draft.text[start].strip() for start in starts), case.name
        for heading in markdown_headings(draft.text):
            assert heading.title, case.name
