"""What stands on a page and is no part of its text: running heads, page numbers, watermarks, and
the numbers of lines."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from structrag.reading.numbering import MARK, roman_value
from structrag.reading.pdf.pages import Line, Page

SHARE = 0.6  # of the pages
_MARGIN = 0.15  # of the page's height, at the top and at the bottom
_ROWS = 3  # outermost rows that can be heads
_NEXT_ROW = 2.2  # times the type's size: how near the next row of a table stands
_MOST_AROUND = 60  # lines around a row that are looked at
_DRIFT = 4.0  # points by which the place may differ from page to page
# Left or right pages that are enough to look at one side, or one part, alone.
_SIDE_PAGES = 3
_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?![\w]|[.,]\d)")
_ROMAN = re.compile(r"(?i)[\W_]*([ivxlc]{1,8})[\W_]*")

_PAGE_WORDS = frozenset(
    [
        "page",
        "pages",
        "p",
        "pp",
        "of",
        "seite",
        "von",
        "pagina",
        "página",
        "de",
        "di",
        "sur",
    ]
)
_LETTERS = re.compile(r"[^\W\d_]+")

# A line's text and None, or its text without one number and that number's lead over the page's.
HeadKey = tuple[str, int | None]


class _Repeat(NamedTuple):
    """Lines that are counted together."""

    key: HeadKey
    places: list[_Place]

    @property
    def pages(self) -> set[int]:
        return {i for i, _ in self.places}


_Place = tuple[int, int]  # page, line; both from 0


class Heads(NamedTuple):
    """Running heads, footers and page numbers of a document."""

    # For each page the numbers of its lines that are heads.
    removed: tuple[frozenset[int], ...]
    notes: tuple[str, ...]  # one sentence for each head


def find_running_heads(pages: Sequence[Page]) -> Heads:
    """The lines in the margins that most pages repeat.

    Most are at least 60 % of the pages with text, of two pages both. Repeated means the same text
    at the same height (within 4 points), or the same but for one number that counts with the pages,
    from whatever start: "Page 7 of 90", "- 7 -", "vii"; not "Chapter 7", and on three pages at
    least if there are other words than "page" and the like. Such words in larger type than the
    text's, or in bold right above text, are titles: "Lesson 7". With three left and three right
    pages or more, 60 % of one side are enough. The title of a chapter is a head too: the same text
    on three pages or more and on 60 % of those from its first to its last, or on two pages or more
    and always beside a page number that is a head. Only the outermost three rows within 15 % of the
    page's height count, outside tables, and turned text anywhere. When nothing would be left
    of the document, nothing is a head.
    """
    filled = [i for i, page in enumerate(pages) if page.lines]
    repeats = _repeats(pages, filled)
    size = body_size(pages)
    heads = [
        repeat
        for repeat in repeats
        if _is_head(repeat, filled) and not _is_title(pages, repeat, size)
    ]
    numbers: set[_Place] = set()
    for (_, lead), places in heads:
        if lead is not None:
            numbers.update(places)
    # Of page numbers, by page, ascending.
    bottoms: dict[int, list[float]] = defaultdict(list)
    for i, j in numbers:
        insort(bottoms[i], pages[i].lines[j].bottom)
    heads += [repeat for repeat in repeats if _stands_beside(pages, repeat, bottoms)]
    return _heads(pages, heads, len(filled))


def _repeats(pages: Sequence[Page], filled: Sequence[int]) -> list[_Repeat]:
    """The margins' lines by what they may repeat."""
    places: dict[HeadKey, list[_Place]] = defaultdict(list)
    for i in filled:
        for j in _margin_lines(pages[i]):
            for key in head_keys(pages[i].lines[j].text, i):
                places[key].append((i, j))
    together = [*places.items(), *_restarted(places)]
    return [_Repeat(key, _at_one_height(pages, group)) for key, group in together]


def _heads(pages: Sequence[Page], heads: Sequence[_Repeat], filled: int) -> Heads:
    """What is removed, and a note for each head. `filled` pages have text."""
    removed: list[set[int]] = [set() for _ in pages]
    notes: dict[str, None] = {}  # in order, once
    for repeat in heads:
        # A line may be counted twice, as it stands and without its number.
        if any(j not in removed[i] for i, j in repeat.places):
            i, j = repeat.places[0]
            notes[_note(pages[i].lines[j].text, repeat, filled)] = None
        for i, j in repeat.places:
            removed[i].add(j)
    if all(
        len(lines) == len(page.lines)
        for lines, page in zip(removed, pages, strict=True)
    ):
        return Heads((frozenset(),) * len(pages), ())
    return Heads(tuple(map(frozenset, removed)), tuple(notes))


def _is_head(repeat: _Repeat, filled: list[int]) -> bool:
    on_pages = repeat.pages
    if len(on_pages) < _least_pages(repeat.key):
        return False
    return _is_enough(on_pages, filled, same_text=repeat.key[1] is None)


def body_size(pages: Sequence[Page]) -> float:
    """The size of the type of most characters; 0 without text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size), default=0.0)


def _is_title(pages: Sequence[Page], repeat: _Repeat, body: float) -> bool:
    """Whether lines that differ in their number are titles: most are large, or bold above text."""
    if repeat.key[1] is None or is_page_number(repeat.key):
        return False
    lines = [(pages[i], pages[i].lines[j]) for i, j in repeat.places]
    titles = sum(
        line.size > 1.1 * body or (line.bold and _stands_above_text(page, line))
        for page, line in lines
    )
    return 2 * titles > len(lines)


def _stands_above_text(page: Page, line: Line) -> bool:
    below = (other.top - line.bottom for other in page.lines if other.top > line.top)
    return min(below, default=inf) < 1.5 * line.size


def _stands_beside(
    pages: Sequence[Page], repeat: _Repeat, numbers: Mapping[int, Sequence[float]]
) -> bool:
    """Whether a text always stands beside page numbers. One page is not enough."""
    if repeat.key[1] is not None or len(repeat.pages) < 2:
        return False
    return all(
        _is_beside(pages[i].lines[j], numbers.get(i, ())) for i, j in repeat.places
    )


def _is_beside(line: Line, bottoms: Sequence[float]) -> bool:
    nearest = bisect_left(bottoms, line.bottom - 2)
    return nearest < len(bottoms) and bottoms[nearest] <= line.bottom + 2


def _margin_lines(page: Page) -> Iterator[int]:
    """The lines that may be heads."""
    by_bottom = sorted(page.lines, key=_bottom)
    middles = sorted(_middle(line) for line in page.lines if line.upright)
    highest = _third_row(middles)
    lowest = -_third_row([-middle for middle in reversed(middles)])
    for j, line in enumerate(page.lines):
        if not line.upright:
            yield j
            continue
        middle = _middle(line)
        if middle <= _MARGIN * page.height:
            is_outermost = highest >= middle - 4  # fewer than three rows are above it
        else:
            is_outermost = (
                middle >= (1 - _MARGIN) * page.height and lowest <= middle + 4
            )
        if (
            is_outermost
            and not any(grid.cell(line) for grid in page.grids)
            and not _in_table(line, by_bottom)
        ):
            yield j


def _in_table(line: Line, by_bottom: Sequence[Line]) -> bool:
    """Whether a line's row has columns that go on in a row close above or below it."""
    reach = _NEXT_ROW * line.size
    first = bisect_left(by_bottom, line.bottom - reach, key=_bottom)
    last = bisect_left(by_bottom, line.bottom + reach, key=_bottom)
    around = by_bottom[first : min(last, first + _MOST_AROUND)]
    level = [other for other in around if abs(other.bottom - line.bottom) < 2]
    lefts = {
        round(other.left / _DRIFT)
        for other in around
        if abs(other.bottom - line.bottom) >= 2
    }
    aligned = sum(
        not lefts.isdisjoint({column - 1, column, column + 1})
        for column in (round(cell.left / _DRIFT) for cell in level)
    )
    return len(level) > 1 and aligned > 1


def _bottom(line: Line) -> float:
    return line.bottom


def _third_row(middles: Sequence[float]) -> float:
    """Where the third row begins, of ascending middles; infinite without one."""
    rows: set[int] = set()
    for middle in middles:
        rows.add(round(middle / 4))
        if len(rows) == _ROWS:
            return middle
    return inf


def _middle(line: Line) -> float:
    return (line.top + line.bottom) / 2


def head_keys(line: str, page: int) -> Iterator[HeadKey]:
    """Under which a line on a page, numbered from 0, is counted.

    That is its text, and its text without one number, with that number's lead. The title of a
    numbered part, such as "Chapter 3", is counted as it stands only. A blank line has no key.
    """
    text = " ".join(line.casefold().split())
    if not text:
        return
    yield text, None
    mark = MARK.match(" ".join(line.split()))
    if not (mark and mark["label"]):
        for number in _NUMBER.finditer(text):
            yield (
                f"{text[: number.start()]}\0{text[number.end() :]}",
                int(number[0]) - page,
            )
    if roman := _ROMAN.fullmatch(text):
        lead = roman_value(roman[1]) - page
        yield f"{text[: roman.start(1)]}\0{text[roman.end(1) :]}", lead


def is_page_number(key: HeadKey) -> bool:
    """Whether a key is that of a page number. Its number counts with the pages. It has no words but
    "page" and the like."""
    text, lead = key
    return lead is not None and _PAGE_WORDS.issuperset(_LETTERS.findall(text))


def _restarted(
    by_key: dict[HeadKey, list[_Place]],
) -> Iterator[tuple[HeadKey, list[_Place]]]:
    """Page numbers that start anew, after a preface for example, taken together."""
    together: dict[str, list[_Place]] = defaultdict(list)
    for (text, lead), places in by_key.items():
        if lead is not None and len(places) > 1:
            together[text] += places
    for text, places in together.items():
        yield (text, 0), sorted(set(places))


def _at_one_height(pages: Sequence[Page], places: list[_Place]) -> list[_Place]:
    tops = {(i, j): pages[i].lines[j].top for i, j in places}
    usual = median(tops.values())
    return [place for place in places if abs(tops[place] - usual) <= _DRIFT]


def _least_pages(key: HeadKey) -> int:
    return 2 if key[1] is None or is_page_number(key) else 3


def _is_enough(on_pages: set[int], filled: list[int], *, same_text: bool) -> bool:
    if len(on_pages) >= SHARE * len(filled):
        return True
    if same_text and _is_enough_of_a_part(on_pages, filled):
        return True
    sides = {i % 2 for i in on_pages}
    if len(sides) > 1:
        return False
    side = [i for i in filled if i % 2 in sides]
    return len(side) >= _SIDE_PAGES and len(on_pages) >= SHARE * len(side)


def _is_enough_of_a_part(on_pages: set[int], filled: list[int]) -> bool:
    """At least 60 % of the pages from first to last. Where all are left or right pages, only those
    count."""
    first, last = min(on_pages), max(on_pages)
    part = [i for i in filled if first <= i <= last]
    if len({i % 2 for i in on_pages}) == 1:
        part = [i for i in part if i % 2 == first % 2]
    return len(on_pages) >= _SIDE_PAGES and len(on_pages) >= SHARE * len(part)


def _note(shown: str, repeat: _Repeat, filled: int) -> str:
    shown = " ".join(shown.split())
    text, lead = repeat.key
    count = len(repeat.pages)
    if lead is None:
        return f"The running head {shown!r} was left out on {count} of {filled} pages."
    bare = not any(character.isalpha() for character in text)
    kind = "Page numbers" if bare else "Running heads with the page's number"
    return f"{kind} such as {shown!r} were left out on {count} of {filled} pages."


_LARGE = 1.4  # times the size of the text's type
_SAME_PLACE = 4.0  # points
_LEAST_NUMBERS = 5  # on a page, of its lines
_STEPS = (1, 5, 10)  # from one numbered line to the next
_MANY = 20  # numbers on a page that may stand beside two columns
_MOST_BESIDE = 30  # lines that are looked at beside a number
_WATERMARK = re.compile(
    r"confidential|draft|copy|sample|specimen|void|internal(?: use only)?|preliminary|top secret"
    r"|(?:strictly|company) confidential|not for distribution|do not (?:copy|distribute)"
    r"|entwurf|vertraulich|muster|kopie|confidentiel|brouillon|copie|projet|confidencial|borrador"
    r"|copia|rascunho|bozza|riservato|concept|vertrouwelijk|черновик|копия|草稿|机密|样本|社外秘|見本",
    re.IGNORECASE,
)
_CENTRE = (
    0.12  # of the page's sides: a light word so near the middle needs no second page
)


def find_page_marks(pages: Sequence[Page]) -> Heads:
    """The watermarks and line numbers of pages, as numbers of their lines, and a note for each.

    A watermark is large type: light or see-through, where other text runs across it, it stands in
    the middle of the page, is what watermarks say, or two pages have it at the same place; in any
    colour where two of these are so.
    Line numbers are digits at one margin that count the rows beside them, by 1, 5 or 10, most of
    which are running text.
    """
    watermarks = list(_watermarks(pages))
    numbers = [(i, set(_line_numbers(page))) for i, page in enumerate(pages)]
    removed: list[set[int]] = [found for _, found in numbers]
    for i, j in watermarks:
        removed[i].add(j)
    notes = [
        f"The watermark {text!r} was left out on {count} of {len(pages)} pages."
        for text, count in Counter(
            " ".join(pages[i].lines[j].text.split()) for i, j in watermarks
        ).items()
    ]
    if numbered := sum(1 for _, found in numbers if found):
        notes.append(f"Line numbers were left out on {numbered} of {len(pages)} pages.")
    return Heads(tuple(map(frozenset, removed)), tuple(notes))


def _watermarks(pages: Sequence[Page]) -> Iterator[tuple[int, int]]:
    """Page and line of each watermark."""
    least = _LARGE * body_size(pages)
    large: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, page in enumerate(pages):
        for j, line in enumerate(page.lines):
            if line.size >= least:
                large[" ".join(line.text.split())].append((i, j))
    for places in large.values():
        lines = [pages[i].lines[j] for i, j in places]
        repeated = len({i for i, _ in places}) > 1 and all(
            abs(line.left - lines[0].left) + abs(line.top - lines[0].top) < _SAME_PLACE
            for line in lines
        )
        for (i, j), line in zip(places, lines, strict=True):
            crossed = any(_run_across(line, other) for other in pages[i].lines)
            named = bool(_WATERMARK.fullmatch(line.text.strip(" *-!")))
            signs = crossed + repeated + line.faint + named
            if signs > 1 or (line.faint and _is_amid(line, pages[i])):
                yield i, j


def _is_amid(line: Line, page: Page) -> bool:
    across = abs((line.left + line.right) / 2 - page.width / 2)
    down = abs(line.middle - page.height / 2)
    return across < _CENTRE * page.width and down < _CENTRE * page.height


def _run_across(mark: Line, other: Line) -> bool:
    """Whether another line's text lies over a mark."""
    if other is mark or other.size >= mark.size:
        return False
    beside = min(mark.right, other.right) - max(mark.left, other.left)
    level = min(mark.bottom, other.bottom) - max(mark.top, other.top)
    return beside > other.size and level > 0.3 * other.size


def _line_numbers(page: Page) -> Iterator[int]:
    """The lines of a page that are the numbers of its lines."""
    numbers = [
        j
        for j, line in enumerate(page.lines)
        if line.upright
        and line.text.strip().isdecimal()
        and len(line.text.strip()) <= 4
    ]
    others = [
        line
        for line in page.lines
        if line.upright and not line.text.strip().isdecimal()
    ]
    if len(numbers) < _LEAST_NUMBERS or not others:
        return
    left, right = min(line.left for line in others), max(line.right for line in others)
    for at_left in (True, False):
        column = [
            j
            for j in numbers
            if (
                page.lines[j].right <= left + 1
                if at_left
                else page.lines[j].left >= right - 1
            )
        ]
        column.sort(key=lambda j: page.lines[j].top)
        if _counts_rows([page.lines[j] for j in column], others, right - left):
            yield from column


def _counts_rows(column: Sequence[Line], others: Sequence[Line], width: float) -> bool:
    """Whether a column of digits numbers the rows of a running text, not those of a table."""
    if len(column) < _LEAST_NUMBERS:
        return False
    values = [int(line.text) for line in column]
    steps = {b - a for a, b in pairwise(values)}
    if len(steps) != 1 or not steps <= set(_STEPS):
        return False
    by_steps = max(steps) > 1 or len(column) >= _MANY  # not those of a table's rows
    ordered = sorted(others, key=_bottom)
    running = 0
    for line in column:
        near = bisect_left(ordered, line.bottom - line.size, key=_bottom)
        row = [
            other
            for other in ordered[near : near + _MOST_BESIDE]
            if abs(other.bottom - line.bottom) < 0.5 * other.size
        ]
        widths = [other.right - other.left for other in row]
        running += len(row) == 1 and widths[0] > 0.5 * width
        running += len(row) == 2 and by_steps and min(widths) > 0.35 * width
    first, last = column[0].top - column[0].size, column[-1].bottom + column[-1].size
    rows = {round(other.bottom / 3) for other in others if first < other.bottom < last}
    counted = values[-1] - values[0] + 1
    return 2 * running >= len(column) and 0.8 * counted <= len(rows) <= 1.3 * counted
