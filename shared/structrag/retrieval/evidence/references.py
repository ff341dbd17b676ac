"""Entries of lists of references, told by the shape of their lines."""

from __future__ import annotations

import re

_NEAR = 1500  # characters in which the entries beside one are looked for
_BESIDE = 2  # entries before and behind one that are looked at
_WORDS = 8  # an author and a year are an entry from so many words
_MARK = r"\s*(?:(?:[-*•–]|\d+\s?[.)]|\[\w{1,12}\]|\(\d+\))\s|[\^↑])"
_AUTHOR = (
    r"[A-ZÀ-Þ][\w'’-]+(?: [A-Z][\w'’-]+)? ?, ?[A-ZÀ-Þ]"  # Smith, J
    r"|[A-ZÀ-Þ][\w'’-]+ [A-Z]{1,3} ?[,.;]"  # Smith JA,
    r"|(?:[A-ZÀ-Þ]\. ?-?)+[A-ZÀ-Þ][\w'’-]+"  # J. A. Smith
)
_BETWEEN = re.compile(rf"\n\s*\n|\n(?={_MARK}|\s*(?:{_AUTHOR}))")
_BEGINS = re.compile(rf"(?:\.\. )?(?:{_MARK})*\s*")
_AUTHORED = re.compile(_AUTHOR)
# (2004) or ", 2004.", as no date of a day is written
_YEAR = re.compile(r"(?:[^\d\s] ?[,.]|\() ?(?:1[5-9]|20)\d\d[a-z]? ?(?:[.);:,]|$)")
_BIBLIOGRAPHIC = re.compile(
    r"Jump up|\bRetrieved (?:on )?(?:\d|[A-Z][a-z]+ \d)|\b[Aa]rchived (?:from|on)\b|access-date"
    r"|[Aa]bgerufen|[Cc]onsulté le|\bIS[BS]N\b|\bdoi\b|doi\.org|\bPMID\b|\barXiv\b"
    r"|\b(?:pp?|pg|S|vol)\. ?\d|\d ?\(\d+(?: ?[-–] ?\d+)?\) ?[:,] ?[a-z]?\d|\d;\d+|\bet al\b"
    r"|\b(?:In )?Proc(?:eedings|\.)|\bUniversity Press\b",
)


def is_reference(text: str, start: int) -> bool:
    """Whether what begins at `start` is in an entry of a list of references.

    Example:
        >>> text = "[1] J. Doe. Pumps. 2001. [2] A. Roe. Seals. 2003."
        >>> is_reference(text, 0)
        False
    """
    low = max(0, start - _NEAR)
    entries, at = [], 0
    place = low
    near = text[low : start + _NEAR]
    for match in _BETWEEN.finditer(near):
        entries.append(near[place - low : match.start()])
        if match.start() <= start - low:
            at = len(entries)
        place = low + match.end()
    entries.append(near[place - low :])
    beside = entries[max(0, at - _BESIDE) : at + _BESIDE + 1]
    return 2 * sum(map(_is_entry, beside)) > max(2 * _BESIDE, len(beside))


def _is_entry(words: str) -> bool:
    words = words.strip()
    begins = _BEGINS.match(words)
    place = begins.end() if begins else 0
    authored = _AUTHORED.match(words, place)
    if not place and not authored:
        return False
    if _BIBLIOGRAPHIC.search(words):
        return True
    return bool(authored and _YEAR.search(words)) and len(words.split()) >= _WORDS
