"""Headings and blocks of plain text, by its layout and numbering.

Precision matters more than recall: a false heading splits a thought, a missed one leaves a longer
section. A heading is

1. a line underlined with `=` or `-`;
2. a number or a label with a title: `3.2 Results`, `IV. TERM`, `ARTICLE IV`, `第二章 总则`,
   `Exhibit B`; or the run-in title of a numbered clause, `7. Notices. All notices shall ...`: the
   heading is then `7. Notices. ` only;
3. a line in capitals, alone between blank lines and followed by text, or at the margin directly
   above indented text, as pages of a manual have it;
4. such a line in title case, and what stands behind all chapters (`References`);
5. a question alone on its line above its answer, where three or more such questions make the text.

Numbers must continue a sequence (3 after 2, 3.1 after 3) or start one (`sequences`), titles must
look like titles, and entries of a table of contents, running heads, list items, dates, sums and
signatures are left out.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

from structrag.reading.markdown_source import unify_line_ends
from structrag.reading.numbering import (
    MARK,
    Number,
    is_back_matter,
    is_labelled,
    is_marked,
    levels_of_numbers,
    read_number,
)
from structrag.reading.plain_titles import (
    AMOUNT,
    TITLE_LENGTH,
    is_amount,
    is_clean,
    is_loose_title,
    is_sentence_case,
    is_short_title,
    is_verbless,
    title_ends,
)
from structrag.reading.sequences import NumberedLine, in_sequence
from structrag.records import Block, Heading

# White space, and marks that nobody sees.
_EDGE = (
    "".join(filter(str.isspace, map(chr, range(0x3001))))
    + "\u200b\u200e\u200f\u2060\ufeff"
)
_NOTE = re.compile(
    r"[(（][^\W\d_A-Z][^()（）\n]{2,40}[)）]"
)  # (normative), of an annex
_UNDERLINE = re.compile(r"={3,}|-{3,}")
_NO_TITLE = re.compile(r"(?:`{3}|~{3}).*|\[.*\]")  # a fence, attributes of AsciiDoc
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?!\S)")
_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)])[ \t]+\S")
# Where line breaks were lost, a clause starts behind two spaces or more, or behind a sentence if
# its title is in capitals. (What begins with a class of characters is found several times faster.)
_GAP = re.compile(
    r"""[0-9٠-٩۰-۹०-९０-９AS§](?<=[ \t].)(?:(?<=[ \t]{2}(?=
        (?:(?:SECTION|Section|§)[ \t]*)?\d{1,2}\.(?:\d|[ \t](?!\s*(?:[\r\n]|\Z)))
        |(?:ARTICLE|Article)[ \t]+[IVX\d]).)
    |(?<=[.;:][ \t](?=\d{1,2}\.[ \t]*[A-Z]{3}).))""",
    re.VERBOSE,
)
_LONGEST_LINE = 10_000  # characters in which titles are looked for
_SENTENCE = re.compile(r"[a-z][\w,;'’]*\s+[a-z]\w*\s+\w")  # running text
_WIDE_SPACE = re.compile(r"[^\W_]\s{3,}\S|\|")  # of a table's row


class _Line(NamedTuple):
    start: int
    left: int  # of the text inside
    right: int
    end: int  # behind the line end
    blank: bool
    opens: bool  # text behind a blank line or a page break


_NO_NUMBER = Number("", "", ())


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What may be a heading, with what the later filters need."""

    title: str
    start: int
    end: int
    kind: str  # "outer", "number", "back", "capitals", "title" or "underlined"
    number: Number = _NO_NUMBER
    level: int = 1
    is_bare: bool = False  # a number without a title


def plain_headings(text: str, *, is_marked_up: bool = False) -> list[Heading]:
    """The headings of a plain text, in order. In a text that could mark its headings, lines in
    title case alone are none.

    A single one is none. A span covers whole lines, except for run-in titles, which end where the
    clause's text begins, and titles inside a line whose line breaks were lost. Levels: numbers by
    their components and by what opened their family (parts, chapters, articles, sections, Roman
    numbers, letters), never below another number's heading; one more inside an exhibit; capitals 1;
    title case below the last number, without numbers 2 where there are capitals, else 1; `=` 1 and
    `-` 2; References and their like 1. Levels that do not occur are closed up. Lines end at `\\n`,
    `\\r\\n` and `\\r` only.
    """
    candidates = _candidates(text, _lines(text, 0, len(text)))
    candidates = _without_repeats(candidates)
    candidates = _without_lists(text, candidates)
    candidates = _with_levels(candidates)
    weak = ("back", "title") if is_marked_up else ("back",)
    if sum(heading.kind not in weak for heading in candidates) < 2:
        return []
    used = sorted({heading.level for heading in candidates})
    return [
        Heading(
            used.index(heading.level) + 1, heading.title, heading.start, heading.end
        )
        for heading in candidates
    ]


def plain_blocks(text: str, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`: paragraphs and lists.

    Each ends with the blank lines behind it; those at the beginning belong to the first one. A
    paragraph that starts with `- `, `* ` or `1. ` and has more than one such line is a list; its
    items' starts after the first are the `cuts`. An empty range gives none.
    """
    return [_block(text, lines) for lines in _paragraphs(_lines(text, start, end))]


def _paragraphs(lines: list[_Line]) -> Iterator[list[_Line]]:
    group: list[_Line] = []
    has_text = False
    for line in lines:
        if has_text and group[-1].blank and not line.blank:
            yield group
            group = []
        group.append(line)
        has_text = has_text or not line.blank
    if group:
        yield group


def _block(text: str, lines: list[_Line]) -> Block:
    filled = [line for line in lines if not line.blank]
    items = [line.start for line in filled if _ITEM.match(text, line.left, line.right)]
    start, end = lines[0].start, lines[-1].end
    if len(items) > 1 and items[0] == filled[0].start:
        return Block("list", start, end, tuple(items[1:]))
    return Block("paragraph", start, end)


def _candidates(text: str, lines: list[_Line]) -> list[_Candidate]:
    """What looks like a heading by itself and by its number's sequence, in order."""
    found = []
    taken: set[int] = set()  # lines that are a heading already, or a part of one

    def add(i: int, kind: str, level: int = 1, last: int = 0) -> None:
        line, end = lines[i], lines[last or i].end
        title = _tidy(text[line.left : line.right])
        found.append(_Candidate(title, line.start, end, kind, level=level))
        taken.update((i, last or i))

    opening = [i for i, line in enumerate(lines) if line.opens]
    for i in opening:
        if level := _underlined(text, lines, i):
            add(i, "underlined", level, i + 1)
    for i in _with_indented_text(text, lines, opening):
        add(i, "capitals")
    gaps = _gaps(text, lines)
    numbered = [
        mark
        for i, line in enumerate(lines)
        if (i in gaps or MARK.match(text, line.left, line.right)) and i not in taken
        for mark in _marks(text, lines, i, gaps[i])
    ]
    for mark in in_sequence(numbered):
        heading = _numbered_heading(text, lines, mark)
        found.append(heading)
        i = mark.line
        while i < len(lines) and lines[i].start < heading.end:
            taken.add(i)
            i += 1
    for i in _questions(text, lines, opening):
        if i not in taken:
            add(i, "title")
    # What stands behind all chapters is no heading where there is no other.
    inside = (i for i, line in enumerate(lines) if found and not line.opens)
    for i in chain(opening, inside):
        if i not in taken and (kind := _bare_kind(text, lines, i)):
            add(i, kind)
    return sorted(found, key=lambda heading: heading.start)


def _tidy(title: str) -> str:
    """A title for people: runs of white space become one space."""
    return " ".join(title.split())


def _blank(lines: list[_Line], i: int) -> bool:
    """Whether line `i` is blank, or outside the text."""
    return not 0 <= i < len(lines) or lines[i].blank


def _next_filled(lines: list[_Line], start: int, end: int) -> int | None:
    """The first line in `[start, end)` that is not blank."""
    for i in range(start, min(end, len(lines))):
        if not lines[i].blank:
            return i
    return None


def _underlined(text: str, lines: list[_Line], i: int) -> int:
    """Rule 1: the level of an underlined line, else 0."""
    line = lines[i]
    if _blank(lines, i + 1) or not _blank(lines, i - 1):
        return 0
    title = text[line.left : line.right]
    below = lines[i + 1]
    if not _UNDERLINE.fullmatch(text, below.left, below.right):
        return 0
    if (
        not (is_short_title(title) or _RELEASE.match(title))
        or _NO_TITLE.fullmatch(title)
        or _WIDE_SPACE.search(title)
    ):
        return 0
    return 1 if text[below.left] == "=" else 2


def _with_indented_text(text: str, lines: list[_Line], opening: list[int]) -> list[int]:
    """Rule 3 without a blank line: at least three different titles in capitals at the margin, each
    directly above indented text, as pages of a manual have them."""
    titles: dict[int, str] = {}
    for i in opening:
        line = lines[i]
        if line.left > line.start or _blank(lines, i + 1):
            continue
        below = lines[i + 1]
        title = text[line.left : line.right]
        is_indented = below.left - below.start >= 3
        if is_indented and title.isupper() and is_clean(title) and title[-1].isalpha():
            titles[i] = title
    is_used = 3 <= len(titles) == len({*titles.values()})  # speakers speak again
    return list(titles) if is_used else []


def _questions(text: str, lines: list[_Line], paragraphs: list[int]) -> list[int]:
    """Rule 5: at least three questions alone on their lines, each above its answer, where at least
    every third paragraph from the first on is one."""
    found = [
        place for place, i in enumerate(paragraphs) if _is_question(text, lines, i)
    ]
    if len(found) < 3 or 3 * len(found) < len(paragraphs) - found[0]:
        return []
    if found[-1] + 1 == len(paragraphs) or any(b - a == 1 for a, b in pairwise(found)):
        return []
    return [paragraphs[place] for place in found]


def _is_question(text: str, lines: list[_Line], i: int) -> bool:
    line = lines[i]
    title = text[line.left : line.right]
    if title[-1] not in "?？؟" or len(title) > TITLE_LENGTH or not _blank(lines, i + 1):
        return False
    is_begun = title[0] in "¿«" or (title[0].isalpha() and not title[0].islower())
    return is_begun and ":" not in title


def _gaps(text: str, lines: list[_Line]) -> dict[int, list[int]]:
    """Where clauses start inside of lines, by line. A line longer than `_LONGEST_LINE` is a whole
    page, contents list and all, whose lines a loader has joined."""
    places: dict[int, list[int]] = defaultdict(list)
    starts = [line.start for line in lines]
    for match in _GAP.finditer(text):
        place = match.start()
        i = bisect(starts, place) - 1
        line = lines[i]
        if line.left < place and line.right - line.left <= _LONGEST_LINE:
            places[i].append(place)
    return places


def _marks(
    text: str, lines: list[_Line], i: int, gaps: list[int]
) -> Iterator[NumberedLine]:
    """Rule 2: the numbers and labels that may start a heading in line `i`."""
    line = lines[i]
    for start, stop in zip([line.left, *gaps], [*gaps, line.right], strict=True):
        first = start == line.left
        mark = MARK.match(text, start, stop)
        if not mark:
            continue
        is_free = not first or line.opens
        if not (is_free or is_labelled(mark)):
            continue
        number = read_number(mark)
        if not number.kind:
            continue
        right = start + len(text[start:stop].rstrip())
        begin = mark.end()
        alone = (
            first
            and right == line.right
            and _stands_alone(text, lines, i, begin < right)
        )
        ends = title_ends(text, mark, right, alone)
        loose = (
            (ends is None and first and is_free and begin < right == line.right)
            and _blank(lines, i + 1)
            and not is_amount(text, mark)
            and is_loose_title(text[begin:right])
        )
        yield NumberedLine(
            *(i, start, stop, right, mark, number, ends, loose),
            is_free=first and is_free and begin < right and is_marked(mark),
            is_verbless=loose and is_verbless(text[begin:right]),
        )


def _numbered_heading(
    text: str, lines: list[_Line], numbered: NumberedLine
) -> _Candidate:
    line, start = lines[numbered.line], numbered.start
    number, right = numbered.number, numbered.right
    first = start == line.left
    if numbered.ends is None and not numbered.is_loose:  # a number without a title
        title_end = end = numbered.mark.end()
        end = min(end, right)
    else:
        title_end, end = numbered.ends or (right, right)
        # With nothing behind it, it takes in the line end, or the space up to the next clause.
        if end == right:
            end = line.end if right == line.right else numbered.stop
    heading = _Candidate(
        _tidy(text[start:title_end]),
        line.start if first else start,
        end,
        "outer" if number.kind == "outer" else "number",
        number,
        is_bare=numbered.ends is None and not numbered.is_loose,
    )
    is_label = numbered.mark.end() >= right and bool(
        number.kind != "number" or is_labelled(numbered.mark)
    )
    if is_label:
        return _with_next_line(text, lines, numbered.line, heading)
    begin = numbered.mark.end()
    if heading.is_bare and numbered.is_free:
        title = _tidy(text[start:right])
        whole = replace(heading, title=title, end=line.end, is_bare=False)
        whole = _with_rest(text, lines, numbered.line, begin, whole)
        if whole.end > line.end and is_loose_title(_tidy(text[begin : whole.end])):
            return whole
    is_whole = heading.end == line.end and numbered.ends
    return (
        _with_rest(text, lines, numbered.line, begin, heading) if is_whole else heading
    )


def _with_rest(
    text: str, lines: list[_Line], first: int, begin: int, heading: _Candidate
) -> _Candidate:
    """The heading with the lines that go on with the title that begins in line `first`. They are
    alike in capitals, or begin where the title does, and a blank line follows."""
    above = lines[first]
    is_capital = text[begin : above.right].isupper()
    longer = heading
    for i in range(first + 1, min(first + 3, len(lines))):
        line = lines[i]
        title = text[line.left : line.right]
        hangs = line.left - line.start >= begin - above.start
        if not (hangs or is_capital) or title.isupper() != is_capital:
            break
        if MARK.match(title) or not is_clean(title):
            break
        title = f"{longer.title} {_tidy(title)}"
        longer = replace(longer, title=title, end=line.end)
        if _blank(lines, i + 1):
            return longer
    return heading


def _stands_alone(text: str, lines: list[_Line], i: int, has_title: bool) -> bool:
    """The next line is blank, or begins a sentence or a title without a number."""
    if _blank(lines, i + 1):
        return True
    following = lines[i + 1]
    if _NOTE.fullmatch(text, following.left, following.right):
        return True
    initial = text[following.left]
    begins = initial.isupper() or (initial.isalpha() and not has_title)
    return begins and not MARK.match(text, following.left, following.right)


def _bare_kind(text: str, lines: list[_Line], i: int) -> str:
    """The kind of a title by rules 3 and 4: "capitals", "title", "back" or "". A number makes it
    ""."""
    line = lines[i]
    title = text[line.left : line.right]
    is_back = is_back_matter(title) and len(title) <= TITLE_LENGTH
    is_alone = line.opens and _blank(lines, i + 1)
    if not (is_back or (is_alone and _is_bare_title(title))) or MARK.match(title):
        return ""
    following = _next_filled(lines, i + 1, len(lines))
    if following is None:
        return ""
    if is_back:
        return "back"
    left = lines[following].left
    stop = _paragraph_end(lines, following)
    is_long = stop - left > max(80, len(title))
    before_text = is_long and bool(_SENTENCE.search(text, left, min(stop, left + 400)))
    if not title.isupper():
        return "title" if before_text and "," not in title else ""
    # Capitals stand out more, so that a short sentence or a numbered clause below is enough.
    numbered = MARK.match(text, left, lines[following].right)
    return "capitals" if before_text or numbered or _is_prose(text[left:stop]) else ""


def _is_bare_title(title: str) -> bool:
    """A clean title without digits."""
    if title.endswith(".") or AMOUNT.match(title) or not is_clean(title):
        return False
    return not any(character.isdigit() or character == ":" for character in title)


def _paragraph_end(lines: list[_Line], first: int) -> int:
    """Where a paragraph ends. Without a blank line behind it, its first line counts."""
    for i in range(first + 1, len(lines)):
        if lines[i].blank:
            return lines[i - 1].right
    return lines[first].right


def _is_prose(block: str) -> bool:
    """Text that ends like a sentence: no form, list or signature."""
    return block[-1] in ".!?:;" and any(word.islower() for word in block.split())


def _with_next_line(
    text: str, lines: list[_Line], i: int, label: _Candidate
) -> _Candidate:
    """`ARTICLE IV` with the title on the next line, if any."""
    if not MARK.fullmatch(label.title):
        return label
    following = _next_filled(lines, i + 1, i + 4)
    if following is None:
        return label
    line = lines[following]
    title = text[line.left : line.right]
    if _NOTE.fullmatch(title):
        label = replace(label, title=f"{label.title} {title}", end=line.end)
        return _with_next_line(text, lines, following, label)
    whole = replace(label, title=f"{label.title} {_tidy(title)}", end=line.end)
    if not _blank(lines, following + 1):
        longer = _with_rest(text, lines, following, line.left, whole)
        return longer if longer is not whole and title.isupper() else label
    mark = MARK.match(title)
    if (mark and read_number(mark).kind) or title[-1] in ".,;:":
        return label
    if not is_clean(title) and not (
        is_sentence_case(title) and _is_above_text(text, lines, following + 1)
    ):
        return label
    return whole


def _is_above_text(text: str, lines: list[_Line], i: int) -> bool:
    """Whether a numbered line or a paragraph of text follows."""
    following = _next_filled(lines, i, len(lines))
    if following is None:
        return False
    line = lines[following]
    if MARK.match(text, line.left, line.right):
        return True
    return _is_prose(text[line.left : _paragraph_end(lines, following)])


def _without_repeats(candidates: list[_Candidate]) -> list[_Candidate]:
    """Without running heads, and without labels of exhibits after the first. Running heads are bare
    titles that occur three times or more."""
    times = Counter(
        heading.title.casefold() for heading in candidates if heading.kind != "number"
    )
    seen: set[str] = set()
    headings = []
    for heading in candidates:
        title = heading.title.casefold()
        is_running_head = times[title] > 2 and heading.kind in ("capitals", "title")
        is_repeated_label = heading.kind == "outer" and title in seen
        seen.add(title)
        if not is_running_head and not is_repeated_label:
            headings.append(heading)
    return headings


def _without_lists(text: str, candidates: list[_Candidate]) -> list[_Candidate]:
    """Without runs of three or more that have no text between them. Those are lists and tables of
    contents."""
    headings: list[_Candidate] = []
    run: list[_Candidate] = []
    for heading in candidates:
        if run and text[run[-1].end : heading.start].strip():
            headings += _unless_list(run)
            run = []
        run.append(heading)
    return headings + _unless_list(run)


def _unless_list(run: list[_Candidate]) -> list[_Candidate]:
    """The run, or nothing if three in a row could be siblings."""
    siblings = sum(
        above.kind == below.kind
        and above.number.family == below.number.family
        and len(below.number.value) <= len(above.number.value)
        for above, below in pairwise(run)
    )
    return run if siblings < 2 else []


def _with_levels(candidates: list[_Candidate]) -> list[_Candidate]:
    """The headings with levels by their kinds, as `plain_headings` tells. Numbers without a title
    are left out where their text stands under the right heading anyway."""
    has_capitals = any(heading.kind == "capitals" for heading in candidates)
    levels = levels_of_numbers([heading.number for heading in candidates])
    headings = []
    for i, heading in enumerate(candidates):
        _, family, value = heading.number
        level = heading.level
        is_outer = bool(levels.open) and levels.open[0].family == "outer"
        if heading.is_bare and levels.holds(family, value):
            continue
        if number := family and levels.place(family, value, i):
            level = number
        elif heading.kind == "title":
            # Below the last number; without one below capitals, where there are any.
            level = 1 + (levels.level or has_capitals)
        elif heading.kind != "underlined":
            is_outer &= heading.kind == "capitals"
            below = [each.number[1:] for each in candidates[i + 1 : i + 2]]
            restarts = levels.open and below == [("article", (1,))]
            del levels.open[is_outer:]
            level = 1 + is_outer
            if heading.kind == "back" and restarts:  # supplementary provisions
                levels.place("outer", (), i)
        headings.append(replace(heading, level=level))
    return headings


def _lines(text: str, start: int, end: int) -> list[_Line]:
    lines: list[_Line] = []
    for written in unify_line_ends(text[start:end]).split("\n"):
        stop = start + len(written)
        after = min(stop + 1, end)
        if start < after:
            line = written.lstrip(_EDGE)
            left = stop - len(line)
            right = left + len(line.rstrip(_EDGE))
            opens = left < stop and (
                not lines or lines[-1].blank or "\f" in text[start:left]
            )
            lines.append(_Line(start, left, right, after, not line, opens))
            start = after
    return lines
