"""Names of products, and where they occur (HiQA, section 5).

They are found in any text, and detected in titles and file names. A text is folded
(`structrag.text.folding`) and read as pieces: runs of letters and digits, single characters of
scripts in which spaces do not part words, and other signs; "C++" and "C#" are pieces. Spaces and
hyphens only separate pieces. A name occurs where a run of
neighbouring pieces, put together, is the name put together: "IS-3722 HS" holds IS3722HS and IS3722,
"IS37220" holds neither, and 手机 occurs in 手机壳.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import regex

from structrag.text.arrays import BoolArray, IntArray
from structrag.text.folding import UNPARTED, fold, fold_with_places, plain_signs
from structrag.text.names import names_by_form

HEAD = 4  # characters that tell quickly whether a piece can begin a name

_SEPARATORS = r"\-_\x1c-\x1f"  # the last are spaces to one of the two engines only
_BLANK_LINE = r"\n\s*\n"  # a piece that no name has
_NEEDS_SCRIPTS = regex.compile(rf"[\p{{M}}{UNPARTED}]")
_MARK = r"(?:(?<=[^\W\d_])(?:\+\+?|\#)(?![{inside}+\#]))?"
_WORD_MARK = _MARK.format(inside=r"\w")
_PLAIN_PIECE = re.compile(
    rf"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*{_WORD_MARK}|{_BLANK_LINE}|"
    rf"[^\s{_SEPARATORS}]"
)
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNPARTED}]]+"
_LETTER_MARK = _MARK.format(inside=rf"[\w--[{UNPARTED}]]")
_ANY_PIECE = regex.compile(
    rf"{_LETTERS}(?:(?<=\p{{Nd}})[.,](?=\p{{Nd}}){_LETTERS})*{_LETTER_MARK}|"
    rf"[{UNPARTED}]\p{{M}}*|{_BLANK_LINE}|[^\s{_SEPARATORS}]",
    regex.VERSION1,
)

_NUMBERED = regex.compile(
    r"\b(?=\p{Ll}*\p{Lu})(\p{L}[\p{L}\p{M}]+)[ -]\p{N}+(?:\.\p{N}+)*\b(?!\.?\p{N})"
)
_NOT_NUMBERED = (
    "a",
    "an",
    "and",
    "at",
    "by",
    "for",
    "from",
    "in",
    "of",
    "on",
    "or",
    "since",
    "the",
    "to",
    "until",
)
_VARIANT = re.compile(
    r"(?:[ -](?:pro|max|plus|mini|ultra|lite|air|se|xl|nano|micro|neo|zero))+\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_MOST_TITLE_WORDS = 4  # of a title that is itself taken for a name


def pieces(text: str) -> list[str]:
    """Split a text into the units it is compared by: folded words, characters of scripts without
    spaces, signs, and blank lines."""
    folded = fold(text)
    return list(_pattern(folded).findall(folded))


def _pattern(folded: str) -> Any:
    return (
        _ANY_PIECE
        if not folded.isascii() and _NEEDS_SCRIPTS.search(folded)
        else _PLAIN_PIECE
    )


def name_key(name: str) -> str:
    """A name folded, without spaces and hyphens. Names with equal keys are one. "" for a name of
    nothing else."""
    return "".join(pieces(" ".join(name.split())))


class Names:
    """Names, by their keys, to be looked for in many texts."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys: list[str] = sorted(set(keys))
        self._key_set = frozenset(self.keys)
        self._heads = frozenset(
            key[:n] for key in self.keys for n in range(1, HEAD + 1)
        )

    def spans(self, text: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Every name in a text of pieces: (first piece, end, key). In order of the first piece;
        names inside longer names are included."""
        heads = self._heads
        for start in [i for i, piece in enumerate(text) if piece[:HEAD] in heads]:
            joined = ""
            for end in range(start, len(text)):
                joined += text[end]
                if joined in self._key_set:
                    yield start, end + 1, joined
                # Keys that begin with what is joined so far follow it in order.
                at = bisect_left(self.keys, joined)
                if at == len(self.keys) or not self.keys[at].startswith(joined):
                    break

    def removed(self, text: str) -> str:
        """A text without the names in it, parts joined by spaces."""
        folded, starts, ends = fold_with_places(text)
        places = [match.span() for match in _pattern(folded).finditer(folded)]
        characters = list(text)
        for first, end, _ in self.spans([folded[start:stop] for start, stop in places]):
            start, stop = starts[places[first][0]], ends[places[end - 1][1] - 1]
            characters[start:stop] = " " * (stop - start)
        return " ".join("".join(characters).split())

    def longest(self, text: Sequence[str]) -> list[str]:
        """Return the different names in a text, in order, except those inside a longer one."""
        matches = list(self.spans(text))
        starts = np.array([start for start, _, _ in matches], dtype=np.int64)
        ends = np.array([end for _, end, _ in matches], dtype=np.int64)
        inside = inside_longer(
            np.zeros(len(matches), dtype=np.int64), starts, ends
        ).tolist()
        shown: dict[str, None] = {}
        for (_, _, key), is_inside in zip(matches, inside, strict=True):
            if not is_inside:
                shown.setdefault(key)
        return list(shown)


def inside_longer(rows: IntArray, starts: IntArray, ends: IntArray) -> BoolArray:
    """Return which spans `[start, end)` lie within a longer span of their row. All arrays are (n,).
    Spans must differ, and none may be empty."""
    order = np.lexsort((-ends, starts, rows))
    width = int(ends.max(initial=0))  # of a row, so that none reaches into the next
    reach = ends[order] + rows[order] * width
    before = np.maximum.accumulate(reach)
    inside = np.zeros(len(rows), dtype=bool)
    inside[order[1:]] = before[:-1] >= reach[1:]
    return inside


def title_names(title: str) -> list[str]:
    """Names in a title: by their form, and words with numbers.

    So "iPhone 15" is one, and the word of a variant behind it belongs to it ("15 Pro"). A title of
    up to four words in which none is found is a name itself.
    """
    title = " ".join(plain_signs(title).split())
    names = _names(title)
    if not names and 0 < len(title.split()) <= _MOST_TITLE_WORDS:
        return [title]
    return names


def file_names(source: str) -> list[str]:
    """Return the names in the last part of a path or address, without its suffix. Underscores, or
    else hyphens, count as spaces."""
    last = re.split(r"[/\\]", re.split(r"[?#]", plain_signs(source))[0].rstrip("/\\"))[
        -1
    ]
    words = " ".join(_SUFFIX.sub("", last).replace("_", " ").split())
    return _names(words if " " in words else words.replace("-", " "))


def _names(text: str) -> list[str]:
    """Return the names that occur in the text as whole pieces.

    If two end alike, one stays: the shorter, which finds both ("CA-IS3722HS", "IS3722HS"), unless
        the longer alone has a digit ("A10 Pro Max", "Pro Max").
    """
    names = {name_key(name): name for name in _candidates(text)}
    whole = {key for _, _, key in Names(names).spans(pieces(text))}
    parts = {key: pieces(name) for key, name in names.items() if key in whole}
    dropped = set()
    for long, short in permutations(parts, 2):
        if parts[long][-len(parts[short]) :] == parts[short]:
            dropped.add(short if _has_digit(long) and not _has_digit(short) else long)
    return [names[key] for key in parts if key not in dropped]


def _candidates(text: str) -> list[str]:
    """Names by their form, then numbered words, with their variants."""
    names = list(names_by_form(text))
    for match in _NUMBERED.finditer(text):
        if match[1].casefold() not in _NOT_NUMBERED:
            names.append(match.group())
    return [_with_variant(name, text) for name in names]


def _with_variant(name: str, text: str) -> str:
    start = text.find(name)
    # A name that is written differently in the text has no word after it.
    if start < 0 or not _has_digit(name):
        return name
    variant = _VARIANT.match(text, start + len(name))
    return name + variant.group() if variant else name


def _has_digit(name: str) -> bool:
    return any(map(str.isdigit, name))
