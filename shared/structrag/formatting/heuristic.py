"""Plain text cleaned (line ends, running heads, broken words), and made structured Markdown by
rules, tables drawn in it included. No word is lost, and nothing becomes a heading by accident."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, takewhile

from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_line,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.markdown import markdown_blocks
from structrag.reading.pdf.hyphens import Hyphens
from structrag.reading.pdf.running_heads import (
    SHARE,
    HeadKey,
    head_keys,
    is_page_number,
)
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


MARGIN = 3  # lines at the top and at the bottom of a page that can be running heads
MIN_PAGES = 3

_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_ENDS = tuple(".!?:;。！？：；")
_CLOSING = "\"'”’)]"
_BROKEN = re.compile(
    r"(?<![^\W_])(?<!-)([^\W_]+(?:-[^\W_]+)*)([-‐\u00ad])[ \t]*\n[ \t]*(?=([^\W\d_]+))"
)
_HYPHEN_AT_END = re.compile(r"[-‐\u00ad][ \t]*\n")
_NO_SPACE, _LINE_REST = re.compile(r"\S*"), re.compile(r"[ \t]*\n?")
_COLUMNS = re.compile(r"\S(?:[ \t]{3,}|\t)\S|\|")


def unified(text: str) -> str:
    """The text with `\\n` at line ends and no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def cleaned_text(text: str) -> Draft:
    """A plain text in one piece, without pages.

    Running heads go. Paragraphs that run over a page break and hyphenated words are rejoined.

    Pages end at form feeds. A running head, page numbers aside, is on at least 60 % of three or
    more pages. It is among the first or last three lines, with nothing but running heads outside
    it. Its first occurrence stays, so that its words do, and page numbers go. Letters and digits
    of what stays keep their order.
    """
    joined, removed, numbers = _without_running_heads(unified(text))
    rejoined, unsure = _without_hyphens(joined)
    notes = []
    if removed:
        # Running heads first: a page number says little as an example.
        heads = sorted(dict.fromkeys(removed), key=numbers.__contains__)
        notes.append(
            "Lines left out as repeated running heads or page numbers: "
            f"{len(removed)}, such as {_first_five(heads)}."
        )
    if unsure:
        notes.append(
            f"Words hyphenated at line ends and rejoined by guess: {len(unsure)}, such as "
            f"{_first_five(unsure)}."
        )
    return Draft(rejoined, tuple(notes), tuple(removed))


def _first_five(texts: list[str]) -> str:
    return ", ".join(repr(text) for text in texts[:5])


def _without_running_heads(text: str) -> tuple[str, list[str], set[str]]:
    """The text, the lines left out, and the page numbers among these."""
    if "\f" not in text:
        return text, [], set()
    pages = [page.split("\n") for page in text.split("\f")]
    margins = [_margin(page) for page in pages]
    heads = _repeated_heads(pages, margins)
    seen: set[HeadKey] = set()
    removed: list[str] = []
    numbers: set[str] = set()
    bodies = []
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        outer = _outermost(page, margin, heads, number)
        body: list[str] = []
        for i, line in enumerate(page):
            keys = heads.intersection(head_keys(line, number)) if i in outer else set()
            if not keys:
                body.append(line)
            elif any(map(is_page_number, keys)):
                removed.append(line.strip())
                numbers.add(line.strip())
            elif keys & seen:
                removed.append(line.strip())
            else:  # the first of its kind stays, as a paragraph of its own
                body += ["", line, ""]
            seen |= keys
        bodies.append(body)
    return _joined_pages(bodies), removed, numbers


def _repeated_heads(pages: list[list[str]], margins: list[set[int]]) -> set[HeadKey]:
    """Return the lines in the margins of enough pages."""
    filled = sum(bool(margin) for margin in margins)
    if filled < MIN_PAGES:
        return set()
    on_pages: Counter[HeadKey] = Counter()
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        on_pages.update({key for i in margin for key in head_keys(page[i], number)})
    return {key for key, count in on_pages.items() if count >= SHARE * filled}


def _margin(page: list[str]) -> set[int]:
    """Numbers of the first and last lines with text."""
    filled = [i for i, line in enumerate(page) if line.strip()]
    return {*filled[:MARGIN], *filled[-MARGIN:]}


def _outermost(
    page: list[str], margin: set[int], heads: set[HeadKey], number: int
) -> set[int]:
    """Lines that are heads with only heads outside them."""
    outer: set[int] = set()
    for lines in (sorted(margin), sorted(margin, reverse=True)):
        outer.update(
            takewhile(lambda i: heads.intersection(head_keys(page[i], number)), lines)
        )
    return outer


def _joined_pages(pages: list[list[str]]) -> str:
    """Pages in one text, unbroken where a paragraph plainly goes on."""
    parts: list[str] = []
    above = ""  # the page before, as it stands in `parts`
    for page in pages:
        body = "\n".join(page)
        if not body.strip():
            continue
        if above:
            parts.append("\n" if _goes_on(above, body) else "\n\n")
        parts.append(body.strip("\n"))
        above = body
    return "".join(parts)


def _goes_on(above: str, below: str) -> bool:
    """Return True if a page's last paragraph continues at the next page's top."""
    last, first = above.rstrip(), below.lstrip()
    if not first[0].islower() or last.rstrip(_CLOSING).endswith(_SENTENCE_ENDS):
        return False
    behind, before = above[len(last) :], below.removesuffix(first)
    return behind.count("\n") < 2 and before.count("\n") < 2


def _without_hyphens(text: str) -> tuple[str, list[str]]:
    """The text with words broken at line ends rejoined, and the guesses."""
    if not _HYPHEN_AT_END.search(text):
        return text, []
    hyphens = Hyphens.of(text.split("\n"))
    parts: list[str] = []
    position = 0
    for broken in _BROKEN.finditer(text):
        if broken.start() < position or not _may_rejoin(text, broken):
            continue
        first, hyphen, second = broken[1], broken[2], broken[3]
        soft = hyphen == "\u00ad"  # only ever stands for a break
        if not soft and hyphens.is_suspended(first, second):
            continue
        keeps = not soft and hyphens.keep(first, second)
        end = broken.end() + len(second)
        tail = _NO_SPACE.match(text, end)
        end = tail.end() if tail else end
        parts += [
            text[position : broken.start(2)],
            "-" if keeps else "",
            text[broken.end() : end],
        ]
        # The line ends behind the rejoined word instead.
        rest = _LINE_REST.match(text, end)
        position = rest.end() if rest else end
        if end < len(text):
            parts.append("\n")
    parts.append(text[position:])
    return "".join(parts), hyphens.guessed


def _may_rejoin(text: str, broken: re.Match[str]) -> bool:
    """Return True if the two sides of a hyphen may be one word."""
    if not broken[3][0].islower() or not _LETTERS.search(broken[1]):
        return False
    line = text[text.rfind("\n", 0, broken.start()) + 1 : broken.end(2)]
    return not _COLUMNS.search(line)  # else the next line goes on with another cell
