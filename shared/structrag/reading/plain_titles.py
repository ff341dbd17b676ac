"""What the numbers and titles of headings in plain text look like."""

from __future__ import annotations

import re

_LABEL = r"""
    (?P<upper>(?:ARTICLE|Article|CHAPTER|Chapter|PART|Part|BOOK|Book)\b)
  | (?P<inner>(?:SECTION|Section|CLAUSE|Clause)\b|§)
  | (?P<outer>(?:EXHIBIT|Exhibit|SCHEDULE|Schedule|APPENDIX|Appendix|ANNEX|Annex|ATTACHMENT|Attachment)\b)
"""
MARK = re.compile(
    rf"""(?P<label>{_LABEL})?[ \t]*
    (?P<number>["“]?(?:\d{{1,2}}(?:\.\d{{1,3}}){{0,5}}|[A-Z](?:\.\d{{1,2}}){{1,4}}|[IVX]{{1,6}}|[A-Z])["”]?)
    (?P<dot>\.?)(?:[ \t]*[:–—-](?=\s|$)|(?=\s|$)|(?<=\d\.)(?=[A-Z]))[ \t]*""",
    re.VERBOSE,
)
_TITLE_END = re.compile(
    r"(?P<mark>[.:])[)\"”’]?[ \t]+(?=\S)|[ \t]+[–—-]{1,2}[ \t]+(?=\S)|[ \t]{3,}(?=\S)"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’./&-]*\w)?")
_SMALL = (
    "a an and as at but by for from if in into nor of on or out per the to under upon via with "
    "within without "
    "not non than de la du des und der die das et"
)
_SMALL_WORDS = frozenset(_SMALL.split())
_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "no",
        "nos",
        "art",
        "sec",
        "st",
        "vs",
        "cf",
        "al",
        "inc",
        "corp",
        "ltd",
        "co",
    ]
)
_VERB = re.compile(
    r"\b(?:shall|will|must|may|can|is|are|was|were|has|have|means|agrees?|hereby|which|that|you|we|it)\b",
    re.I,
)
_NOT_A_TITLE = re.compile(
    r"""\.{4} | (?:\.\ ){3} | _{3} | \*{3} | /s/ | [@|=<>$€£%\\{}•] | www\. | \d{3} | \d{1,3}$ | \d\.\d | \S[ \t]{3,}\S
    | \b(?:inc|llc|l\.l\.c|ltd|limited|corp|corporation|company|plc|gmbh|s\.a|n\.a|l\.p|lp|llp)\b\.?[\s,)"”]*$
    | \b(?:page|by:|name:|title:|date[d:]|its:|source:|tel|fax|attn|whereas|witness\w*|now,?\ therefore)
    | \b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ \d | \d\ (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)
    | ^(?:months?|years?|days?|hours?|minutes?|units?|january|february|march|april|june|july|august|september|october
        |november|december)\b""",
    re.VERBOSE | re.IGNORECASE,
)
TITLE_WORDS, TITLE_LENGTH = 12, 100
_ROMAN = {"I": 1, "V": 5, "X": 10}


def read_number(mark: re.Match[str]) -> tuple[str, str, tuple[int, ...]]:
    """Kind, family (numbers of one family are one sequence) and value; an empty kind for what is no
    heading's number."""
    shown = mark["number"].strip('"“”')
    if mark["outer"]:
        return ("" if "." in shown else "outer"), "outer", ()
    kind = "upper" if mark["upper"] else "number"
    if shown[0].isdigit():
        parts = tuple(int(part) for part in shown.split("."))
        value = parts[:-1] if len(parts) > 1 and parts[-1] == 0 else parts
        return kind, mark["label"] or "arabic", value
    if "." in shown:
        return (
            ("" if mark["label"] else kind),
            "letter",
            (ord(shown[0]) - 64, *map(int, shown[2:].split("."))),
        )
    if set(shown) <= set(_ROMAN) and (mark["label"] or mark["dot"]):
        values = [_ROMAN[letter] for letter in shown]
        signed = [-v if v < max(values[i:]) else v for i, v in enumerate(values)]
        return "upper", (mark["label"] or "roman"), (sum(signed),)
    return "", "", ()


def continues(open_numbers: list[tuple[int, ...]], number: tuple[int, ...]) -> bool:
    """Whether `number` follows one of the last numbers (a gap of two is allowed) or starts a list;
    notes it if so."""
    for i in range(len(open_numbers) - 1, -1, -1):
        last = open_numbers[i]
        same = next(
            (k for k, (a, b) in enumerate(zip(last, number, strict=False)) if a != b),
            min(len(last), len(number)),
        )
        if same == len(number):
            continue
        step = number[same] - (last[same] if same < len(last) else 0)
        if 1 <= step <= 3 and all(part <= 2 for part in number[same + 1 :]):
            open_numbers[i:] = [number]
            return True
    if number[0] <= (1 if open_numbers else 3) and all(part <= 1 for part in number[1:]):
        open_numbers[:] = [*open_numbers[-3:], number]
        return True
    return False


def title_ends(text: str, mark: re.Match[str], right: int, alone: bool) -> tuple[int, int]:
    """Ends of the title and of the heading with the space behind it; (0, 0) when there is no clean
    title."""
    begin = mark.end()
    if begin >= right:
        return (right, right) if alone and (mark["upper"] or mark["outer"]) else (0, 0)
    for match in _TITLE_END.finditer(text, begin, min(right, begin + TITLE_LENGTH)):
        title, following = text[begin : match.start()], text[match.end()]
        if (
            is_clean(title)
            and not following.islower()
            and (match["mark"] or right - match.end() > 40)
        ):
            return match.start(), match.end()
        if match["mark"] and len((title.split() or [""])[-1]) > 1:
            break
    if right - begin > TITLE_LENGTH or not alone:
        return 0, 0
    title = text[begin:right]
    if title.endswith(".") and is_clean(title[:-1]):
        return right - 1, right
    marked = bool(mark["dot"] or mark["label"]) or "." in mark["number"]
    wide = not (marked or begin - mark.end("number") < 3)  # a number far from its text is a table's
    return (
        (right, right)
        if not wide and (is_clean(title) or _is_sentence_case(title, marked))
        else (0, 0)
    )


def _is_sentence_case(title: str, marked: bool) -> bool:
    """A short phrase without a verb, in title case or not; scripts without case are measured in
    characters."""
    cased = title[0].isupper()
    fits = len(title.split()) <= TITLE_WORDS and (cased or len(title) <= 40)
    if (
        not marked
        or not fits
        or title[0].islower()
        or not title[0].isalpha()
        or title[-1] in ".,;:。，；：、"
    ):
        return False
    return not _VERB.search(title) and not _NOT_A_TITLE.search(title)


def is_clean(title: str) -> bool:
    """Capitals or title case, at most ten words, and nothing that titles do not have."""
    words = _WORD.findall(title) if len(title) <= TITLE_LENGTH else []
    if not words or len(title.split()) > 10 or len(words[0]) < 2 or _NOT_A_TITLE.search(title):
        return False
    if not title[0].isupper() or title[-1] in ",;:" or words[-1].lower() in _ABBREVIATIONS:
        return False
    if title.isupper():
        return max(map(len, words)) > 2
    initials = [word for word in words if len(word) < 3 and word.isupper()]
    return (
        not initials
        and all(word[0].isupper() or word in _SMALL_WORDS for word in words)
        and len(words[-1]) > 2
    )
