"""How commands write: lines, chunks and tables, to standard output and to standard error."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.evaluation.aggregate import MeanEstimate
from structrag.model_calls.settings import ProgressLine
from structrag.records import Chunk
from structrag.text.heading_path import SEPARATOR, title_beside

# What a terminal may take for a command; line ends and tabs are text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def harmless(text: str) -> str:
    """A text with its control characters spelt out for a terminal.

    Example:
        >>> print(harmless("a\\x1b[2Jb"))
        a\\x1b[2Jb
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def print_items(items: Iterable[Any], as_json: bool) -> None:
    """One line for each item, as JSON or as `str` has it. Documents are others' words: their
    control characters are spelt out."""
    for item in items:
        line = json.dumps(item) if as_json else harmless(str(item))
        sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")


class _Progress(ProgressLine):
    """Says how far a command is; its report says the end."""

    says_ends = False

    def say(self, text: str) -> None:
        """One line on standard error, with nothing that commands a terminal."""
        super().say(harmless(text))


show_progress: ProgressLine = _Progress()


def path_of(chunk: Chunk, title: str = "") -> str:
    """The titles that lead to a chunk, the document's first."""
    path = (title_beside(title, chunk.path), *chunk.path)
    return SEPARATOR.join(filter(None, path)) or "(no heading)"


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A chunk as JSON values, its extras beside its fields."""
    names = ("id", "path", "start", "end", "n_tokens", "context", "text")
    return {**{name: getattr(chunk, name) for name in names}, **chunk.extras}


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
