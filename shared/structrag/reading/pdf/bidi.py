"""The order in which the glyphs of a line are read, after the bidirectional algorithm (UAX 9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import bidirectional

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKETS = "()[]{}"
# L, R; A: Arabic letters; E, N: digits, and those behind Arabic letters; s, m: signs that digits of
# both kinds, or European ones, may have between them; t: "%"; b: brackets; /: a tab, which stands
# between words drawn apart; o: others.
_KINDS = {"L": "L", "R": "R", "AL": "A", "EN": "E", "AN": "N", "CS": "s", "ES": "m"}
_KINDS |= {"ET": "t", "S": "/"}
_PART = re.compile("[^RA]+")
_WORDS = re.compile("t{0,3}[LEN](?:.*L)?(?:[^/]*N|[^/]*Et{0,3})?")
_NUMBER = re.compile("t{0,3}E+(?:[sm]E+)*t{0,3}|N+(?:sN+)*t{0,3}")
_FROM_RIGHT = re.compile("[RAN](?:[^L]*[RAN])?")


def has_rtl(text: str) -> bool:
    """Whether a text has letters of a script written from right to left."""
    return _RTL.search(text) is not None


def is_rtl(text: str, share: int = 2) -> bool:
    """Whether most letters, or one of `share`, are of a script written from right to left."""
    return share * len(_RTL.findall(text)) > sum(map(str.isalpha, text))


def logical_order(units: Sequence[str], from_right: bool) -> list[int]:
    """The places of a line's units, from left to right, in the order in which they are read.

    A unit is what one glyph shows. Words of other scripts in a line `from_right`, and numbers, are
    read from left to right.
    """
    kinds = _kinds(units)
    if from_right:
        return _read_from_right(kinds, 0)
    order: list[int] = []
    for run in _FROM_RIGHT.finditer(kinds):
        order += range(len(order), run.start())
        order += _read_from_right(run[0], run.start())
    return [*order, *range(len(order), len(units))]


def _kinds(units: Sequence[str]) -> str:
    kinds: list[str] = []
    strong = ""
    for unit in reversed(units):
        classes = list(map(bidirectional, unit))
        known = next((name for name in classes if name in ("L", "R", "AL")), classes[0])
        kind = "b" if unit in _BRACKETS else _KINDS.get(known, "o")
        if kind in "LRA":
            strong = kind
        elif kind == "E" and strong == "A":
            kind = "N"
        kinds.append(kind)
    return "".join(reversed(kinds))


def _read_from_right(kinds: str, first: int) -> list[int]:
    order: list[int] = []
    end = len(kinds)
    for part in reversed(list(_PART.finditer(kinds))):
        pattern = _WORDS if "L" in part[0] else _NUMBER
        for run in reversed(list(pattern.finditer(kinds, *part.span()))):
            start, stop = run.span()
            if run[0].count("b") % 2:  # the other one stands at the edge
                stop += kinds.startswith("b", stop)
            order += reversed(range(stop, end))
            order += range(start, stop)
            end = start
    order += reversed(range(end))
    return [first + place for place in order]


_BRACKET = re.compile(
    r"(?<![^\s\u05be/-])[)\]}](?=[^\s.,;:])|(?<=[^\s(\[{])[(\[{](?![^\s.,;:!?\u060c)\]}])"
)
_MIRRORED = str.maketrans("()[]{}", ")(][}{")


def with_brackets(text: str) -> str:
    """A text whose brackets open behind a blank and close before one; a file may say what is drawn
    or what is meant."""
    return _BRACKET.sub(lambda bracket: bracket[0].translate(_MIRRORED), text)
