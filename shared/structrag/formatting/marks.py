"""Takes the marks around what was to be converted from an answer.

Models repeat them, often misspelt: `<<BEGIN>>`, `<<< begin >>>`, `&lt;END&gt;`, **END**.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

_LESS = r"(?:[<＜«‹≪〈《]|&lt;)"
_GREATER = r"(?:[>＞»›≫〉》]|&gt;)"
# What may stand around the word, on its line.
_DRESS = r"[ \t\\/*_`'\"|:.!\[\](){}#=~-]"
_LETTERS = r"(?<![^\W\d_])([A-Za-z]{2,8})(?![^\W\d_])"
# A word with angle brackets in front of it, behind it, or both; those may be on lines of their own.
_BRACKETED = re.compile(
    rf"(?:{_LESS}\\?){{1,8}}{_DRESS}{{0,4}}\n?{_DRESS}{{0,4}}{_LETTERS}"
    rf"(?:{_DRESS}{{0,4}}\n?{_DRESS}{{0,4}}\\?(?:{_GREATER}\\?){{1,8}})?"
    rf"|{_LETTERS}{_DRESS}{{0,4}}\n?{_DRESS}{{0,4}}(?:{_GREATER}\\?){{1,8}}"
)
_ANGLE = re.compile(f"{_LESS}|{_GREATER}")
# A word alone on its line, in whatever dress; and a line of nothing but angle brackets.
_ALONE = re.compile(rf"^{_DRESS}*{_LETTERS}{_DRESS}*$", re.MULTILINE)
_BRACKETS_ALONE = re.compile(
    rf"^{_DRESS}*(?:{_LESS}(?:[ \t\\]*{_LESS})+|{_GREATER}(?:[ \t\\]*{_GREATER})+){_DRESS}*$",
    re.MULTILINE,
)
# How alike a word must be to that of a mark (difflib's ratio): one letter more, less or elsewhere.
_ALIKE = {"begin": 0.75, "end": 0.65}

Mark = tuple[int, int, str]  # start and end in the answer; "begin", "end" or ""


def between_marks(answer: str, core: str) -> str:
    """The part of an answer between its first marks.

    Other marks in it are left out. `core` is what was to be converted: what it holds itself is no
    mark. Without a mark of the beginning the part begins with the answer, without one of the end it
    ends with it.
    """
    marks = _marks(answer, core)
    starts = [end for _, end, name in marks if name == "begin"]
    start = starts[0] if starts else 0
    ends = [begin for begin, _, name in marks if name == "end" and begin >= start]
    return _without(answer, marks, start, ends[0] if ends else len(answer))


def without_marks(answer: str, core: str) -> str:
    """The answer without marks, and nothing else left out."""
    return _without(answer, _marks(answer, core), 0, len(answer))


def _without(answer: str, marks: list[Mark], start: int, end: int) -> str:
    parts = []
    position = start
    for first, last, _ in marks:
        if first >= start and last <= end:
            parts.append(answer[position:first])
            position = last
    return "".join([*parts, answer[position:end]])


def _marks(answer: str, core: str) -> list[Mark]:
    """The marks of an answer in order, none overlapping."""
    source = _plain(core)
    places = [*_bracketed(answer, source), *_words_alone(answer, core)]
    for match in _BRACKETS_ALONE.finditer(answer):
        if _plain(match[0]) not in source:
            places.append((*match.span(), ""))
    return _merged(sorted(places))


def _bracketed(answer: str, source: str) -> Iterator[Mark]:
    """The words in angle brackets that the source does not hold."""
    for match in _BRACKETED.finditer(answer):
        word = (match[1] or match[2]).casefold()
        name = _name(word)
        # One bracket is much used otherwise: then the word must be spelt right.
        is_mark = name == word or (name and len(_ANGLE.findall(match[0])) > 1)
        if is_mark and _plain(match[0]) not in source:
            yield (*_whole_line(answer, *match.span()), name)


def _words_alone(answer: str, core: str) -> Iterator[Mark]:
    """The words alone on their lines that the text lacks."""
    words = set(re.findall(r"[a-z]+", core.casefold()))
    for match in _ALONE.finditer(answer):
        word = match[1]
        # The source may have the word, but then hardly in capitals on a line of its own.
        in_source = word in core if word.isupper() else word.casefold() in words
        name = _name(word.casefold())
        if name and not in_source:
            yield (*match.span(), name)


def _merged(places: list[Mark]) -> list[Mark]:
    """The places, those that overlap as one."""
    merged: list[Mark] = []
    for first, last, name in places:
        if merged and first < merged[-1][1]:
            before, end, named = merged.pop()
            merged.append((before, max(end, last), named or name))
        else:
            merged.append((first, last, name))
    return merged


def _whole_line(answer: str, start: int, end: int) -> tuple[int, int]:
    """A mark's place, with its line where only dress stands there."""
    first = answer.rfind("\n", 0, start) + 1
    last = answer.find("\n", end)
    last = len(answer) if last < 0 else last
    around = answer[first:start] + answer[end:last]
    return (first, last) if re.fullmatch(rf"{_DRESS}*", around) else (start, end)


def _name(word: str) -> str:
    """The mark that a word spells, perhaps wrongly; "" for none."""
    for name, least in _ALIKE.items():
        if SequenceMatcher(None, word, name).ratio() >= least:
            return name
    return ""


def _plain(text: str) -> str:
    """A text in small letters without white space and backslashes."""
    return re.sub(r"[\s\\]+", "", text).casefold()
