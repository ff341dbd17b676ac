"""Tables drawn with spaces or with lines in plain text, as pipe tables where there is no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence

_GAP = re.compile(r"[ ]{2,}")
_RULE = re.compile(r"[-=]{2,}(?:[ ]+[-=]{2,})*")
_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_NUMBER = re.compile(r"[-+(]?[$€£¥]?[ ]?[-+]?\d[\d.,']*[ ]?[%)]{0,2}|[-–—]|n/?a", re.IGNORECASE)
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_WIDE = re.compile(r"\S(?:[ ]{3,}|\t)\S")

Rows = list[list[str]]


def is_pipe_table(lines: Sequence[str]) -> bool:
    """Whether the second line is a delimiter row with as many bars as the first."""
    if len(lines) < 2 or "|" not in lines[0]:
        return False
    head, rule = lines[0].strip(), lines[1].strip()
    bars = rule.strip("|").count("|")
    return bool(_DELIMITERS.fullmatch(rule)) and "-" in rule and bars == head.strip("|").count("|")


def has_columns(lines: Sequence[str]) -> bool:
    """Whether three lines or more, and most of them, have a wide gap inside: columns of some kind."""
    wide = sum(bool(_WIDE.search(line.strip())) for line in lines)
    return wide >= 3 and wide >= 0.6 * len(lines) and max(map(len, lines)) <= 250


def pipe_rows(rows: Rows, *, header: bool) -> list[str]:
    """Rows of equal length as a pipe table; without a header row an empty one stands on top."""
    width = len(rows[0])
    top = rows if header else [[""] * width, *rows]
    written = [f"| {' | '.join(row)} |" for row in top]
    return [written[0], f"|{' --- |' * width}", *written[1:]]


def drawn_table(lines: Sequence[str]) -> list[str] | None:
    """The lines of a pipe table for a drawn one, or None where its cells or its header are not
    certain."""
    lines = [line.expandtabs(8).rstrip() for line in lines]
    if any(c in line for line in lines for c in "`\\"):
        return None
    return _grid_table([line.strip() for line in lines]) or _aligned_table(lines)


def _grid_table(lines: Sequence[str]) -> list[str] | None:
    """`+---+` above and below, `|` between the cells: every row one line, or one header line over
    all others."""
    rule = lines[0]
    if len(lines) < 3 or not _GRID_RULE.fullmatch(rule) or not _GRID_RULE.fullmatch(lines[-1]):
        return None
    borders = [i for i, c in enumerate(rule) if c == "+"]
    groups: list[Rows] = [[]]
    rules = []
    for line in lines[1:]:
        if len(line) != len(rule):
            return None
        if _GRID_RULE.fullmatch(line):
            if [i for i, c in enumerate(line) if c == "+"] != borders:
                return None
            rules.append(line)
            groups.append([])
        elif [i for i, c in enumerate(line) if c == "|"] != borders:
            return None
        else:
            groups[-1].append([cell.strip() for cell in line[1:-1].split("|")])
    groups.pop()
    if not groups or not all(groups):
        return None
    single = all(len(group) == 1 for group in groups)
    under_header = len(groups) == 2 and len(groups[0]) == 1
    if not single and not (under_header and all(all(row) for row in groups[1])):
        return None
    header = "=" in rules[0] or (under_header and not single)
    return pipe_rows([row for group in groups for row in group], header=header)


def _aligned_table(lines: Sequence[str]) -> list[str] | None:
    """Columns that begin or end at one place in every row, under a header that is ruled off or
    stands over numbers."""
    rules = [i for i, line in enumerate(lines) if _RULE.fullmatch(line.strip())]
    content = [line for i, line in enumerate(lines) if i not in rules]
    if len(content) < 3 or any("|" in line for line in content):
        return None
    spans = [_cell_spans(line) for line in content]
    width = len(spans[0])
    if width < 2 or any(len(row) != width for row in spans):
        return None
    for column in range(width):
        if (
            len({row[column][0] for row in spans}) > 1
            and len({row[column][1] for row in spans}) > 1
        ):
            return None
    first = next(i for i in range(len(lines)) if i not in rules)
    inner = [i for i in rules if first < i < len(lines) - 1]
    rows = [
        [line[start:end] for start, end in row] for line, row in zip(content, spans, strict=True)
    ]
    if inner != [first + 1] and (inner or not _over_numbers(rows)):
        return None
    return pipe_rows(rows, header=True)


def _over_numbers(rows: Rows) -> bool:
    """Whether a column is all numbers except for its first cell."""
    return any(
        not any(map(str.isdigit, rows[0][column]))
        and all(_NUMBER.fullmatch(row[column]) for row in rows[1:])
        for column in range(len(rows[0]))
    )


def _cell_spans(line: str) -> list[tuple[int, int]]:
    spans = []
    position = len(line) - len(line.lstrip(" "))
    for gap in _GAP.finditer(line, position):
        spans.append((position, gap.start()))
        position = gap.end()
    return [*spans, (position, len(line))]
