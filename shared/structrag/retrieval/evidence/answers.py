"""Which parts of a section make one answer. What introduces something comes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from structrag.records import Block

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
_SHOWN = (
    "table",
    "list",
    "code",
    "image",
    "math",
)  # kinds that have captions and labels
# "Table 3", "Fig. 2", "Abbildung IV" and their like
_NUMBERED = re.compile(
    r"\W*(?:(?:tab|fig|abb)[a-zé]{0,7}\.?|listing|exhibit|chart|таблица|рис\.?|表|图|圖)"
    r"\s*(?:[a-z]?\.?\d|[ivx]+\b)",
    re.IGNORECASE,
)

Atom = tuple[int, int, int, int]  # where it starts and ends, its tokens, its section


@dataclass(frozen=True, slots=True)
class Part:
    """Atoms of a section that come together, of one block or of several.

    Example:
        >>> Part(((0, 9, 2, 1), (9, 20, 3, 1)), "list").tokens
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

    def __add__(self, other: Part) -> Part:
        limit = max(self.limit, other.limit)
        return Part(self.atoms + other.atoms, self.kind, limit, is_block=False)


def inner_cuts(block: Block) -> list[int]:
    """Where a block may be cut inside."""
    return [cut for cut in block.cuts if block.start < cut < block.end]


def parts_of(text: str, block: Block, atoms: Sequence[Atom]) -> Iterator[Part]:
    """A block, or its items where a list is longer than an answer."""
    limit = WHOLE
    if block.kind in ("table", "list"):
        limit = OF_ROWS if len(block.cuts) < ROWS else LISTED
    whole = Part(tuple(atoms), block.kind, limit)
    if block.kind != "list" or whole.tokens <= whole.limit:
        yield whole
        return
    waiting: tuple[Atom, ...] = ()
    for first, stop in _items(text, block):
        waiting += tuple(atom for atom in atoms if first <= atom[0] < stop)
        part = Part(waiting, block.kind)
        if part.tokens >= FIRST or stop == block.end:
            yield part
            waiting = ()


def whole_answers(text: str, parts: Sequence[Part]) -> list[Part]:
    """The parts of a section, those joined that are no answer alone.

    Labels, questions, captions and whatever ends with a colon come with what is behind them, or
    with its beginning; what is below a sentence with what is beside it.
    """
    answers: list[Part] = []  # from the last to the first
    for part in reversed([part for part in parts if part.atoms]):
        if answers and _introduces(text, part, answers[-1]):
            answers += reversed(_joined(part, answers.pop()))
        elif answers and _fit_together(text, part, answers[-1]):
            answers[-1] = part + answers[-1]
        else:
            answers.append(part)
    answers.reverse()
    return answers


def leads(words: str, others: str) -> bool:
    """Whether some words say nothing without those behind them.

    Example:
        >>> leads("It has:", "a pump"), leads("- Weight\\n", "  3 kg"), leads("It has one.", "So")
        (True, True, False)
    """
    line = _line(words)
    is_above = words.endswith("\n") and _indent(others) > _indent(words)
    return line.endswith(_COLONS) or (is_above and not line.endswith(_ENDS))


def _introduces(text: str, part: Part, other: Part) -> bool:
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


def _fit_together(text: str, part: Part, other: Part) -> bool:
    """Whether one of two is below a sentence, and both are short."""
    are_fragments = (
        each.tokens < SHORT and not _line(each.text(text)).endswith(_SENTENCE)
        for each in (part, other)
    )
    return part.tokens + other.tokens <= WHOLE and any(are_fragments)


def _joined(lead: Part, rest: Part) -> list[Part]:
    """A lead-in with what it introduces. Of what is too long the sentence before comes with the
    beginning."""
    both = lead + rest
    if both.tokens <= both.limit:
        return [both]
    *before, last = lead.atoms
    if before:
        tail = replace(lead, atoms=(last,))
        return [replace(lead, atoms=tuple(before)), *_joined(tail, rest)]
    count, tokens = 0, 0
    while tokens < FIRST and count < len(rest.atoms):
        tokens += rest.atoms[count][2]
        count += 1
    first = lead + replace(rest, atoms=rest.atoms[:count])
    first = replace(first, limit=first.tokens)
    behind = Part(rest.atoms[count:], rest.kind)
    return [first, behind] if behind.atoms else [first]


def _line(words: str) -> str:
    return words.strip().rstrip("*_ ")


def _indent(words: str) -> int:
    line = words.lstrip("\r\n")
    return len(line) - len(line.lstrip(" \t"))


def _items(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """The items of a list, each with what is inside it."""
    cuts = [block.start, *inner_cuts(block)]
    indents = [_indent(text[cut : block.end]) for cut in cuts]
    tops = [
        cut for cut, indent in zip(cuts, indents, strict=True) if indent <= indents[0]
    ]
    return pairwise([*tops, block.end])
