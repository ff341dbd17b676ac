"""Atoms: the sentences, rows and headings of a document, in reading order.

Together they contain all text of the blocks of `parse(document)` and all headings, except blank
runs. Parts of tables and lists have the context that they cannot be read without: header, caption,
and the sentence before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from structrag.chunks.divisions import excluded_sections
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Block
from structrag.text.arrays import Int32Array
from structrag.text.sentences import safe_cuts, sentence_spans
from structrag.text.tokens import count_tokens
from structrag.text.turns import turn_starts

Span = tuple[int, int]

COLUMNS = ("starts", "ends", "tokens", "blocks", "sections", "block_tokens")
PIECE = 200  # estimated tokens that an encoder is given at once; no atom has more
LONGEST = 650  # characters: longer atoms are cut near ten thirteenths of them
_BEST_CUTS = tuple(map(re.compile, (r"[;:\n]", r"[,|]", r"\s")))  # behind one of these
CONVERSATION = 2_400  # characters of a paragraph above which turns are looked for
# Kinds that are cut at their rows or lines. Those shorter than so many characters join the next.
_SHORT_ROWS = {"table": 20, "code": 80, "math": 80, "html": 80}
# A number or letter before what it numbers, "Yes." and "No.": they join the next sentence.
_SHORT_SENTENCE = re.compile(r"\W*[A-Za-z0-9]{1,4}\W*")


def find_atoms(outline: Outline, read_options: ReadOptions) -> dict[str, Int32Array]:
    """Find the atoms of a document in reading order: `COLUMNS` of `AtomArrays`, a row an atom.

    Sections of `read_options.exclude_titles` are left out.

    A heading is one atom. Prose is cut at sentences, items of lists first; tables, code, formulas
    and markup at their rows or lines, of which short ones join the next. Units above 650 characters
    are cut near 500, those above 200 tokens below that.
    """
    text, counter = outline.document.text, read_options.counter
    excluded = excluded_sections(outline, read_options.exclude_titles)
    answers: list[AnswerPart] = []
    for section in outline.sections:
        if section.ordinal in excluded:
            continue

        def atoms(spans: Iterable[Span], of: int = section.ordinal) -> list[Atom]:
            return [
                (start, end, max(1, counter(text[start:end])), of)
                for start, end in spans
                if text[start:end].strip()
            ]

        heading = atoms([(section.start, section.body_start)])
        if heading and section.ordinal:
            answers.append(AnswerPart(tuple(heading), "other"))
        parts: list[AnswerPart] = []
        for block in outline.blocks(section):
            parts += parts_of(text, block, atoms(_cut(text, block, read_options)))
        answers += whole_answers(text, parts)
    rows = [
        (*atom[:3], number, atom[3], size)
        for number, answer in enumerate(answers)
        for size in (answer.size,)
        for atom in answer.atoms
    ]
    columns = np.array(rows, dtype=np.int32).reshape(-1, len(COLUMNS)).T
    return dict(zip(COLUMNS, map(np.ascontiguousarray, columns), strict=True))


def _cut(text: str, block: Block, read_options: ReadOptions) -> Iterator[Span]:
    """The spans that a block is cut into; they tile it."""
    if block.kind in _SHORT_ROWS:
        least, lines = _SHORT_ROWS[block.kind], _at_cuts(block)
        spans = [
            span
            for of_item in _by_item(lines, _runs(text, block))
            for span in _joined(of_item, lambda start, end: end - start < least)
        ]
    else:
        items = _at_cuts(block) if block.kind == "list" else _runs(text, block)
        spans = []
        for start, end in items:
            sentences = sentence_spans(
                text,
                start,
                end,
                language=read_options.language,
                splitter=read_options.sentence_splitter,
            )
            spans += _joined(
                sentences,
                lambda start, end: _SHORT_SENTENCE.fullmatch(text, start, end),
            )
    for start, end in spans:
        yield from _short_enough(text, start, end)


def _runs(text: str, block: Block) -> list[Span]:
    """The parts of a block that stay apart: the items of a list and of code, where what stands
    deeper comes with what it belongs to, and the turns of a long conversation."""
    if block.kind in ("list", "code"):
        return _items(text, block)
    starts = []
    if block.kind == "paragraph" and block.end - block.start > CONVERSATION:
        starts = turn_starts(text, block.start, block.end)
    return list(pairwise(dict.fromkeys([block.start, *starts, block.end])))


def _by_item(spans: Sequence[Any], items: Iterable[Span]) -> Iterator[Sequence[Any]]:
    """Spans, or rows that begin with one, by the item in which they begin."""
    first = 0
    for _, stop in items:
        last = bisect_left(spans, stop, first, key=itemgetter(0))
        yield spans[first:last]
        first = last


def _at_cuts(block: Block) -> list[Span]:
    return list(pairwise([block.start, *inner_cuts(block), block.end]))


def _joined(
    spans: Sequence[Span], is_short: Callable[[int, int], object]
) -> list[Span]:
    """The spans, short ones joined to the next one."""
    joined: list[Span] = []
    open_start: int | None = None
    for start, end in spans:
        open_start = start if open_start is None else open_start
        if not is_short(open_start, end):
            joined.append((open_start, end))
            open_start = None
    if open_start is not None:
        joined.append((open_start, spans[-1][1]))
    return joined


def _short_enough(text: str, start: int, end: int) -> Iterator[Span]:
    """The span in parts of at most 650 characters and 200 tokens."""
    while (longest := _longest(text, start, end)) < end - start:
        middle = _cut_near(text, start, longest)
        yield start, middle
        start = middle
    yield start, end


def _longest(text: str, start: int, end: int) -> int:
    """How many characters at the start of a span may be one atom."""
    longest = min(end - start, LONGEST)
    if longest > PIECE:  # most tokens have more than one character
        while (tokens := count_tokens(text[start : start + longest])) > PIECE:
            longest = max(1, int(longest * PIECE / tokens) - 1)
    return longest


def _cut_near(text: str, start: int, longest: int) -> int:
    """The cut of a long span: the best mark near ten thirteenths of `longest` characters."""
    near = start + longest * 10 // 13
    low, high = start + longest * 7 // 13, start + longest
    for pattern in _BEST_CUTS:
        ends = [match.end() for match in pattern.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - near))
    cuts = safe_cuts(text, low, high)
    return min(cuts, key=lambda cut: abs(cut - near)) if cuts else near


# -- which atoms make one answer: what introduces something comes with it


WHOLE = 160  # reader tokens up to which an answer comes whole
# A table or list of at most so many rows or sentences comes whole up to so many tokens.
ROWS, OF_ROWS = 12, 640
LISTED = 320
FIRST = 60  # tokens, at least: items that come together, and of a long text with its lead-in
SHORT = 12  # tokens: less is below a sentence
_COLONS = (":", "：")
_QUESTIONS = ("?", "？")
_ENDS = (".", "!", ";", ",", "。", "！", *_QUESTIONS)
_SENTENCE = (".", "!", "。", "！", *_QUESTIONS)
# Kinds that have captions and labels.
_SHOWN = ("table", "list", "code", "image", "math")
# "Table 3", "Fig. 2", "Abbildung IV" and their like
_NUMBERED = re.compile(
    r"\W*(?:(?:tab|fig|abb)[a-zé]{0,7}\.?|listing|exhibit|chart|таблица|рис\.?|表|图|圖)"
    r"\s*(?:[a-z]?\.?\d|[ivx]+\b)",
    re.IGNORECASE,
)

# A mark of comments before indented text: options that are commented out.
_COMMENT = re.compile(r"(?:#|//|;|--)(?=[ \t]{2})")

Atom = tuple[int, int, int, int]  # where it starts and ends, its tokens, its section


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """Atoms of a section that come together, of one block or of several.

    Example:
        >>> AnswerPart(((0, 9, 2, 1), (9, 20, 3, 1)), "list").tokens
        5
    """

    atoms: tuple[Atom, ...]
    kind: str  # of the first block
    limit: int = WHOLE  # tokens up to which it comes whole
    is_block: bool = True  # of one block

    @property
    def tokens(self) -> int:
        return sum(tokens for _, _, tokens, _ in self.atoms)

    @property
    def size(self) -> int:
        """Its tokens, at most `WHOLE` where it comes whole."""
        return min(self.tokens, WHOLE) if self.tokens <= self.limit else self.tokens

    def text(self, text: str) -> str:
        return text[self.atoms[0][0] : self.atoms[-1][1]]

    def __add__(self, other: AnswerPart) -> AnswerPart:
        limit = max(self.limit, other.limit)
        return AnswerPart(self.atoms + other.atoms, self.kind, limit, is_block=False)


def inner_cuts(block: Block) -> list[int]:
    """Return the places inside a block where it may be cut."""
    return [cut for cut in block.cuts if block.start < cut < block.end]


def parts_of(text: str, block: Block, atoms: Sequence[Atom]) -> Iterator[AnswerPart]:
    """A block, or its items or turns where it is longer than an answer."""
    limit = WHOLE
    if block.kind in ("table", "list"):
        limit = OF_ROWS if len(block.cuts) < ROWS else LISTED
    whole = AnswerPart(tuple(atoms), block.kind, limit)
    runs = [] if whole.tokens <= whole.limit else _runs(text, block)
    if len(runs) < 2:
        yield whole
        return
    waiting: tuple[Atom, ...] = ()
    for (_, stop), of_run in zip(runs, _by_item(atoms, runs), strict=True):
        waiting += tuple(of_run)
        part = AnswerPart(waiting, block.kind)
        if part.tokens >= FIRST or stop == block.end:
            yield part
            waiting = ()


def whole_answers(text: str, parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """The parts of a section, those joined that are no answer alone.

    Labels, questions, captions and whatever ends with a colon come with what is behind them, or
    with its beginning; what is below a sentence with what is beside it.
    """
    answers: list[AnswerPart] = []  # from the last to the first
    for part in reversed([part for part in parts if part.atoms]):
        if answers and _introduces(text, part, answers[-1]):
            answers += reversed(_introduced(part, answers.pop()))
        elif answers and _fit_together(text, part, answers[-1]):
            answers[-1] = part + answers[-1]
        else:
            answers.append(part)
    answers.reverse()
    return answers


def leads(words: str, others: str) -> bool:
    """Return True if some words mean nothing without those that follow.

    Example:
        >>> leads("It has:", "a pump"), leads("- Weight\\n", "  3 kg"), leads("It has one.", "So")
        (True, True, False)
    """
    line = _line(words)
    is_above = words.endswith("\n") and _indent(others) > _indent(words)
    return line.endswith(_COLONS) or (is_above and not line.endswith(_ENDS))


def _introduces(text: str, part: AnswerPart, other: AnswerPart) -> bool:
    words, others = part.text(text), other.text(text)
    line = _line(words)
    if leads(words, others):
        return True
    is_line = "\n" not in line
    if part.kind == "paragraph" and other.kind in _SHOWN:
        is_label = is_line and not line.endswith(_ENDS)
        return is_label or bool(_NUMBERED.match(line))
    if part.kind in _SHOWN and other.kind == "paragraph" and other.is_block:
        return bool(_NUMBERED.match(others))
    if is_line and line.endswith(_QUESTIONS):
        return not line.lstrip("*_ ")[:1].islower()
    return is_line and not line.endswith(_ENDS) and part.tokens < SHORT <= other.tokens


def _fit_together(text: str, part: AnswerPart, other: AnswerPart) -> bool:
    """Return True if one of two parts is below a sentence, and both are short."""
    are_fragments = (
        each.tokens < SHORT and not _line(each.text(text)).endswith(_SENTENCE)
        for each in (part, other)
    )
    return part.tokens + other.tokens <= WHOLE and any(are_fragments)


def _introduced(lead: AnswerPart, rest: AnswerPart) -> list[AnswerPart]:
    """A lead-in with what it introduces. If both are too long, the last sentence of the lead-in
    goes with the beginning."""
    both = lead + rest
    if both.tokens <= both.limit:
        return [both]
    *before, last = lead.atoms
    if before:
        tail = replace(lead, atoms=(last,))
        return [replace(lead, atoms=tuple(before)), *_introduced(tail, rest)]
    count, tokens = 0, 0
    while tokens < FIRST and count < len(rest.atoms):
        tokens += rest.atoms[count][2]
        count += 1
    first = lead + replace(rest, atoms=rest.atoms[:count])
    first = replace(first, limit=first.tokens)
    behind = AnswerPart(rest.atoms[count:], rest.kind)
    return [first, behind] if behind.atoms else [first]


def _line(words: str) -> str:
    return words.strip().rstrip("*_ ")


def _indent(words: str) -> int:
    """How far the first line is indented; that of a comment, behind its mark."""
    line = words.lstrip("\r\n")
    mark = _COMMENT.match(line)
    line = line[mark.end() :] if mark else line
    return len(line) - len(line.lstrip(" \t"))


def _items(text: str, block: Block) -> list[Span]:
    """The items of a list or of code, each with what is inside it."""
    cuts = [block.start, *inner_cuts(block)]
    indents = [_indent(text[cut : block.end]) for cut in cuts]
    tops = [
        cut for cut, indent in zip(cuts, indents, strict=True) if indent <= indents[0]
    ]
    return list(pairwise([*tops, block.end]))


LONGEST_CONTEXT = 400  # characters: a longer sentence or caption is not repeated
# Characters of header rows; those above LONGEST_CONTEXT name the filled columns alone.
WIDEST = 4_000
# "Table 3", "Tab. 3", "Tabelle IV", "Tabla B.2" and their like
_CAPTION_NUMBER = re.compile(
    r"\W*(?:tab[a-z]{0,5}\.?|таблица|表)\s*(?:[a-z]?\.?\d|[ivx]+\b)", re.IGNORECASE
)
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")


class RequiredContext(NamedTuple):
    """Text for a passage that begins within a block; all are characters.

    Example:
        >>> lead = RequiredContext(first=40, stop=90, start=20, end=40)
        >>> lead.shown(50, 60), lead.shown(30, 60), lead.shown(95, 99)
        ((20, 40), None, None)
    """

    first: int  # passages that begin in [first, stop) need it
    stop: int
    start: int  # the text
    end: int

    @property
    def is_inside(self) -> bool:
        """Whether it is a part of the block: the header rows of a table."""
        return self.end > self.first

    def shown(self, start: int, end: int) -> tuple[int, int] | None:
        """The text outside of the passage `[start, end)`, if that needs it."""
        if not self.first <= start < self.stop:
            return None
        if self.start < start:
            return self.start, min(self.end, start)
        return (self.start, self.end) if end <= self.start else None


def find_required_context(
    outline: Outline, read_options: ReadOptions
) -> list[RequiredContext]:
    """The leads of a document's tables and lists, in reading order.

    For a table, its caption and header rows. A caption is the paragraph before or behind the table
    that begins like "Table 3", else one before it that is no sentence. For a list, the last
    sentence of the paragraph before it; inside an item also the item's first line, if that ends
    with a colon. Nothing above 400 characters but header rows, which may have 4,000.
    """
    required: list[RequiredContext] = []
    for section in outline.sections:
        blocks = outline.blocks(section)
        for number, block in enumerate(blocks):
            before = blocks[number - 1] if number > 0 else None
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            if block.kind == "table":
                required += _of_table(outline.document.text, block, before, after)
            elif block.kind == "list":
                required += _of_list(outline.document.text, block, before, read_options)
    return [
        lead
        for lead in required
        if 0 < lead.end - lead.start <= (WIDEST if lead.is_inside else LONGEST_CONTEXT)
    ]


def named_columns(header: str, rows: str) -> str:
    """Header rows without the names of columns that no row fills; these stay as empty cells.

    Example:
        >>> named_columns("| A | B | C |\\n|---|---|---|", "| 1 | | 3 |\\n| 4 | | |")
        '| A || C |\\n|---|---|---|'
    """
    filled = {
        i
        for row in rows.splitlines()
        for i, cell in enumerate(row.split("|"))
        if cell.strip()
    }
    lines = []
    for line in header.splitlines():
        cells = line.split("|")
        is_rule = not line.strip("|-: \t")
        lines.append(
            "|".join(
                cell if i in filled or is_rule else cell[:0]
                for i, cell in enumerate(cells)
            )
        )
    return "\n".join(lines)


def _of_table(
    text: str, block: Block, before: Block | None, after: Block | None
) -> Iterator[RequiredContext]:
    caption = _paragraph(text, before)
    if caption is not None and not _is_caption(text[slice(*caption)], before=True):
        caption = None
    if caption is None:
        caption = _paragraph(text, after)
        if caption is not None and not _is_caption(text[slice(*caption)], before=False):
            caption = None
    if caption is not None:
        yield RequiredContext(block.start, block.end, *caption)
    yield RequiredContext(block.start, block.end, block.text_start, block.header_end)


def _is_caption(text: str, *, before: bool) -> bool:
    if _CAPTION_NUMBER.match(text):
        return True
    return before and "\n" not in text and not text.endswith(_SENTENCE_ENDS)


def _of_list(
    text: str, block: Block, before: Block | None, read_options: ReadOptions
) -> Iterator[RequiredContext]:
    paragraph = _paragraph(text, before)
    if paragraph is not None:
        start, end = paragraph
        # a sentence that begins further before is not repeated
        *_, (start, _) = sentence_spans(
            text,
            max(start, end - 2 * LONGEST_CONTEXT),
            end,
            language=read_options.language,
            splitter=read_options.sentence_splitter,
        )
        yield RequiredContext(block.start, block.end, start, end)
    for start, end in pairwise([block.text_start, *inner_cuts(block), block.end]):
        line_end = text.find("\n", start, end)
        if line_end > 0 and text[start:line_end].rstrip().endswith((":", "：")):
            yield RequiredContext(line_end, end, start, line_end)


def _paragraph(text: str, block: Block | None) -> tuple[int, int] | None:
    """The span of a paragraph without outer blanks, else None."""
    if block is None or block.kind != "paragraph":
        return None
    words = text[block.start : block.end]
    start = block.start + len(words) - len(words.lstrip())
    end = block.start + len(words.rstrip())
    return (start, end) if start < end else None
