"""Tables of the commands."""

from __future__ import annotations

from structrag.cli.tables import Part, Table, embedder_text, points, report_text
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
