"""AsciiDoc: its sections as Asciidoctor finds them, and its blocks.

What is delimited (listings, examples, tables), discrete headings and lines inside a paragraph are
no section titles; two-line titles and `##` are. Of conditions, what the document's own attributes
rule out holds no titles; branches of attributes from outside are kept. Levels follow
`:leveloffset:`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import partial
from operator import itemgetter

from structrag.reading.markup.lines import (
    Element,
    Lines,
    by_word,
    code,
    elements,
    filled,
    items,
    lines_of,
    paragraph,
    tiled,
)
from structrag.records import BlockKind, Heading

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"=+|-+|~+|\^+|\++")
_LEVELS = {mark: level for level, mark in enumerate("=-~^+", 1)}
_ANCHOR = re.compile(r"\[\[[^\[\]]*\]\]")
_DELIMITER = re.compile(
    r"--|(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|~{4,}|[|,:!]={3,})|```[^\s`]*"
)
_ATTRIBUTES = re.compile(r"\[(?:[\w.#%{,\"'].*|\[.*\])?\]")
_DISCRETE = re.compile(r"\[(?:discrete|float)\b")
_ENTRY = re.compile(r":!?\w[\w-]*!?:(?:[ ]|$)")
_CONDITION = re.compile(r"(?:ifdef|ifndef|ifeval|endif|include)::\S*\[.*\]")
_BRANCH = re.compile(r"(ifdef|ifndef|ifeval|endif)::([^\[\]]*)\[(.*)\]")
_EQUATION = re.compile(r"([^=!<>]+)(==|!=)([^=!<>]+)")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_SET = re.compile(r":(!?)(\w[\w-]*)(!?):(?:[ ](.*)|$)")
_VERBATIM = re.compile(r"-{4,}|\.{4,}|\+{4,}|/{4,}|```\S*")
_MACRO = re.compile(r"(image|video|audio|toc)::.*\[.*\]|'{3}|<{3}")
_ITEM = re.compile(
    r"[ ]*(?:-|\*{1,5}|\.{1,5}|•|\d+\.|[A-Za-z]\.|[ivx]+\)|<[\d.]+>)[ ]+\S"
)
_TERM = re.compile(r"(?!//).*\S(?::{2,4}|;;)(?:[ ]|$)")
_MARKS: dict[str, BlockKind] = by_word(
    code="- . `", other="+ / = * ~", quote="_", table="| , : !"
)


def headings(text: str) -> list[Heading]:
    """The section titles, in order; the document's title has level 1, `==` level 2."""
    lines = lines_of(text)
    shifts = _processed(lines)
    found = []
    for i, element in elements(lines, _element):
        if element.title is not None:
            place = bisect_right(shifts, i, key=itemgetter(0))
            shift = shifts[place - 1][1] if place else 0
            span = lines[i].start, lines[element.stop - 1].end
            level = max(1, int(element.style) + shift)
            found.append(Heading(level, element.title, *span))
    return found


def title(text: str) -> str:
    """The document's title, which comes before all others; else ""."""
    first = next(iter(headings(text)), None)
    return first.title if first and first.level == 1 else ""


def _processed(lines: Lines) -> list[tuple[int, int]]:
    """Make comments of the lines in branches that are ruled out. Gives where levels are shifted, as
    (line, by how many)."""
    values: dict[str, str | None] = {}  # None: unset
    shifts: list[tuple[int, int]] = []
    branches: list[bool | None] = []  # None: nobody here knows
    ruled_out = 0  # of them
    verbatim = ""
    for i, line in enumerate(lines):
        condition = _BRANCH.fullmatch(line.text)
        if ruled_out:
            lines[i] = line._replace(text="//")
        if condition and condition[1] == "endif":
            ruled_out -= branches.pop() is False if branches else 0
        elif condition and (condition[1] == "ifeval" or not condition[3].strip()):
            branches.append(_holds(condition, values))
            ruled_out += branches[-1] is False
        elif ruled_out:
            continue
        elif _VERBATIM.fullmatch(line.text):
            verbatim = "" if verbatim == line.text else verbatim or line.text
        elif not verbatim and (entry := _SET.match(line.text)):
            name = entry[2].lower()
            unset = entry[1] or entry[3]
            values[name] = None if unset else (entry[4] or "").strip()
            if name == "leveloffset":
                shifts.append((i, _shifted(shifts, values[name] or "0")))
    return shifts


def _shifted(shifts: list[tuple[int, int]], written: str) -> int:
    """What `:leveloffset:` says: a number, or more or less than before."""
    if not re.fullmatch(r"[+-]?\d{1,2}", written):
        return 0
    before = shifts[-1][1] if shifts and written[0] in "+-" else 0
    return before + int(written)


def _holds(condition: re.Match[str], values: dict[str, str | None]) -> bool | None:
    """Whether a branch is taken; None where its attributes come from outside."""
    kind, names, expression = condition.groups()
    if kind == "ifeval":
        sides = _EQUATION.fullmatch(expression)
        if not sides:
            return None
        left, sign, right = sides.groups()
        said = [
            _REFERENCE.sub(lambda m: values.get(m[1]) or m[0], x) for x in (left, right)
        ]
        if any("{" in each for each in said):
            return None
        is_equal = said[0].strip("\"' ") == said[1].strip("\"' ")
        return is_equal if sign == "==" else not is_equal
    wanted = re.split(r"[,+]", names.lower())
    answers = [
        None if name not in values else values[name] is not None for name in wanted
    ]
    decisive = "+" not in names  # what one of them says for all
    holds = (
        decisive if decisive in answers else None if None in answers else not decisive
    )
    return holds if kind == "ifdef" or holds is None else not holds


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    line = lines[i].text
    discrete = bool(before and before.note == "discrete")
    if not line[0].isalnum() or _CONDITION.fullmatch(line):
        body = _metadata(lines, i)
        if body > i:
            discrete = discrete or any(_DISCRETE.match(x.text) for x in lines[i:body])
            body = filled(lines, body)
            at_title = body < len(lines) and _titled(lines, body)
            if body == len(lines) or (at_title and not discrete):
                return Element(body, "other")
            return _block(lines, i, body)
    element = _titled(lines, i)
    if not element:
        return _block(lines, i, i)
    return Element(element.stop) if discrete else element


def _metadata(lines: Lines, i: int) -> int:
    """Behind the attributes, block titles, comments and entries that begin with line `i`."""
    stop = i
    while i < len(lines):
        line = lines[i].text
        if _ENTRY.match(line):
            while lines[i].text.endswith("\\") and i + 1 < len(lines):
                i += 1
        elif not (
            _ATTRIBUTES.fullmatch(line)
            or _CONDITION.fullmatch(line)
            or (line[:1] == "." and line[1:2] not in ("", " ", "."))
            or (line.startswith("//") and not line.startswith("///"))
        ):
            if line:
                break
            i += 1
            continue
        i += 1
        stop = i
    return stop


def _titled(lines: Lines, i: int) -> Element | None:
    line = lines[i].text
    match = _TITLE.fullmatch(line)
    if match:
        mark, title = match.groups()
        if title.endswith((f" {mark}", f"\t{mark}")):
            title = title[: -len(mark)]
        return Element(i + 1, title=_tidy(title), style=str(len(mark)))
    below = lines[i + 1].text if i + 1 < len(lines) else ""
    if (
        len(below) < 3
        or abs(len(below) - len(line)) > 1
        or not _UNDERLINE.fullmatch(below)
        or not any(map(str.isalnum, line))
        or line[0] in ".|"
        or line.startswith(("- ", "* ", "//"))
    ):
        return None
    return Element(i + 2, title=_tidy(line), style=str(_LEVELS[below[0]]))


def _block(lines: Lines, first: int, i: int) -> Element:
    """A block whose attributes begin with line `first` and whose own text with line `i`."""
    line = lines[i].text
    if _DELIMITER.fullmatch(line):
        return _delimited(lines, first, i)
    macro = _MACRO.fullmatch(line)
    if macro:
        return Element(i + 1, "image" if macro[1] == "image" else "other")
    if _is_item(line):
        return _list(lines, i)
    stop = paragraph(lines, i, _ends_paragraph)
    style = lines[first].text if first < i else ""
    if line[0] == " " or style.startswith(("[source", "[listing", "[literal", "[,")):
        return code(i, stop)
    if style.startswith(("[quote", "[verse")):
        return Element(stop, "quote")
    return Element(stop)


def _delimited(lines: Lines, first: int, i: int) -> Element:
    mark = lines[i].text
    end = "```" if mark[0] == "`" else mark
    stop = i + 1
    while stop < len(lines) and lines[stop].text != end:
        stop += 1
    stop = min(stop + 1, len(lines))
    styles = "".join(line.text for line in lines[first:i])
    kind = "paragraph" if mark == "--" else _MARKS[mark[0]]
    if mark[0] == "+" and ("stem" in styles or "math" in styles):
        kind = "math"
    elif "[source" in styles or "[listing" in styles:
        kind = "code"
    if kind != "table":
        return code(i, stop, kind)
    rows = [j for j in range(i + 1, stop - 1) if lines[j].text and mark[0] != "|"]
    rows = rows or [j for j in range(i + 1, stop - 1) if "|" in lines[j].text[:8]]
    has_header = 'options="header' in styles or "%header" in styles
    if (
        len(rows) > 1 and not lines[rows[0] + 1].text
    ):  # a blank line behind the first row
        has_header = True
    header = rows[1] if has_header and len(rows) > 1 else 0
    return Element(stop, "table", tuple(rows[2:] if header else rows[1:]), header)


def _is_item(line: str) -> bool:
    return bool(_ITEM.match(line) or _TERM.match(line))


def _ends_paragraph(line: str) -> bool:
    return bool(
        _DELIMITER.fullmatch(line) or (line[0] == "[" and _ATTRIBUTES.fullmatch(line))
    )


def _list(lines: Lines, i: int) -> Element:
    """A list with the blocks that a `+` attaches to its items."""
    cuts: list[int] = []
    while True:
        found = items(
            lines,
            i,
            lambda j: (
                _is_item(lines[j].text) and not _DELIMITER.fullmatch(lines[j].text)
            ),
            _ends_paragraph,
        )
        cuts += found.cuts
        stop = found.stop
        if stop == len(lines) or lines[stop - 1].text != "+":
            return Element(stop, "list", tuple(cuts))
        body = filled(lines, max(stop, _metadata(lines, stop)))
        if body == len(lines):
            return Element(body, "list", tuple(cuts))
        i = _block(lines, stop, body).stop - 1


def _tidy(title: str) -> str:
    return " ".join(_ANCHOR.sub(" ", title).split())


# The blocks that tile `text[start:end]`, a section's own body.
blocks = partial(tiled, _element)
