"""Headings and blocks of plain text, where layout and numbering are all there is.

Precision matters more than recall: a false heading splits a thought, a missed one leaves a longer
section. A heading is

- a line underlined with `=` or `-`;
- a number or a label with a title: `3.2 Results`, `IV. TERM`, `ARTICLE IV`, `Section 5. Notices.`,
  `Exhibit B`;
- the run-in title of a numbered clause, `7. Notices. All notices shall ...`: the heading is then
  `7. Notices. ` only;
- a line in capitals, or in title case, alone between blank lines and followed by text.

Numbers must continue a sequence (3 after 2, 3.1 after 3) or start one, titles must look like
titles, and entries of a table of contents, running heads, list items, dates, sums and signatures
are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from structrag.reading.plain_titles import (
    MARK,
    TITLE_LENGTH,
    TITLE_WORDS,
    continues,
    is_clean,
    read_number,
    title_ends,
)
from structrag.records import Block, Heading

_EOL = re.compile(r"\r\n|\r|\n")
_UNDERLINE = re.compile(r"={3,}|-{3,}")
_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)])[ \t]+\S")
# Where line breaks were lost, a clause starts behind two spaces or more, or behind a sentence if
# its title is in capitals.
_GAP = re.compile(
    r"""(?<=\S)[ \t]{2,}(?=(?:(?:SECTION|Section|§)[ \t]*)?\d{1,2}\.[\d \t]|(?:ARTICLE|Article)[ \t]+[IVX\d])
    |(?<=[.;:])[ \t](?=\d{1,2}\.[ \t]*[A-Z]{3})""",
    re.VERBOSE,
)
_SENTENCE = re.compile(r"[a-z][\w,;'’]*\s+[a-z]\w*\s+\w")  # running text


class _Line(NamedTuple):
    start: int
    left: int  # of the text inside
    right: int
    end: int  # behind the line end


@dataclass(frozen=True, slots=True)
class _Found:
    """A heading that may be one: what the later filters need to know."""

    title: str
    start: int
    end: int
    kind: str  # "upper", "outer", "number", "capitals", "title" or "underlined"
    number: tuple[int, ...] = ()
    level: int = 1


def plain_headings(text: str) -> list[Heading]:
    """The headings of a plain text, in order; none when fewer than two are found.

    A span covers whole lines, except for run-in titles, which end where the clause's text begins,
    and titles inside a line whose line breaks were lost. Levels: articles, chapters, parts and
    Roman numbers 1; numbers one for each component (one more below articles, and inside an exhibit
    or schedule); capitals 1; title case below the last number, without numbers 2 where there are
    capitals, else 1; `=` 1 and `-` 2. Levels that do not occur are closed up. Lines end at `\\n`,
    `\\r\\n` and `\\r` only.
    """
    lines = _lines(text, 0, len(text))
    found = _without_repeats(list(_candidates(text, lines)))
    found = _without_lists(text, found)
    found = _with_levels(found)
    if len(found) < 2:
        return []
    levels = {level: rank for rank, level in enumerate(sorted({f.level for f in found}), start=1)}
    return [Heading(levels[f.level], f.title, f.start, f.end) for f in found]


def plain_blocks(text: str, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`: paragraphs and lists, each with the blank lines
    behind it.

    A paragraph that starts with `- `, `* ` or `1. ` and has more than one such line is a list, its
    items' starts after the first are the `cuts`. Blank lines at the beginning belong to the first
    block; an empty range gives none.
    """
    blocks: list[Block] = []
    group: list[_Line] = []
    groups: list[list[_Line]] = []
    for line in _lines(text, start, end):
        blank = line.left == line.right
        if (
            group
            and not blank
            and group[-1].left == group[-1].right
            and any(old.left < old.right for old in group)
        ):
            groups.append(group)
            group = []
        group.append(line)
    groups.append(group)
    for group in groups:
        if group:
            filled = [line for line in group if line.left < line.right]
            items = [line.start for line in filled if _ITEM.match(text, line.left, line.right)]
            is_list = len(items) > 1 and items[0] == filled[0].start
            cuts = tuple(items[1:]) if is_list else ()
            blocks.append(
                Block("list" if is_list else "paragraph", group[0].start, group[-1].end, cuts)
            )
    return blocks


def _candidates(text: str, lines: list[_Line]) -> Iterator[_Found]:
    """Everything that looks like a heading by itself and by its number's place in a sequence."""
    sequences: dict[str, list[tuple[int, ...]]] = {}
    busy = 0  # lines before this one are part of an earlier heading
    for i, line in enumerate(lines):
        if line.left == line.right or i < busy:
            continue
        if _underlined(text, lines, i):
            level = 1 if text[lines[i + 1].left] == "=" else 2
            yield _Found(
                _tidy(text[line.left : line.right]),
                line.start,
                lines[i + 1].end,
                "underlined",
                level=level,
            )
            busy = i + 2
            continue
        numbered = list(_numbered(text, lines, i, sequences))
        if len(numbered) == 1 and numbered[0].end == line.end and numbered[0].kind != "number":
            whole = _with_next_line(text, lines, i, numbered[0])
            busy = (
                i + 1
                if whole is numbered[0]
                else bisect_right(lines, whole.end - 1, key=lambda other: other.start)
            )
            yield whole
        elif numbered:
            yield from numbered
        elif not MARK.match(text, line.left, line.right):
            kind = _bare_kind(text, lines, i)
            if kind:
                yield _Found(_tidy(text[line.left : line.right]), line.start, line.end, kind)


def _tidy(title: str) -> str:
    """A title for people: runs of white space become one space."""
    return " ".join(title.split())


def _blank(lines: list[_Line], i: int) -> bool:
    return not 0 <= i < len(lines) or lines[i].left == lines[i].right


def _underlined(text: str, lines: list[_Line], i: int) -> bool:
    """Rule 1: a short line under a blank one, over a line of = or -."""
    line = lines[i]
    if not _blank(lines, i - 1) or _blank(lines, i + 1) or line.right - line.left > TITLE_LENGTH:
        return False
    title = text[line.left : line.right]
    ruled = _UNDERLINE.fullmatch(text, lines[i + 1].left, lines[i + 1].right)
    fits = (
        len(title.split()) <= TITLE_WORDS
        and title[-1] not in ".,;:"
        and not re.search(r"[^\W_]\s{3,}\S|\|", title)
    )
    return bool(ruled) and fits and any(map(str.isalpha, title))


def _numbered(
    text: str, lines: list[_Line], i: int, sequences: dict[str, list[tuple[int, ...]]]
) -> Iterator[_Found]:
    """Rule 2: the numbered and labelled titles that start in line `i`."""
    line = lines[i]
    starts = [line.left, *(match.end() for match in _GAP.finditer(text, line.left, line.right))]
    for start, stop in zip(starts, [*starts[1:], line.right], strict=True):
        mark = MARK.match(text, start, stop)
        first = start == line.left
        page_break = "\f" in text[line.start : line.left]
        if not mark or (
            first and not mark["label"] and not page_break and not _blank(lines, i - 1)
        ):
            continue
        kind, family, number = read_number(mark)
        if not kind or (
            kind != "outer" and not continues(sequences.setdefault(family, []), number)
        ):
            continue
        right = start + len(text[start:stop].rstrip())
        alone = first and right == line.right and _stands_alone(text, lines, i)
        title_end, end = title_ends(text, mark, right, alone)
        if title_end:
            last = lines[i].end if end == line.right else (stop if end == right else end)
            yield _Found(
                _tidy(text[start:title_end]), line.start if first else start, last, kind, number
            )


def _stands_alone(text: str, lines: list[_Line], i: int) -> bool:
    """The next line is blank, or neither continues this one nor is another item."""
    if _blank(lines, i + 1):
        return True
    following = lines[i + 1]
    return text[following.left].isupper() and not MARK.match(text, following.left, following.right)


def _bare_kind(text: str, lines: list[_Line], i: int) -> str:
    """Rules 3 and 4, for a line without a number: "capitals", "title" or "" """
    line = lines[i]
    page_break = "\f" in text[line.start : line.left]
    if (
        line.right - line.left > TITLE_LENGTH
        or not (_blank(lines, i - 1) or page_break)
        or not _blank(lines, i + 1)
    ):
        return ""
    title = text[line.left : line.right]
    if title[-1] in ".,;:" or not is_clean(title) or any(c.isdigit() or c == ":" for c in title):
        return ""
    following = next((k for k in range(i + 1, len(lines)) if not _blank(lines, k)), None)
    if following is None:
        return ""
    after = lines[following]
    stop = next(
        (lines[k - 1].right for k in range(following + 1, len(lines)) if _blank(lines, k)),
        after.right,
    )
    long_text = stop - after.left > max(80, len(title)) and bool(
        _SENTENCE.search(text, after.left, min(stop, after.left + 400))
    )
    if title.isupper():
        texts = (
            long_text
            or MARK.match(text, after.left, after.right)
            or _is_prose(text[after.left : stop])
        )
        return "capitals" if texts else ""
    return "title" if long_text and "," not in title else ""


def _is_prose(block: str) -> bool:
    """Text that ends like a sentence and has a word in small letters: no form, list of parties or
    signature."""
    return block[-1] in ".!?:;" and any(word.islower() for word in block.split())


def _with_next_line(text: str, lines: list[_Line], i: int, label: _Found) -> _Found:
    """`ARTICLE IV` with the title that stands on the next line, if one does."""
    if not MARK.fullmatch(label.title):
        return label
    following = next(
        (k for k in range(i + 1, min(i + 4, len(lines))) if not _blank(lines, k)), None
    )
    if following is None:
        return label
    line = lines[following]
    title = text[line.left : line.right]
    if (
        not _blank(lines, following + 1)
        or MARK.match(title)
        or title[-1] in ".,;:"
        or not is_clean(title)
    ):
        return label
    return replace(label, title=f"{label.title} {_tidy(title)}", end=line.end)


def _without_repeats(found: list[_Found]) -> list[_Found]:
    """Without running heads: bare titles that occur three times or more, and labels of exhibits
    after the first."""
    times = Counter(f.title.casefold() for f in found if f.kind != "number")
    seen: set[str] = set()
    kept = []
    for f in found:
        title = f.title.casefold()
        running = times[title] > 2 and f.kind in ("capitals", "title")
        again = f.kind == "outer" and title in seen
        seen.add(title)
        if not running and not again:
            kept.append(f)
    return kept


def _without_lists(text: str, found: list[_Found]) -> list[_Found]:
    """Without runs of three or more that have no text between them: lists, tables of contents."""
    kept: list[_Found] = []
    run: list[_Found] = []
    for f in [*found, None]:
        if run and (f is None or text[run[-1].end : f.start].strip()):
            siblings = sum(
                len(b.number) <= len(a.number) and a.kind == b.kind for a, b in pairwise(run)
            )
            kept.extend(run if siblings < 2 else [])
            run = []
        if f:
            run.append(f)
    return kept


def _with_levels(found: list[_Found]) -> list[_Found]:
    kinds = Counter(f.kind for f in found)
    below = kinds["upper"] > 1 and any(f.kind == "number" and len(f.number) == 1 for f in found)
    inside = numbered = 0  # whether an exhibit is open; level of the last number
    result = []
    for f in found:
        level = f.level
        if f.kind == "outer":
            inside, numbered = 1, 0
        elif f.kind == "upper":
            level = numbered = 1 + inside
        elif f.kind == "number":
            level = numbered = len(f.number) + inside + below
        elif f.kind == "title":
            level = numbered + 1 if numbered else 1 + bool(kinds["capitals"])
        elif f.kind == "capitals":
            level, numbered = 1 + inside, 0
        result.append(replace(f, level=level))
    return result


def _lines(text: str, start: int, end: int) -> list[_Line]:
    lines = []
    while start < end:
        match = _EOL.search(text, start, end)
        stop, after = match.span() if match else (end, end)
        line = text[start:stop]
        left = start + len(line) - len(line.lstrip())
        lines.append(_Line(start, left, max(left, start + len(line.rstrip())), after))
        start = after
    return lines
