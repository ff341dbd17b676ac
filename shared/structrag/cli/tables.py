"""Reports of tables, as plain text for a terminal or as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from structrag.evaluation.aggregate import MeanEstimate

WIDTH = 110  # of prose in plain text


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under a head.

    The first column is to the left, the others to the right.

    Example:
        >>> print(table_text(ReportTable(["method", "chunks"], [["mc", "12"]]), markdown=True))
        | method | chunks |
        | ------ | -----: |
        | mc     |     12 |
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A part of a report: a title, a table and notes.

    Example:
        >>> report_text([ReportPart("Cost", notes=["None was made."])], markdown=True)
        '## Cost\\n\\nNone was made.'
    """

    title: str = ""  # "": none
    table: ReportTable | None = None
    notes: Sequence[str] = ()


def report_text(parts: Sequence[ReportPart], *, markdown: bool) -> str:
    """The parts one below the other, with blank lines between."""
    blocks = []
    for part in parts:
        if part.title and markdown:
            blocks.append(f"## {part.title}")
        elif part.title:
            blocks.append(f"{part.title}\n{'─' * len(part.title)}")
        if part.table is not None:
            blocks.append(table_text(part.table, markdown=markdown))
        blocks += [
            note if markdown else textwrap.fill(note, WIDTH) for note in part.notes
        ]
    return "\n\n".join(blocks)


def table_text(table: ReportTable, *, markdown: bool) -> str:
    """The table with columns of equal width."""
    widths = [
        max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)
    ]
    lines = [_cells(row, widths) for row in (table.head, *table.rows)]
    if not markdown:
        return "\n".join("  ".join(line).rstrip() for line in lines)
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def percent(value: MeanEstimate) -> str:
    """A share in percent with its interval."""
    return f"{100 * value.mean:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def points(value: MeanEstimate) -> str:
    """A difference of shares in points with its interval. Of two that are equal everywhere it is a
    plain 0."""
    if value.mean == value.low == value.high == 0:
        return "0"
    return f"{100 * value.mean:+.1f} [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"


def embedder_text(name: str) -> str:
    """An embedder's name without its prompts. Of LSA it also says why it was taken."""
    return (
        "LSA (no --embedder was given)"
        if name.startswith("LSA(")
        else name.partition("|")[0]
    )


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    return [row[0].ljust(widths[0]), *cells[1:]]
