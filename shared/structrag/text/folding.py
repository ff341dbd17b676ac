"""One way to fold letters and signs, for terms, names and what a page paints.

Compatible forms (full-width letters, ligatures) become plain ones by NFKC, case is folded ("ß" is
"ss"), and accents of Latin and Greek letters are taken off ("é" is "e", "ä" is "a"), in Cyrillic
only those that most texts leave out ("ё" is "е"; "й" stays). Hyphens, dashes and the minus are "-",
apostrophes "'". Soft hyphens, joiners, marks of direction and vowel points are dropped.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex

# For a character class of the package `regex`: Chinese, Japanese, Thai, Lao, Khmer, Burmese and the
# long vowel mark.
SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
# And Hangul, whose words carry their particles.
UNPARTED = rf"{SPACELESS}\p{{Hangul}}"


# Soft hyphens, joiners, marks of direction and variation; the vowel points of Hebrew and Arabic,
# which most texts leave out, and Arabic's stretched line.
UNSEEN = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
)
_DASHES = "\u058a\u05be\u2010-\u2013\u2043\u2212\ufe58\ufe63\uff0d"
_APOSTROPHES = "\u02b9-\u02bd\u02c8\u2018\u2019\u201b\u2032\ua78b\ua78c\uff07"
_ACCENTS = (
    "\u0300-\u036f"  # left where a letter with the accent is no letter of its own
)
# Longer dashes part sentences, but for those in codes and ranges.
_LONG_DASH = re.compile(
    "(?<=[0-9])[\u2014\u2015](?=[^\\W_])|(?<=[^\\W_])[\u2014\u2015](?=[0-9])"
)
# NFKC makes letters of the first two, and an accent of the last.
_SEPARATE = re.compile("[\u2120\u2122\u00b4]")
_SIGNS = re.compile(f"[{UNSEEN}{_ACCENTS}{_DASHES}{_APOSTROPHES}\u266f]")
_IS_DASH = re.compile(f"[{_DASHES}]")
_IS_APOSTROPHE = re.compile(f"[{_APOSTROPHES}]")
_IS_UNSEEN = re.compile(f"[{UNSEEN}]")
# `\X` alone takes quadratic time in a row of flags.
_FLAG = r"[\U0001F1E6-\U0001F1FF]{2}[\p{M}\u200d]*"
_CLUSTER = regex.compile(rf"{_FLAG}|\X")
# Letters that Unicode does not take apart, and Cyrillic ones whose accent most texts leave out.
_PLAIN = {
    "æ": "ae",
    "ð": "d",
    "ø": "o",
    "þ": "th",
    "đ": "d",
    "ħ": "h",
    "ı": "i",
    "ł": "l",
    "œ": "oe",
    "ŧ": "t",
    "ё": "е",
    "ѐ": "е",
    "ѝ": "и",
}
_LAST_GREEK = 0x3FF


def fold(text: str) -> str:
    """A text folded.

    Example:
        >>> fold("Stra\u00dfen-Caf\u00e9 \uff23\uff22\u2011300, Hoch\u00addruck")
        'strassen-cafe cb-300, hochdruck'
    """
    return text.lower() if text.isascii() else without_accents(fold_signs(text))


def fold_signs(text: str) -> str:
    """A text folded but for the accents."""
    # The commonest signs of prose, after which most English text is ASCII.
    text = text.replace("\u2019", "'").replace("\u2013", "-")
    text = text.replace("\u201c", '"').replace("\u201d", '"')
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _SEPARATE.sub(" ", _plain_dashes(text)))
    return _SIGNS.sub(_plain_sign, text.casefold())


def without_accents(folded: str) -> str:
    """Take off the accents of a result of `fold_signs`."""
    return folded if folded.isascii() else folded.translate(_LETTERS)


def plain_signs(text: str) -> str:
    """A text with plain hyphens and without what is not seen, for patterns of words; letters stay
    as they are."""
    if text.isascii():
        return text
    return _IS_UNSEEN.sub("", _IS_DASH.sub("-", _plain_dashes(text)))


def fold_with_places(text: str) -> tuple[str, list[int], list[int]]:
    """A text folded, and for each of its characters where what it was made of begins and ends.

    Example:
        >>> fold_with_places("a\u00ad\u00df")
        ('ass', [0, 2, 2], [1, 3, 3])
    """
    if text.isascii():
        return text.lower(), list(range(len(text))), list(range(1, len(text) + 1))
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for cluster in _CLUSTER.finditer(_plain_dashes(text)):
        part = fold(cluster[0])
        parts.append(part)
        starts += [cluster.start()] * len(part)
        ends += [cluster.end()] * len(part)
    return "".join(parts), starts, ends


def _plain_dashes(text: str) -> str:
    """A text whose longer dashes in codes and ranges are hyphens."""
    if "\u2014" in text or "\u2015" in text:
        return _LONG_DASH.sub("-", text)
    return text


@lru_cache(maxsize=512)
def _sign(char: str) -> str:
    if _IS_DASH.match(char):
        return "-"
    if _IS_APOSTROPHE.match(char):
        return "'"
    return "#" if char == "\u266f" else ""


def _plain_sign(match: re.Match[str]) -> str:
    return _sign(match[0])


class _Letters(dict[int, str]):
    """Letters without accents, worked out when they are first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        base = unicodedata.normalize("NFD", char)[0]
        plain = base if ord(base) <= _LAST_GREEK else char
        self[code] = _PLAIN.get(base, plain)
        return self[code]


_LETTERS = _Letters({ord(char): plain for char, plain in _PLAIN.items()})
