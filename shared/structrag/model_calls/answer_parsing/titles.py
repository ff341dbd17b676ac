"""The names of sections in a language model's answer, matched leniently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from structrag.model_calls.answer_parsing.lists import (
    bare,
    first_value,
)

FUZZY = 0.9  # least similarity (difflib's ratio) of a name that is spelt differently
FUZZY_TRIES = 50  # names of one answer that are compared with all known ones
MAX_WORDS = 40  # of a name; a longer run of words is prose

_WORD = re.compile(r"[^\W_]+")
# A number, a bullet, or how sections are shown in D3's paper.
_LABEL = re.compile(r"^\W*(?:(?:\d+[.):]|[-*•])\s+)?(?:section\s*:\s*)?", re.IGNORECASE)
_ITEMS = re.compile(r"[\n;；]+")
_COMMA = re.compile(r"[,，、]")
_NOTHING = {
    "",
    "none",
    "n a",
    "na",
    "nothing",
    "no",
    "null",
    "empty",
    "no sections",
    "none of the sections",
    "no relevant sections",
}


def parse_names(answer: str, paths: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """The positions of the paths named; how many items match none.

    A name is a path or its last titles, case, white space and punctuation aside, and stands for
    every section it fits; a whole path goes before its end, and the spelling may differ by a tenth.
    Names stand in a list (JSON, lines, commas); one that holds commas is found first. In an answer
    that is prose names are looked for inside. "none", "N/A" and an empty answer name nothing. Never
    raises.
    """
    names = _KnownNames(paths)
    positions: set[int] = set()
    dropped = 0
    for item in _items(answer):
        of_item, unknown = names.of_item(item)
        positions |= of_item
        dropped += unknown
    if not positions and dropped:
        positions = names.inside(answer)
    return sorted(positions), dropped


def usable_names(
    paths: Sequence[Sequence[str]], answer: str, *, empty: bool = False
) -> bool:
    """Whether an answer names sections, or says that there are none. An empty answer says so only
    with `empty`."""
    positions, dropped = parse_names(answer, paths)
    if positions or dropped:
        return bool(positions)
    text = answer.strip()
    value = first_value(text)
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return not any(parts)  # others than strings name nothing
    return bool(_normal(text)) or (empty and not text)


class _KnownNames:
    """Every way to name each section, and who is meant."""

    def __init__(self, paths: Sequence[Sequence[str]]) -> None:
        whole: dict[str, set[int]] = {}
        ends: dict[str, set[int]] = {}
        for position, path in enumerate(paths):
            for first in range(len(path)):
                names = ends if first else whole
                names.setdefault(_normal(" ".join(path[first:])), set()).add(position)
        self.known = {**ends, **whole}
        self.known.pop("", None)
        self.tries = FUZZY_TRIES
        self.guesses: dict[str, set[int]] = {}  # what inexact names were found to mean
        commas = [len(_COMMA.findall(" ".join(path))) for path in paths]
        self.most_parts = 1 + max(commas, default=0)  # of a name, between its commas

    def of_item(self, item: str) -> tuple[set[int], int]:
        """The positions that an item names; how many names are unknown."""
        parts = _COMMA.split(item)
        if 1 < len(parts) <= self.most_parts and (whole := self._meant(item)):
            return whole, 0  # one name that holds commas
        of_item: set[int] = set()
        unknown = 0
        first = 0
        while first < len(parts):
            last = min(len(parts), first + self.most_parts)
            while last > first + 1 and not self._exact(",".join(parts[first:last])):
                last -= 1
            name = ",".join(parts[first:last])
            positions = self._meant(name)
            of_item |= positions
            unknown += not positions and _normal(name) not in _NOTHING
            first = last
        return of_item, unknown

    def _meant(self, name: str) -> set[int]:
        form = _normal(name)
        if exact := self._exact(name):
            return exact
        if form in self.guesses:
            return self.guesses[form]
        if form in _NOTHING or len(form.split()) > MAX_WORDS or not self.tries:
            return set()
        self.tries -= 1
        width = len(form)  # names of far other lengths are too different
        near = [name for name in self.known if 0.8 * width <= len(name) <= 1.25 * width]
        best = get_close_matches(form, near, n=1, cutoff=FUZZY)
        self.guesses[form] = self.known[best[0]] if best else set()
        return self.guesses[form]

    def _exact(self, name: str) -> set[int]:
        bare = _normal(_LABEL.sub("", name))
        return self.known.get(_normal(name)) or self.known.get(bare) or set()

    def inside(self, answer: str) -> set[int]:
        """The sections whose name stands somewhere in the answer. The longest names come first, and
        each word is in one name only."""
        text = f" {_normal(answer)} "
        positions: set[int] = set()
        for name in sorted(self.known, key=len, reverse=True):
            if f" {name} " in text:
                positions |= self.known[name]
                text = text.replace(f" {name} ", " \n ")
        return positions


def _items(answer: str) -> Iterable[str]:
    value = first_value(answer)
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if lists else list(value.values())
    if isinstance(value, list | tuple):
        return [item.replace("\n", " ") for item in value if isinstance(item, str)]
    return [part for part in _ITEMS.split(bare(answer)) if part.strip()]


def _normal(name: str) -> str:
    return " ".join(_WORD.findall(name.casefold()))
