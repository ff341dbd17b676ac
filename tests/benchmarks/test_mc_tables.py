"""The tables of the MC-indexing paper, on one small document."""

from __future__ import annotations

from benchmarks import mc_tables
from benchmarks.datasets import Dataset, Question
from structrag import read_text


def dataset() -> Dataset:
    """Two sections; the evidence of one question is a section, that of the other a word of it."""
    bodies = [
        " ".join(f"{word} number {i} is here." for i in range(30))
        for word in ("pump", "seal")
    ]
    text = f"# Pumps\n\n{bodies[0]}\n\n# Seals\n\n{bodies[1]}\n"
    start = text.index(bodies[1])
    questions = (
        Question("whole", "seal", (), (("d", start, start + len(bodies[1])),), False),
        Question("word", "seal number 3", (), (("d", start, start + 4),), True),
    )
    return Dataset("set", (read_text(text, id="d", format="markdown"),), questions)


def test_small_chunks_cut_evidence_and_sections_do_not() -> None:
    rows = [row.split(" | ") for row in mc_tables.errors([dataset()]).splitlines()[2:]]
    errors = {row[0].strip("| "): row[-1].strip("| ") for row in rows}
    assert errors["fixed 100"] == errors["fixed 100 within sections"] == "50.0"
    assert errors["whole sections"] == "0.0"


def test_every_way_of_leaving_a_view_out_has_a_row() -> None:
    table = mc_tables.views([dataset()])
    assert len(table.splitlines()) == 2 + len(mc_tables.ROUTES) * len(
        mc_tables.LEFT_OUT
    )
    assert (
        "| TF-IDF: raw view alone |  | 100.0 / 100.0 / 100.0 / 100.0 [100.0, 100.0] |"
        in table
    )
