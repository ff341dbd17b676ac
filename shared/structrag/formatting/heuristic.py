"""Plain text to structured Markdown by rules, tables drawn in it included. No word is lost, and
nothing becomes a heading by accident."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from structrag.formatting.cleaning import cleaned_text
from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_line,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.markdown import markdown_blocks
from structrag.reading.plain import plain_blocks, plain_headings
from structrag.reading.tables import count_headers, pipe_table
from structrag.records import Heading

_CODE_LINE = re.compile(
    r"""[{};\\]$
    | ^(?:>>>|\.\.\.|\$|\#!|//|/\*|\#include|@\w)
    | \)\s*[:{;]?$
    | [\w\])]\s(?:=|==|:=|\+=|->|=>)\s\S
    | \w\(\S{0,200}\)
    | ^(?:def|class|import|from|return|if|elif|else|for|while|try|except|with
        |fn|let|const|var|public|private|end)\b.*[^.,]$""",
    re.VERBOSE,
)
_LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")
_GAP = re.compile(r"[ ]{2,}")
_RULE = re.compile(r"[-=]{2,}(?:[ ]+[-=]{2,})*")
_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_WIDE = re.compile(r"\S(?:[ ]{3,}|\t)\S")

Rows = list[list[str]]


def markdown_of_text(text: str) -> Draft:
    """Structured Markdown of a plain text.

    - Headings are those of `plain_headings`, cut off the text that runs on behind them. They are
      written with as many `#` as their level, at most six.
    - Running heads, page breaks and hyphens at line ends are mended by `cleaned_text`.
    - Pipe tables pass. Drawn and aligned tables become pipe tables if cells and header are certain,
    else they are fenced unchanged.
    - Indented code is fenced.
    - What would be a heading, a fence, HTML or front matter by accident is escaped.

    An empty or blank text gives "". Every letter and digit of the text is in the result, in order,
    except for the lines that the draft lists as removed.
    """
    cleaned = cleaned_text(text)
    headings = sound_headings(cleaned.text)
    written, unsure = markdown_of_span(cleaned.text, headings, 0, len(cleaned.text))
    notes = [*cleaned.uncertain, *(f"{note}." for note in unsure)]
    if not headings and cleaned.text.strip():
        notes.append("No headings were found; the text is one section.")
    return Draft(written, tuple(notes), cleaned.removed)


def sound_headings(text: str) -> list[Heading]:
    """Return the headings whose titles contain all words of their lines."""
    headings = []
    for heading in plain_headings(text):
        if _letters(heading.title) == _letters(text[heading.start : heading.end]):
            headings.append(heading)
    return headings


def markdown_of_span(
    text: str, headings: Sequence[Heading], start: int, end: int
) -> tuple[str, list[str]]:
    """`text[start:end]` as Markdown, and what was uncertain. Only the headings inside are used. The
    notes have no full stops."""
    parts: list[str] = []
    unsure: list[str] = []
    position = start
    for heading in headings:
        if position <= heading.start and heading.end <= end:
            parts += _blocks(text, position, heading.start, unsure)
            parts.append(heading_line(heading.level, heading.title))
            position = heading.end
    return assembled([*parts, *_blocks(text, position, end, unsure)]), unsure


def _blocks(text: str, start: int, end: int, unsure: list[str]) -> list[str]:
    blocks = []
    for block in plain_blocks(text, start, end):
        raw = text[block.start : block.end]
        if raw.strip():
            blocks.append(_block(raw, block.kind, unsure))
    return blocks


def _block(raw: str, kind: str, unsure: list[str]) -> str:
    lines = [line for line in raw.split("\n") if line.strip()]
    if _is_pipe_table(lines):
        return "\n".join(escaped_line(line.strip()) for line in lines)
    if _is_code(lines):
        # Empty lines inside the code stay.
        code = [line.expandtabs(4) for line in raw.strip("\n").split("\n")]
        return fenced("\n".join(_dedented(code)).rstrip())
    table = drawn_table(lines)
    if table:
        return table
    if has_columns(lines) or all(
        line.lstrip().startswith(("+-", "|")) for line in lines
    ):
        return _columns(lines, unsure)
    if kind == "list":  # its indents say what belongs to which item
        return "\n".join(escaped_lines(list(map(str.rstrip, lines))))
    return "\n".join(escaped_lines(list(map(str.strip, lines))))


def _is_pipe_table(lines: Sequence[str]) -> bool:
    text = "\n".join(lines[:2])
    blocks = markdown_blocks(text, 0, len(text)) if "|" in lines[0] else []
    return [block.kind for block in blocks] == ["table"]


def _columns(lines: Sequence[str], unsure: list[str]) -> str:
    """Fence lines that may be a table, unchanged."""
    if len(lines) > 1:
        start = " ".join(lines[0].split())[:60]
        unsure.append(
            f"Columns beginning {start!r} were kept as they stand: "
            "it is not certain that they are a table"
        )
    return fenced("\n".join(_dedented([line.expandtabs(8).rstrip() for line in lines])))


def _is_code(lines: Sequence[str]) -> bool:
    """Return True if two or more lines are indented and mostly look like code."""
    if len(lines) < 2 or not all(
        line.expandtabs(4).startswith("    ") for line in lines
    ):
        return False
    code_lines = sum(bool(_CODE_LINE.search(line.strip()[:200])) for line in lines)
    return 2 * code_lines > len(lines)


def _dedented(lines: list[str]) -> list[str]:
    """The lines without the spaces that all have in front. One at least is not blank."""
    indent = min(len(line) - len(line.lstrip(" ")) for line in lines if line.strip())
    return [line[indent:] for line in lines]


def _letters(text: str) -> str:
    return "".join(_LETTERS_AND_DIGITS.findall(text))


def has_columns(lines: Sequence[str]) -> bool:
    """Return True if lines seem to be columns: three or more, and most of them, have a wide gap
    inside."""
    wide = sum(bool(_WIDE.search(line.strip())) for line in lines)
    return wide >= 3 and wide >= 0.6 * len(lines) and max(map(len, lines)) <= 250


def drawn_table(lines: Sequence[str]) -> str | None:
    """The pipe table for one drawn with spaces or lines. None where its cells or its header are not
    certain."""
    lines = [line.expandtabs(8).rstrip() for line in lines]
    # Code, or escapes that a cell changes.
    if any("`" in line or "\\" in line for line in lines):
        return None
    return _grid_table([line.strip() for line in lines]) or _aligned_table(lines)


def _grid_table(lines: Sequence[str]) -> str | None:
    """Read a table with `+---+` above and below, and `|` between the cells. Every row is one line,
    or one header line precedes all others."""
    if not (_GRID_RULE.fullmatch(lines[0]) and _GRID_RULE.fullmatch(lines[-1])):
        return None
    groups = _ruled_groups(lines)
    if not groups or not all(groups):
        return None
    rows = list(chain.from_iterable(groups))
    if len(rows) == len(groups):  # every row is ruled off
        first_rule = next(line for line in lines[1:] if _GRID_RULE.fullmatch(line))
        return pipe_table(rows, "=" in first_rule)
    under_header = len(groups) == 2 and len(groups[0]) == 1
    # Where lines are not ruled off, one with an empty cell may go on the row above.
    if under_header and all(map(all, groups[1])):
        return pipe_table(rows)
    return None


def _ruled_groups(lines: Sequence[str]) -> list[Rows]:
    """The rows between two rules each, none if a border is misplaced."""
    borders = _places("+", lines[0])
    groups: list[Rows] = [[]]
    for line in lines[1:]:
        is_rule = bool(_GRID_RULE.fullmatch(line))
        if (
            len(line) != len(lines[0])
            or _places("+" if is_rule else "|", line) != borders
        ):
            return []
        if is_rule:
            groups.append([])
        else:
            groups[-1].append([cell.strip() for cell in line[1:-1].split("|")])
    return groups[:-1]


def _places(sign: str, line: str) -> list[int]:
    return [i for i, character in enumerate(line) if character == sign]


def _aligned_table(lines: Sequence[str]) -> str | None:
    """Read a table whose columns begin or end at one place. Its header is ruled off or above
    numbers."""
    are_rules = [bool(_RULE.fullmatch(line.strip())) for line in lines]
    content = [
        line for line, is_rule in zip(lines, are_rules, strict=True) if not is_rule
    ]
    if len(content) < 3 or any("|" in line for line in content):
        return None
    spans = list(map(_cell_spans, content))
    if not _are_columns(spans):
        return None
    rows = []
    for line, row in zip(content, spans, strict=True):
        rows.append([line[start:end] for start, end in row])
    header = are_rules.index(False)
    # One in the last line only closes the table.
    inner_rules = are_rules[header + 1 : -1]
    if any(inner_rules):
        has_header = inner_rules[0] and sum(inner_rules) == 1
    else:
        has_header = bool(count_headers(rows))
    return pipe_table(rows) if has_header else None


def _are_columns(spans: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Return True if all rows have the same two or more aligned columns."""
    width = len(spans[0])
    if width < 2 or any(len(row) != width for row in spans):
        return False
    for column in zip(*spans, strict=True):
        starts, ends = zip(*column, strict=True)
        if len(set(starts)) > 1 and len(set(ends)) > 1:
            return False
    return True


def _cell_spans(line: str) -> list[tuple[int, int]]:
    spans = []
    position = len(line) - len(line.lstrip(" "))
    for gap in _GAP.finditer(line, position):
        spans.append((position, gap.start()))
        position = gap.end()
    return [*spans, (position, len(line))]
