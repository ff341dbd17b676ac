"""Names of products and the like: how they are compared, found in a text, and detected in titles
and file names (HiQA, section 5).

A text is read as pieces after NFKC and case folding: runs of letters and digits, single characters
of scripts written without spaces, and other signs. Spaces and hyphens only separate pieces. A name
occurs where a run of neighbouring pieces, put together, is the name put together: "IS-3722 HS"
holds IS3722HS and IS3722, "IS37220" holds neither, and 手机 occurs in 手机壳.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from structrag.text.names import names_by_form
from structrag.text.scripts import SPACELESS

HEAD = 4  # characters that tell quickly whether a piece can begin a name

_HYPHENS = (
    r"\-_\u00ad\u2010-\u2013\u2212\x1c-\x1f"  # and separators that the two engines see differently
)
_BLANK_LINE = r"\n\s*\n"  # a piece that no name holds
_NEEDS_SCRIPTS = regex.compile(rf"[\p{{M}}{SPACELESS}]")
_PLAIN_PIECE = re.compile(rf"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*|{_BLANK_LINE}|[^\s{_HYPHENS}]")
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{SPACELESS}]]+"
_ANY_PIECE = regex.compile(
    rf"{_LETTERS}(?:(?<=\p{{Nd}})[.,](?=\p{{Nd}}){_LETTERS})*|[{SPACELESS}]\p{{M}}*|{_BLANK_LINE}|[^\s{_HYPHENS}]",
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
    r"(?:[ -](?:pro|max|plus|mini|ultra|lite|air|se|xl|nano|micro|neo|zero))+\b", re.IGNORECASE
)
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_MOST_TITLE_WORDS = 4  # of a title that is itself taken for a name


def pieces(text: str) -> list[str]:
    """What a text is compared by: folded words, characters of scripts without spaces, signs, and
    blank lines, in order."""
    folded = _folded(text)
    return list(_pattern(folded).findall(folded))


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _pattern(folded: str) -> Any:
    return _ANY_PIECE if not folded.isascii() and _NEEDS_SCRIPTS.search(folded) else _PLAIN_PIECE


def name_key(name: str) -> str:
    """A name folded, without spaces and hyphens: names with the same key are one. "" for a name of
    nothing else."""
    return "".join(pieces(" ".join(name.split())))


class Names:
    """Names, by their keys, to be looked for in many texts at once."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = sorted(set(keys))
        self._known = frozenset(self.keys)
        self._heads = frozenset(key[:n] for key in self.keys for n in range(1, HEAD + 1))

    def spans(self, text: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Every name in a text given as its pieces: (first piece, end, key), by first piece; names
        inside longer names included."""
        heads = self._heads
        for start in [i for i, piece in enumerate(text) if piece[:HEAD] in heads]:
            joined = ""
            for end in range(start, len(text)):
                joined += text[end]
                if joined in self._known:
                    yield start, end + 1, joined
                at = bisect_left(self.keys, joined)
                if at == len(self.keys) or not self.keys[at].startswith(joined):
                    break

    def removed(self, text: str) -> str:
        """A text without the names in it, one space between what is left; folded where folding
        changed its length."""
        folded = _folded(text)
        places = [match.span() for match in _pattern(folded).finditer(folded)]
        kept = list(text if len(folded) == len(text) else folded)
        for first, end, _ in self.spans([folded[slice(*place)] for place in places]):
            start, stop = places[first][0], places[end - 1][1]
            kept[start:stop] = " " * (stop - start)
        return " ".join("".join(kept).split())

    def longest(self, text: Sequence[str]) -> list[str]:
        """The different names in a text, in their order there; one inside a longer one does not
        count."""
        found = list(self.spans(text))
        starts, ends = (np.array([span[side] for span in found], dtype=np.int64) for side in (0, 1))
        inside = inside_longer(np.zeros(len(found), dtype=np.int64), starts, ends)
        return list(
            dict.fromkeys(
                key
                for (_, _, key), hidden in zip(found, inside.tolist(), strict=True)
                if not hidden
            )
        )


def inside_longer(
    rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each span `[start, end)` of a row, all (n,): whether a longer span of the same row
    contains it. Spans must differ."""
    order = np.lexsort((-ends, starts, rows))
    reach = ends[order] + rows[order] * (
        int(ends.max(initial=0)) + 1
    )  # so that no row reaches into the next
    before = np.maximum.accumulate(reach)
    inside = np.zeros(len(rows), dtype=bool)
    inside[order[1:]] = before[:-1] >= reach[1:]
    return inside


def title_names(title: str) -> list[str]:
    """Names in a title: entities by their form, and words with a number ("iPhone 15"); a variant's
    word behind belongs to them ("15 Pro").

    A title of up to four words in which none is found is a name itself.
    """
    title = " ".join(title.split())
    names = _names(title)
    return names or [title] * (0 < len(title.split()) <= _MOST_TITLE_WORDS)


def file_names(source: str) -> list[str]:
    """Names in the last part of a path or address, without its suffix; underscores, or else
    hyphens, stand for spaces."""
    last = re.split(r"[/\\]", re.split(r"[?#]", source)[0].rstrip("/\\"))[-1]
    words = " ".join(_SUFFIX.sub("", last).replace("_", " ").split())
    return _names(words if " " in words else words.replace("-", " "))


def _names(text: str) -> list[str]:
    """Names that stand in the text as whole pieces.

    Of two that end alike one stays: the shorter, which finds both ("CA-IS3722HS", "IS3722HS"),
    unless the longer alone has a digit ("A10 Pro Max", "Pro Max").
    """
    numbered = [
        match.group()
        for match in _NUMBERED.finditer(text)
        if match[1].casefold() not in _NOT_NUMBERED
    ]
    found = {
        name_key(name): name
        for name in (_with_variant(name, text) for name in [*names_by_form(text), *numbered])
    }
    whole = {key for _, _, key in Names(found).spans(pieces(text))}
    parts = {key: pieces(name) for key, name in found.items() if key in whole}
    dropped = set()
    for long, short in (
        (a, b) for a in parts for b in parts if a != b and parts[a][-len(parts[b]) :] == parts[b]
    ):
        dropped.add(short if _has_digit(long) and not _has_digit(short) else long)
    return [found[key] for key in parts if key not in dropped]


def _with_variant(name: str, text: str) -> str:
    if not _has_digit(name):
        return name
    end = text.find(name) + len(name)
    variant = _VARIANT.match(text, end)
    return name + variant.group() if variant and text.startswith(name, end - len(name)) else name


def _has_digit(name: str) -> bool:
    return any(map(str.isdigit, name))
