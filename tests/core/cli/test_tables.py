"""Tables of the commands."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.cli.tables import (
    Part,
    Table,
    embedder_text,
    percent,
    points,
    report_text,
)
from structrag.evaluation.estimates import Estimate


def test_embedders_are_named_for_people() -> None:
    assert embedder_text("LSA(256, english)") == "LSA (no --embedder was given)"
    assert (
        embedder_text("sentence-transformers/e5|query: |passage: ")
        == "sentence-transformers/e5"
    )


def test_tables_line_up() -> None:
    part = Part("Title", Table(["a", "bbb"], [["long", "1"], ["b", "22"]]), ["A note."])
    plain = "Title\n─────\n\na     bbb\nlong    1\nb      22\n\nA note."
    assert report_text([part], markdown=False) == plain
    rows = "| a    | bbb |\n| ---- | --: |\n| long |   1 |\n| b    |  22 |"
    assert report_text([part], markdown=True) == f"## Title\n\n{rows}\n\nA note."
    assert points(Estimate(0, 0, 0, 3)) == "0"
    assert points(Estimate(-0.012, -0.1, 0.076, 3)) == "-1.2 [-10.0, +7.6]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(0.5, 0.25, 0.754, 3), "50.0 [25.0, 75.4]"),
        (Estimate(1, 1, 1, 3), "100.0 [100.0, 100.0]"),
    ],
)
def test_shares_are_percentages(value: Estimate, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(0, -0.01, 0.02, 3), "+0.0 [-1.0, +2.0]"),
        (Estimate(0, 0, 0.02, 3), "+0.0 [+0.0, +2.0]"),
        (Estimate(0.1, 0.1, 0.1, 3), "+10.0 [+10.0, +10.0]"),
    ],
)
def test_only_what_is_equal_everywhere_is_a_plain_0(value: Estimate, text: str) -> None:
    assert points(value) == text


@examples
def test_notes_are_wrapped_at_110_characters_on_a_terminal(
    length: int, lines: int
) -> None:
    note = "word " * 21 + "x" * (length - 105)
    assert len(note) == length
    part = Part(notes=[note])
    assert len(report_text([part], markdown=False).splitlines()) == lines
    assert report_text([part], markdown=True) == note


def test_parts_may_lack_a_title_or_a_table() -> None:
    parts = [Part(notes=["One."]), Part("T"), Part("", Table(["a"], [["b"]]))]
    assert report_text(parts, markdown=True) == "One.\n\n## T\n\n| a |\n| - |\n| b |"
    assert report_text(parts, markdown=False) == "One.\n\nT\n─\n\na\nb"
