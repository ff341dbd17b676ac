"""Plain text: headings by layout and numbering, run-in titles, what is no heading, blocks, real
documents."""

from __future__ import annotations

import gzip
import json
import time

import pytest
from fixture_cases import BODY, Case, cases, examples
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from structrag.reading.outline import build_outline
from structrag.reading.plain import plain_blocks, plain_headings
from structrag.records import Document

SPACE = ["\n", "\r\n", "\r", "\f", "\v", "\x85", "\u2028", " ", "   ", "\t"]
MARKS = [
    "- ",
    "* ",
    "1. ",
    "2. ",
    "1.1 ",
    "A.1 ",
    "IV. ",
    "ARTICLE II",
    "Section 3.",
    "Exhibit B",
    "===",
    "---",
]
WORDS = ["TERM", "Term and Notices", "Notices. ", "text goes on ", "第一章", "é\u0301"]
PIECES = st.sampled_from(SPACE + MARKS + WORDS)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in plain_headings(text)]


def read(folder: str) -> list[str]:
    path = DATA / folder / "documents.jsonl.gz"
    if not path.exists():
        pytest.skip(f"evaluation data not found: set STRUCTRAG_DATA ({path})")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


@given(TEXTS)
def test_headings_are_in_order_and_inside(text: str) -> None:
    headings = plain_headings(text)
    assert len(headings) != 1
    last = 0
    for heading in headings:
        assert last <= heading.start < heading.end <= len(text)
        assert "".join(heading.title.split()) in "".join(
            text[heading.start : heading.end].split()
        )
        assert heading.level >= 1
        last = heading.end
    assert {heading.level for heading in headings} == set(
        range(1, max((h.level for h in headings), default=0) + 1)
    )


@given(TEXTS, st.integers(0, 60), st.integers(0, 200))
def test_blocks_tile(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    blocks = plain_blocks(text, start, end)
    assert "".join(text[block.start : block.end] for block in blocks) == text[start:end]
    assert [block.start for block in blocks] == [
        start,
        *(block.end for block in blocks),
    ][: len(blocks)]
    for block in blocks:
        assert block.kind in {"paragraph", "list"}
        assert all(block.start < cut < block.end for cut in block.cuts)
        assert list(block.cuts) == sorted(set(block.cuts))


@pytest.mark.parametrize("case", cases("plain_headings"))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_headings_by_example(case: Case, line_end: str) -> None:
    headings = outline(case.text.replace("\n", line_end))
    assert "".join(f"{level} {title}\n" for level, title in headings) == case.expected


def test_contracts() -> None:
    texts = read("cuad")
    found = [plain_headings(text) for text in texts]
    assert sum(map(len, found)) > 2000
    assert sum(1 for headings in found if headings) >= 80
    titles = [heading.title for headings in found for heading in headings]
    assert not [
        title
        for title in titles
        if "...." in title or "/s/" in title or title.endswith((",", ";"))
    ]
    for text, headings in zip(texts, found, strict=True):
        sections = build_outline(
            Document(text), headings, lambda start, end: []
        ).sections
        assert "".join(text[s.start : s.body_end] for s in sections) == text


@pytest.mark.parametrize("folder", ["qmsum", "covid_qa"])
def test_transcripts_and_flat_papers_have_none(folder: str) -> None:
    assert [text[:80] for text in read(folder) if plain_headings(text)] == []


@examples
def test_an_underlined_title_is_a_short_phrase(line: str, is_title: bool) -> None:
    text = f"Report\n===\n\n{BODY}\n{line}\n---\n{BODY}\nResults\n===\n\n{BODY}"
    expected = [(1, "Report"), (2, line), (1, "Results")]
    assert outline(text) == (expected if is_title else expected[::2])


@pytest.mark.long
@pytest.mark.slow
@examples
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        plain_headings(text), plain_blocks(text, 0, len(text))
        return time.process_time() - start

    seconds(1000)
    small, large = (min(seconds(n) for _ in range(3)) for n in (30_000, 240_000))
    assert large < 24 * small + 0.3


@examples
def test_levels_follow_from_kinds_and_numbers(
    lines: list[str], expected: list[tuple[int, str]]
) -> None:
    assert outline("".join(f"{line}\n\n{BODY}\n" for line in lines)) == expected


def test_a_page_that_a_loader_has_put_in_one_line_has_no_headings() -> None:
    clauses = "".join(f"  {i}. Notice. {BODY.strip()}" for i in range(1, 90))
    assert [title for _, title in outline(clauses[:5_000])][:2] == [
        "1. Notice",
        "2. Notice",
    ]
    assert len(clauses) > 10_000 and outline(clauses) == []
