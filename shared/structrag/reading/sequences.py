"""Which numbered lines of a plain text are headings: those whose numbers ascend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import inf
from typing import NamedTuple

from structrag.reading.numbering import (
    Number,
    Value,
    follows,
    is_labelled,
    with_letters,
)

_AHEAD = 3  # numbers looked at for the one that comes next
_OPEN = 4  # lists inside lists
# Families of lists as well: one number alone is no heading.
_LISTS = frozenset(("A.", "1)", "一、", "（一）", "item"))
_FEWEST = 3  # members of a family in which no title is clean


class NumberedLine(NamedTuple):
    """A number or a label that may start a heading."""

    line: int
    start: int
    stop: int  # where the next may start
    right: int  # where the text of the line ends
    mark: re.Match[str]
    number: Number
    ends: tuple[int, int] | None  # of a clean title, and of its heading
    is_loose: bool  # the title is none by itself
    is_free: bool  # at the start of a line, behind a blank one
    is_verbless: bool


def in_sequence(lines: list[NumberedLine]) -> list[NumberedLine]:
    """The lines that are headings, in order.

    Those with a clean title are where they go on with a sequence or begin one. Between and behind
    them also those whose number is the next one, if their title is loose or missing: else their
    text would stand under the heading before. A family without a clean title is taken whole, if
    each of its lines is a phrase or a question. Where nothing else is numbered, labels behind which
    the text itself begins are headings too; below chapters they are text.
    """
    families: dict[str, list[NumberedLine]] = {}
    numbers = with_letters(line.number for line in lines)
    for line, number in zip(lines, numbers, strict=True):
        families.setdefault(number.family, []).append(line._replace(number=number))
    chosen = list(families.pop("outer", []))
    chosen = [line for line in chosen if line.ends]
    alone = []
    for family, members in families.items():
        chosen += _of_family(members, family in _LISTS)
        alone += [] if family in _LISTS else _labels_alone(members)
    if {line.number.family for line in chosen} <= {
        line.number.family for line in alone
    }:
        chosen = alone
    return sorted(chosen, key=lambda line: line.start)


def _of_family(lines: list[NumberedLine], is_list: bool) -> list[NumberedLine]:
    clean = [line for line in lines if line.ends]
    chosen: dict[int, NumberedLine] = {}  # by their starts
    # Numbers without a title keep a sequence going, or are none of it: references to a clause.
    most = 1 if is_list else 6 if is_labelled(lines[0].mark) else 3
    for run in [*_runs(lines, most), *_runs(clean, most)]:
        titled = [line for line in run if line.ends]
        if not is_list or sum(bool(line.ends or line.is_loose) for line in run) > 1:
            chosen.update((line.start, line) for line in titled)
    if not chosen:
        return _loose_family(lines)
    found = list(chosen.values())
    following: Value = (inf,)
    for place in range(len(lines) - 1, -1, -1):
        if lines[place].start in chosen:
            value = lines[place].number.value
            until = following if following > value else (inf,)
            found += _behind(lines, place, until, chosen)
            found += _before(lines, place, chosen)
            following = value
    return found


def _behind(
    lines: list[NumberedLine], place: int, until: Value, taken: Mapping[int, object]
) -> Iterator[NumberedLine]:
    """What goes on with a number: loose titles and, where others have titles, numbers alone."""
    last = lines[place].number.value
    for line in islice(lines, place + 1, None):
        if line.start in taken:
            break
        value = line.number.value
        fits = line.is_loose or (len(taken) > 1 and line.is_free)
        if fits and follows(value, last, 1) and value < until:
            yield line
            last = value


def _before(
    lines: list[NumberedLine], place: int, taken: Mapping[int, object]
) -> list[NumberedLine]:
    """The loose titles that lead up to a clean one, from 1 or from the first of the text on."""
    found = []
    value = lines[place].number.value
    while place and lines[place - 1].start not in taken:
        place -= 1
        line = lines[place]
        if line.is_loose and follows(value, line.number.value, 1):
            found.append(line)
            value = line.number.value
    is_whole = bool(found) and found[-1] is lines[0]
    begins = is_whole and all(line.is_verbless for line in found)
    return found if value == (1,) or begins else []


def _runs(lines: list[NumberedLine], most: int) -> list[list[NumberedLine]]:
    """The lines in sequence, each run with those that came after one another."""
    open_runs: list[list[NumberedLine]] = []
    runs = []
    for i, line in enumerate(lines):
        value = line.number.value
        for j in range(len(open_runs) - 1, -1, -1):
            if follows(value, open_runs[j][-1].number.value, most):
                open_runs[j].append(line)
                del open_runs[j + 1 :]
                break
        else:
            ahead = lines[i + 1 : i + 1 + _AHEAD]
            if _may_begin(value, bool(open_runs)) or any(
                follows(other.number.value, value, 1) for other in ahead
            ):
                run = [line]
                open_runs = [*open_runs[1 - _OPEN :], run]
                runs.append(run)
    return runs


def _may_begin(value: Value, is_inner: bool) -> bool:
    """Whether a list may begin with this number, of which no other tells. So may a chapter of a
    code: 211-1."""
    is_low = value[0] <= (1 if is_inner else 3) or (len(value) > 1 and value[0] > 99)
    return is_low and all(part <= 1 for part in value[1:])


def _loose_family(lines: list[NumberedLine]) -> list[NumberedLine]:
    runs = _runs([line for line in lines if line.is_loose], 1)
    whole = len(runs) == 1 and len(runs[0]) >= _FEWEST
    return runs[0] if whole and all(line.is_verbless for line in runs[0]) else []


def _labels_alone(lines: list[NumberedLine]) -> list[NumberedLine]:
    """Labels from 1 on, most of them without a title: `Art. 2. The Minister may ...`."""
    apart = [line for line in lines if _is_apart(line)]
    bare = [
        line
        for line in apart
        if not (line.ends or line.is_loose)
        # A last figure is the page, in a contents list.
        and not line.mark.string[line.right - 1].isdigit()
    ]
    if 2 * len(bare) <= len(apart):
        return []
    return [
        line
        if line.ends and line.ends[0] != line.right - 1  # a sentence's full stop
        else line._replace(ends=(line.mark.start("dot"), line.mark.end()))
        for run in _runs(apart, 1)
        if run[0].number.value == (1,) and len(run) >= _FEWEST
        for line in run
    ]


def _is_apart(line: NumberedLine) -> bool:
    """Whether a label stands in front of what it numbers, and is not a part of a sentence."""
    mark = line.mark
    behind = mark.string[mark.end() : line.right]
    is_free = line.is_free or bool(mark["unit"] and mark[0][-1].isspace())
    return is_labelled(mark) and is_free and not behind[:1].islower()
