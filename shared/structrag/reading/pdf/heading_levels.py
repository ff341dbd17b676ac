"""Which blocks of a document are headings, and their levels: told by all of them together."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from structrag.reading.pdf.heading_styles import (
    Body,
    Look,
    Style,
    begins_title,
    heading_style,
    is_large,
    is_numbered,
    levels_of,
    style_of,
)
from structrag.reading.pdf.rows import Row
from structrag.reading.plain import plain_headings

_DATE = re.compile(
    r"(?:\d{1,2}(?:st|nd|rd|th|\.)?\s)?[^\W\d_]{3,12}\.?\s(?:\d{1,2}(?:st|nd|rd|th)?,?\s)?\d{4}"
)
_FAMILY = 3  # of one look: so many are no accident
_LONG = 60  # characters; a longer row or paragraph is text, no title
_ENDED_WORDS = 8  # of a title that ends as a sentence does
_LETTERS_APART = 400  # blocks between two letters of one index


class Block(NamedTuple):
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


def levels_of_blocks(blocks: Sequence[Block], body: Body) -> list[int]:
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


def _style(blocks: Sequence[Block], i: int, body: Body) -> Style | None:
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


def _is_in_table(block: Block) -> bool:
    """Whether a block is a table, or begins with a row of one."""
    return block.is_table or (bool(block.rows) and len(block.rows[0].cells) > 2)


def _beyond_named(
    blocks: Sequence[Block],
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


def _numbered(blocks: Sequence[Block], styles: Sequence[Style | None]) -> Iterator[int]:
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


def _index_letters(blocks: Sequence[Block], body: Body) -> Iterator[int]:
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
    blocks: Sequence[Block], styles: Sequence[Style | None], body: Body
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
    blocks: Sequence[Block], styles: Sequence[Style | None]
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
