"""Which paragraphs of a document are headings, and their levels."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from structrag.reading.numbering import MARK, read_number
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Row
from structrag.reading.plain import plain_headings
from structrag.reading.plain_titles import is_clean

_LARGER = 1.15  # times the size of the body's type, and a point more
_MOST_WORDS, _MOST_ROWS = 25, 8  # of a heading in larger type
_BOLD_WORDS, _BOLD_ROWS = 20, 3  # of one in bold type
_SAME_SIZE = 1.05  # sizes nearer than this are one
# A caption begins so; what it names is a table or picture, no section.
_CAPTION = re.compile(
    r"(?:table|tab|figure|fig|listing|exhibit|box|tabelle|abbildung|abb|tableau|tabla|tabela|figura"
    r"|illustration|scheme|plate|chart)\.?\s*(?:[a-z]?[-.]?\d|[ivx]+\b)[\w.-]*\W",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"[IVX]{1,5}\.\s+[^a-z]+$")
_LEADERS = re.compile(r"_{4}|\.{4}|(?:\.\s){4}|…{2}")


Look = tuple[float, bool, bool]  # size, bold, italic


class Style(NamedTuple):
    """What headings of one level share."""

    size: float
    bold: bool
    depth: int  # components of its number: 2 for 3.2; 0 without a number
    italic: bool = False
    run_in: bool = False  # text follows in its row

    @property
    def look(self) -> Look:
        return self.size, self.bold, self.italic

    @property
    def prominence(self) -> Look:
        """The greater, the more it stands out."""
        return self.size, self.bold, not self.italic


class Body(NamedTuple):
    """The type of most of the text."""

    size: float
    bold: bool
    italic: bool = False


def body_of(rows: Iterable[Row | Line]) -> Body:
    """The size and weight that most characters have. The size is rounded to half a point. Without
    text: 0 and not bold."""
    sizes: Counter[float] = Counter()
    bold = italic = total = 0
    for row in rows:
        length = len(row.text)
        sizes[_half(row.size)] += length
        total += length
        bold += row.bold * length
        italic += row.italic * length
    size = max(sizes, key=lambda size: (sizes[size], -size), default=0.0)
    return Body(size, 2 * bold > total, 2 * italic > total)


def _half(size: float) -> float:
    return round(2 * size) / 2


def heading_style(
    rows: Sequence[Row], text: str, body: Body, *, before_text: bool
) -> Style | None:
    """The style of a paragraph that is a heading, else None.

    It is one if its type is at least 15 % and a point larger than the body's and it has at most 25
    words and 8 rows; if it is all bold where the body is not, at most 20 words and 3 rows, not in
    brackets and without a sentence's end, or all slanted and `before_text`, which is that a
    paragraph follows; or if it is one row in the body's type with a number of two components or
    more or a label (Chapter, Article) and a clean title, or a clean title in capitals, and
    `before_text` or a Roman number.
    """
    if not _may_be_heading(rows[0], text):
        return None
    style = style_of(rows, text)
    if style.run_in:
        return style
    if is_large(style.size, body):
        is_heading = _fits_large_type(rows, text)
    elif style.size < 0.9 * body.size or len(text) > 150:
        is_heading = False
    elif style.bold and not body.bold and _fits_bold_type(rows, text):
        is_heading = True
    elif style.italic and not body.italic and _fits_bold_type(rows, text):
        is_heading = before_text and begins_title(text)
    else:
        is_heading = (before_text or _is_roman(text)) and _is_title_in_body_type(
            rows, text
        )
    return style if is_heading else None


def _may_be_heading(first: Row, text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    if (
        not first.upright
        or not letters
        or sum(map(str.isalnum, text)) < 2 + (letters < 2)
    ):
        return False
    is_other = has_leaders(text) or _CAPTION.match(f"{text} ")
    return not _has_columns(first) and not is_other


def style_of(rows: Sequence[Row], text: str) -> Style:
    size = max(row.size for row in rows)
    bold, italic = all(row.bold for row in rows), all(row.italic for row in rows)
    run_in = rows[0].lead == len(rows[0].text)
    return Style(_half(size), bold, _depth(text), italic, run_in)


def _fits_large_type(rows: Sequence[Row], text: str) -> bool:
    words = len(text.split())
    # A short heading may end with a full stop.
    ends = text[-1] in ",;:" or (text[-1] == "." and words > 12)
    return words <= _MOST_WORDS and len(rows) <= _MOST_ROWS and not ends


def _fits_bold_type(rows: Sequence[Row], text: str) -> bool:
    words = len(text.split())
    if text[0] in "([" and text[-1] in ")]":  # the unit of a table, a remark
        return False
    ends = text[-1] in (".,;" if _depth(text) > 1 else ".,;:")
    return words <= _BOLD_WORDS and len(rows) <= _BOLD_ROWS and not ends


def begins_title(text: str) -> bool:
    """Whether a letter of a title comes first, behind a number or none: no small one, no sign."""
    mark = MARK.match(text)
    title = text[mark.end() :] if mark else text
    return title[:1].isalpha() and not title[0].islower()


def _is_title_in_body_type(rows: Sequence[Row], text: str) -> bool:
    if _is_in_capitals(text):
        return len(rows) <= _BOLD_ROWS
    return len(rows) == 1 and _is_numbered_title(text)


def _is_roman(text: str) -> bool:
    """Whether a Roman number and a dot stand before capitals."""
    return bool(_ROMAN.match(text))


def has_leaders(text: str) -> bool:
    """Whether dots lead to a number, as in tables of contents."""
    return bool(_LEADERS.search(text))


def is_large(size: float, body: Body) -> bool:
    """Whether type of this size stands out from the body's."""
    return size >= _LARGER * body.size and size >= body.size + 1


def _has_columns(row: Row) -> bool:
    """Cells side by side. A number in the first does not count."""
    cells = row.cells[1:] if MARK.fullmatch(row.cells[0].text.strip()) else row.cells
    gaps = [b.left - a.right for a, b in pairwise(cells)]
    return bool(gaps) and max(gaps) > 2 * row.size


def _depth(text: str) -> int:
    """Components of the number a title begins with; 0 without one."""
    mark = MARK.match(text)
    if not mark or mark.end() == len(text):
        return 0
    kind, _, value = read_number(mark)
    return max(1, len(value)) if kind not in ("", "letter") else 0


def is_numbered(text: str) -> bool:
    """Whether a number or letter stands before a text."""
    mark = MARK.match(text)
    return mark is not None and mark.end() < len(text)


def _is_numbered_title(text: str) -> bool:
    """A label, or a number of several components, before a clean title."""
    mark = MARK.match(text)
    if not mark or not (mark["label"] or _depth(text) > 1):
        return False
    return is_clean(text[mark.end() :].rstrip("."))


def _is_in_capitals(text: str) -> bool:
    """A clean title in capitals. A single word of fewer than six letters may be a key word or an
    abbreviation."""
    mark = MARK.match(text)
    title = text[mark.end() :] if mark and mark.end() < len(text) else text
    return text.isupper() and is_clean(title) and (" " in title or len(title) >= 6)


def levels_of(styles: Sequence[Style]) -> list[int]:
    """Levels from 1 to 6, for each heading in order.

    Larger type comes first, then bold, then upright, then a row of its own, then fewer components
    of the number. Headings of one type without a number have the level of the least deep numbered
    ones of that type.
    """
    sizes = _representatives([style.size for style in styles])
    types = [
        (-sizes[style.size], not style.bold, style.italic, style.run_in)
        for style in styles
    ]
    shallowest: dict[tuple[float, bool, bool, bool], int] = {}
    for kind, style in zip(types, styles, strict=True):
        if style.depth:
            shallowest[kind] = min(shallowest.get(kind, style.depth), style.depth)
    keys = [
        (*kind, style.depth or shallowest.get(kind, 0))
        for kind, style in zip(types, styles, strict=True)
    ]
    ranks = {key: min(rank, 6) for rank, key in enumerate(sorted(set(keys)), start=1)}
    return [ranks[key] for key in keys]


def _representatives(sizes: Iterable[float]) -> dict[float, float]:
    """For each size the largest one that counts as the same."""
    largest: dict[float, float] = {}
    for size in sorted(set(sizes), reverse=True):
        near = (larger for larger in largest.values() if larger / size < _SAME_SIZE)
        largest[size] = next(near, size)
    return largest


_DATE = re.compile(
    r"(?:\d{1,2}(?:st|nd|rd|th|\.)?\s)?[^\W\d_]{3,12}\.?\s(?:\d{1,2}(?:st|nd|rd|th)?,?\s)?\d{4}"
)
_FAMILY = 3  # of one look: so many are no accident
_LONG = 60  # characters; a longer row or paragraph is text, no title
_ENDED_WORDS = 8  # of a title that ends as a sentence does
_LETTERS_APART = 400  # blocks between two letters of one index


class StyledBlock(NamedTuple):
    """What is told of a paragraph, a table, code or a named heading."""

    rows: tuple[Row, ...]  # none of a table
    title: str  # its text on one line, a number included
    is_text: bool = False  # a paragraph
    is_bullet: bool = False  # a paragraph behind a bullet
    is_table: bool = False
    named: int = 0  # the level that the file gives

    @property
    def style(self) -> Style:
        return style_of(self.rows, self.title)

    @property
    def is_row(self) -> bool:
        """Whether it is one upright row, and no item."""
        is_one = self.is_text and not self.is_bullet and len(self.rows) == 1
        return is_one and self.rows[0].upright


def levels_of_blocks(blocks: Sequence[StyledBlock], body: Body) -> list[int]:
    """The level of each block that is a heading, 0 of the others.

    What the file names is a heading. Where it names none, looks and numbers tell; but the lines
    between the title and the text of the first page, in type that stands nowhere else, are the
    author's and the like. Letters in the order of the alphabet, in type that stands out, head the
    parts of an index.
    """
    styles = [_style(blocks, i, body) for i in range(len(blocks))]
    named = [i for i, block in enumerate(blocks) if block.named]
    if named:
        return _beyond_named(blocks, styles, named, body)
    for i in [
        *_numbered(blocks, styles),
        *_index_letters(blocks, body),
        *_ended_titles(blocks, styles, body),
    ]:
        styles[i] = blocks[i].style
    for i in _lines_of_title_page(blocks, styles):
        styles[i] = None
    ranks = iter(levels_of([style for style in styles if style]))
    return [next(ranks) if style else 0 for style in styles]


def _style(blocks: Sequence[StyledBlock], i: int, body: Body) -> Style | None:
    block = blocks[i]
    if not block.is_text or block.is_bullet:
        return None
    following = blocks[i + 1] if i + 1 < len(blocks) else None
    if following and not is_large(block.style.size, body) and _is_in_table(following):
        return None
    before_text = following is not None
    if following and following.is_text and len(following.rows) == 1:
        # A short row alone is a title of another kind, or no text.
        row = following.rows[0]
        is_title = is_numbered(row.text) and (row.italic or row.bold)
        before_text = len(row.text) > _LONG or row.text[-1] in ".:" or is_title
    return heading_style(block.rows, block.title, body, before_text=before_text)


def _is_in_table(block: StyledBlock) -> bool:
    """Whether a block is a table, or begins with a row of one."""
    return block.is_table or (bool(block.rows) and len(block.rows[0].cells) > 2)


def _beyond_named(
    blocks: Sequence[StyledBlock],
    styles: Sequence[Style | None],
    named: Sequence[int],
    body: Body,
) -> list[int]:
    """Levels where the file names headings.

    What only looks like one is left out, unless it is clearly deeper than the named heading above
    it: by its number, or in lesser type that several have. In the type of named ones it is a
    heading where most of that type are not named: then the file names few. The largest type above
    the first named heading is the title, where it is larger than that of any named one.
    """
    levels = [block.named for block in blocks]
    looks: dict[Look, Counter[int]] = defaultdict(Counter)
    for i in named:
        looks[blocks[i].style.look][blocks[i].named] += 1
    below = max(levels) + 1
    others = {
        i: style
        for i, style in enumerate(styles)
        if style and (is_large(style.size, body) or style.bold > body.bold)
    }
    after = Counter(style.look for i, style in others.items() if i > named[0])
    for i, style in others.items():
        if i < named[0]:
            continue
        over = blocks[named[bisect_right(named, i) - 1]].style
        if style.look in looks:
            if style.look != body and after[style.look] > looks[style.look].total():
                levels[i] = looks[style.look].most_common(1)[0][0]
        elif style.prominence < over.prominence and (
            after[style.look] >= _FAMILY or style.depth > over.depth > 0
        ):
            levels[i] = below
    largest = max(size for size, *_ in looks)
    above = [i for i in others if i < named[0] and others[i].size > largest]
    if above:
        levels[max(above, key=lambda i: (others[i].size, -i))] = 1
    return levels


def _numbered(
    blocks: Sequence[StyledBlock], styles: Sequence[Style | None]
) -> Iterator[int]:
    """The rows in the body's type that are numbered titles of one family, as in plain text."""
    lines = [
        " ".join(block.title.split()) if block.is_text else "|" for block in blocks
    ]
    starts = list(accumulate((len(line) + 2 for line in lines), initial=0))
    for heading in plain_headings("\n\n".join(lines)):
        i = bisect_right(starts, heading.start) - 1
        block, line = blocks[i], lines[i]
        is_whole = heading.start == starts[i] and heading.end >= starts[i] + len(line)
        if (
            is_whole
            and styles[i] is None
            and block.is_row
            and is_numbered(line)
            and begins_title(line)
        ):
            yield i


def _index_letters(blocks: Sequence[StyledBlock], body: Body) -> Iterator[int]:
    """The capitals over the parts of an index: alone, in type that stands out, in the order of the
    alphabet, at least three of them."""
    families: dict[Look, list[int]] = defaultdict(list)
    for i, block in enumerate(blocks):
        if not block.is_row or len(block.title) > 1 or not block.title.isupper():
            continue
        row = block.rows[0]
        if row.bold > body.bold or is_large(row.size, body):
            families[block.style.look].append(i)
    for places in families.values():
        runs = [[places[0]]]
        for before, i in pairwise(places):
            in_order = blocks[before].title < blocks[i].title
            if in_order and i - before < _LETTERS_APART:
                runs[-1].append(i)
            else:
                runs.append([i])
        yield from (i for run in runs if len(run) >= _FAMILY for i in run)


def _ended_titles(
    blocks: Sequence[StyledBlock], styles: Sequence[Style | None], body: Body
) -> Iterator[int]:
    """Short bold rows that end with a stop, in the look of headings that end with none."""
    looks = Counter(style.look for style in styles if style and style.bold > body.bold)
    for i, block in enumerate(blocks):
        if (
            styles[i] is None
            and block.is_row
            and block.title[-1] == "."
            and len(block.title.split()) <= _ENDED_WORDS
            and looks[block.style.look] >= _FAMILY
            and begins_title(block.title)
        ):
            yield i


def _lines_of_title_page(
    blocks: Sequence[StyledBlock], styles: Sequence[Style | None]
) -> Iterator[int]:
    """What looks like a heading on the first page between the title and the text, and has a look
    that no later heading has: the author, the date, the place."""
    front: dict[int, Style] = {}
    first = next((block.rows[0].page for block in blocks if block.rows), 0)
    for i, (block, style) in enumerate(zip(blocks, styles, strict=True)):
        if block.rows and block.rows[0].page != first:
            break
        if style:
            front[i] = style
        elif len(block.title) > _LONG and len(block.rows) > 1:
            break
    if not front:
        return
    later = {style.look for style in styles[max(front) + 1 :] if style}
    title = max(front, key=lambda i: (front[i].size, -i))
    for i, style in front.items():
        is_date = _DATE.fullmatch(blocks[i].title) is not None
        has_text = style.bold and i + 1 < len(blocks) and not styles[i + 1]
        is_lesser = style.prominence < front[title].prominence and not style.depth
        is_alone = i > title and style.look not in later
        if i != title and (is_date or (is_alone and is_lesser and not has_text)):
            yield i
