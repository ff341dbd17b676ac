"""Tables of the commands."""

from __future__ import annotations

from fixture_cases import examples

from structrag.cli.printing import (
    ReportPart,
    report_text,
)


@examples
def test_notes_are_wrapped_at_110_characters_on_a_terminal(
    length: int, lines: int
) -> None:
    note = "word " * 21 + "x" * (length - 105)
    assert len(note) == length
    part = ReportPart(notes=[note])
    assert len(report_text([part], markdown=False).splitlines()) == lines
    assert report_text([part], markdown=True) == note
