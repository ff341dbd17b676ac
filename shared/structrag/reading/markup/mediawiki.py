"""MediaWiki: its headings, and its blocks.

What stands in comments, `<nowiki>`, `<pre>` and their like, or in the braces of a template, is no
heading.
"""

from __future__ import annotations

import re
from functools import partial

from structrag.reading.markup.lines import (
    Element,
    Lines,
    code,
    paragraph,
    tiled,
)
from structrag.records import BlockKind, Heading

_HIDING = "nowiki|pre|source|syntaxhighlight|math|score|templatedata|timeline"
_TOKEN = re.compile(
    rf"<!--|<({_HIDING})\b[^<>]*>|\{{\{{|\}}\}}|(?:^|(?<=\r))=", re.I | re.M
)
# One without an end takes the rest, or it would be looked for from each beginning.
_COMMENT = re.compile(r"<!--.*?-->|(<!--.*)", re.DOTALL)
_EOL = re.compile(r"\r\n|\r|\n|\Z")
_DISPLAY = re.compile(r"\{\{DISPLAYTITLE:([^{}|]*)")
_TAG = re.compile(r"<(pre|source|syntaxhighlight|math|blockquote)\b", re.IGNORECASE)
_IMAGE = re.compile(r"\[\[(?:File|Image):.*\]\]", re.IGNORECASE)
_KINDS: dict[str, BlockKind] = {"math": "math", "blockquote": "quote"}
_LIST = ("*", "#", ";", ":")


def headings(text: str) -> list[Heading]:
    """The headings, in order; the shorter side of unequal marks is the level."""
    found: list[Heading] = []
    opened: list[int] = []  # how many headings there were at each open pair of braces
    ends: dict[str, re.Pattern[str] | None] = {"": re.compile("-->")}
    at = 0
    while match := _TOKEN.search(text, at):
        at = match.end()
        token = match[0]
        if token == "{{":
            opened.append(len(found))
        elif token == "}}":
            if opened:
                del found[opened.pop() :]
        elif token[0] == "<":
            tag = (match[1] or "").lower()
            if token.endswith("/>"):
                continue
            closing = ends.setdefault(tag, re.compile(rf"</{tag}\s*>", re.IGNORECASE))
            end = closing and closing.search(text, at)
            if end:
                at = end.end()
            else:
                ends[tag] = None  # nor is there one behind the next such tag
        else:
            heading = _heading(text, match.start())
            if heading:
                found.append(heading)
    return found


def _heading(text: str, start: int) -> Heading | None:
    eol = _EOL.search(text, start)
    if not eol:  # never: the end of the text is one
        return None
    line = text[start : eol.start()]
    if "<!--" in line:
        line = _COMMENT.sub(r"\1", line)
    line = line.rstrip(" \t")
    before = len(line) - len(line.lstrip("="))
    after = len(line) - len(line.rstrip("="))
    if before == len(line):  # signs alone: one of them on each side
        before = after = int(len(line) > 2)
    level = min(before, after, 6)
    if not level:
        return None
    title = line.rstrip()[level:-level].strip()
    return Heading(level, title, start, eol.end()) if title else None


def title(text: str) -> str:
    """What `{{DISPLAYTITLE:...}}` says; else "": a page's name is not in its text."""
    match = _DISPLAY.search(text)
    return " ".join(match[1].split()) if match else ""


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    line = lines[i].text
    tag = _TAG.match(line)
    if tag:
        name = tag[1].lower()
        stop = lines.until(i, name, lambda x: f"</{name}" in x.lower())
        if stop:
            return code(i, stop, _KINDS.get(name, "code"))
    if line.startswith("{|"):
        return _table(lines, i)
    if line.startswith("{{"):
        stop = _template(lines, i)
        if stop:
            return code(i, stop, "other")
    if line.startswith(_LIST):
        stop = paragraph(lines, i, lambda x: not x.startswith(_LIST))
        cuts = (j for j in range(i + 1, stop) if lines[j].text[1:2] not in _LIST)
        return Element(stop, "list", tuple(cuts))
    if line[0] == " ":
        return code(i, paragraph(lines, i, lambda x: x[0] != " "))
    if line.startswith("----"):
        return Element(i + 1, "other")
    stop = paragraph(lines, i, _begins)
    return Element(stop, "image" if _IMAGE.fullmatch(line) else "paragraph")


def _begins(line: str) -> bool:
    return line.startswith((*_LIST, "{|", " ", "----")) or bool(_TAG.match(line))


def _table(lines: Lines, i: int) -> Element:
    """Up to its own `|}`, or the end; its rows begin with `|-`."""
    depth, stop = 1, i + 1
    rows: list[int] = []
    while stop < len(lines) and depth:
        line = lines[stop].text.lstrip()
        depth += line.startswith("{|") - line.startswith("|}")
        if depth == 1 and line.startswith("|-"):
            rows.append(stop)
        stop += 1
    has_header = any(
        lines[j].text.lstrip().startswith("!") for j in range(i, rows[0] if rows else i)
    )
    header = rows[0] if has_header else 0
    if not has_header and len(rows) > 1:
        above = range(rows[0] + 1, rows[1])
        is_header = bool(above) and all(
            lines[j].text.lstrip()[:1] == "!" for j in above
        )
        header = rows[1] if is_header else 0
    return Element(stop, "table", tuple(row for row in rows if row >= header), header)


def _template(lines: Lines, i: int) -> int:
    """Behind the line where the braces of line `i` are closed; 0 if they never are."""
    depth = 0

    def closes(line: str) -> bool:
        nonlocal depth
        depth += line.count("{{") - line.count("}}")
        return depth <= 0

    return lines.until(i, "{{", closes)


# The blocks that tile `text[start:end]`, a section's own body.
blocks = partial(tiled, _element)
