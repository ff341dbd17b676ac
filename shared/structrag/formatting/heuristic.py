"""Plain text to structured Markdown by rules: no model, no word lost, nothing a heading by
accident."""

from __future__ import annotations

import re
from collections.abc import Sequence

from structrag.formatting.cleaning import cleaned_text
from structrag.formatting.tables import drawn_table, has_columns, is_pipe_table
from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_line, escaped_lines, fenced, heading_line
from structrag.reading.plain import plain_blocks, plain_headings
from structrag.records import Heading

_CODE_LINE = re.compile(
    r"""[{};\\]$ | ^(?:>>>|\.\.\.|\$|\#!|//|/\*|\#include|@\w) | \)\s*[:{;]?$ | [\w\])]\s(?:=|==|:=|\+=|->|=>)\s\S | \w\(\S*\)
    | ^(?:def|class|import|from|return|if|elif|else|for|while|try|except|with|fn|let|const|var|public|private|end)\b.*[^.,]$""",
    re.VERBOSE,
)
_LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")


def markdown_of_text(text: str) -> Draft:
    """Structured Markdown of a plain text.

    Headings are those of `plain_headings`, cut off the text that runs on behind them and written
    with as many `#` as their level, at most six. Running heads, page breaks and hyphens at line
    ends are mended by `cleaned_text`. Pipe tables pass; drawn and aligned tables become pipe tables
    where cells and header are certain, else they are fenced as they stand. Indented code is fenced.
    What would be a heading, a fence, HTML or front matter by accident is escaped. An empty or blank
    text gives "".

    Every letter and digit of the text is in the result, in order, except for the lines that the
    draft lists as removed.
    """
    cleaned = cleaned_text(text)
    headings = sound_headings(cleaned.text)
    written, unsure = markdown_of_span(cleaned.text, headings, 0, len(cleaned.text))
    notes = [*cleaned.uncertain, *(f"{note}." for note in unsure)]
    if not headings and cleaned.text.strip():
        notes.append("No headings were found; the text is one section.")
    return Draft(written, tuple(notes), cleaned.removed)


def sound_headings(text: str) -> list[Heading]:
    """The headings of a plain text whose titles say all that stands in their place."""
    return [
        heading
        for heading in plain_headings(text)
        if _letters(heading.title) == _letters(text[heading.start : heading.end])
    ]


def markdown_of_span(
    text: str, headings: Sequence[Heading], start: int, end: int
) -> tuple[str, list[str]]:
    """`text[start:end]` as Markdown with those of the headings that lie inside, and what was
    uncertain, without full stops."""
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
    return [
        _block(text[block.start : block.end], block.kind, unsure)
        for block in plain_blocks(text, start, end)
        if text[block.start : block.end].strip()
    ]


def _block(raw: str, kind: str, unsure: list[str]) -> str:
    lines = [line for line in raw.split("\n") if line.strip()]
    if is_pipe_table(lines):
        return "\n".join(escaped_line(line.strip()) for line in lines)
    if _is_code(lines):
        return fenced(
            "\n".join(
                _dedented([line.expandtabs(4) for line in raw.strip("\n").split("\n")])
            ).rstrip()
        )
    table = drawn_table(lines)
    if table:
        return "\n".join(table)
    if has_columns(lines) or all(line.lstrip().startswith(("+-", "|")) for line in lines):
        if len(lines) > 1:
            unsure.append(
                f"Columns beginning {_shown(lines[0])} were kept as they stand: it is not certain "
                "that they are a table"
            )
        return fenced("\n".join(_dedented([line.expandtabs(8).rstrip() for line in lines])))
    if kind == "list":
        return "\n".join(escaped_lines([line.rstrip() for line in lines]))
    return "\n".join(escaped_lines([line.strip() for line in lines]))


def _is_code(lines: Sequence[str]) -> bool:
    """Two or more lines, all indented by four or more, most of which look like a program."""
    if len(lines) < 2 or not all(line.expandtabs(4).startswith("    ") for line in lines):
        return False
    return 2 * sum(bool(_CODE_LINE.search(line.strip()[:200])) for line in lines) > len(lines)


def _dedented(lines: list[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[indent:] for line in lines]


def _shown(line: str) -> str:
    return repr(" ".join(line.split())[:60])


def _letters(text: str) -> str:
    return "".join(_LETTERS_AND_DIGITS.findall(text))
