"""What the numbers and titles of headings in plain text look like."""

from __future__ import annotations

import re

_LABEL = r"""
    (?P<upper>(?:ARTICLE|Article|CHAPTER|Chapter|PART|Part|BOOK|Book)\b)
  | (?P<inner>(?:SECTION|Section|CLAUSE|Clause)\b|§)
  | (?P<outer>(?:EXHIBIT|Exhibit|SCHEDULE|Schedule|APPENDIX|Appendix|ANNEX|Annex
        |ATTACHMENT|Attachment)\b)
"""
MARK = re.compile(
    rf"""(?P<label>{_LABEL})?[ \t]*
    (?P<number>["“]?
        (?:\d{{1,2}}(?:\.\d{{1,3}}){{0,5}}|[A-Z](?:\.\d{{1,2}}){{1,4}}|[IVX]{{1,6}}|[A-Z])
        ["”]?)
    (?P<dot>\.?)(?:[ \t]*[:–—-](?=\s|$)|(?=\s|$)|(?<=\d\.)(?=[A-Z]))[ \t]*""",
    re.VERBOSE,
)
_TITLE_END = re.compile(
    r"(?P<mark>[.:])[)\"”’]?[ \t]+(?=\S)|[ \t]+[–—-]{1,2}[ \t]+(?=\S)|[ \t]{3,}(?=\S)"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’./&-]*\w)?")
_SMALL = (
    "a an and as at but by for from if in into nor of on or out per the to under upon via with "
    "within without not non than de la du des und der die das et"
)
_SMALL_WORDS = frozenset(_SMALL.split())
_SHORTENED = "mr mrs ms dr no nos art sec st vs cf al inc corp ltd co"
_ABBREVIATIONS = frozenset(_SHORTENED.split())
_VERB = re.compile(
    r"\b(?:shall|will|must|may|can|is|are|was|were|has|have|means|agrees?|hereby|which|that|you"
    r"|we|it)\b",
    re.IGNORECASE,
)
_NOT_A_TITLE = re.compile(
    r"""\.{4} | (?:\.\ ){3} | _{3} | \*{3} | /s/ | [@|=<>$€£%\\{}•] | www\.
    | \d{3} | \d{1,3}$ | \d\.\d | \S[ \t]{3,}\S
    | \b(?:inc|llc|l\.l\.c|ltd|limited|corp|corporation|company|plc|gmbh|s\.a|n\.a|l\.p|lp|llp)\b
        \.?[\s,)"”]*$
    | \b(?:page|by:|name:|title:|date[d:]|its:|source:|tel|fax|attn|whereas|witness\w*
        |now,?\ therefore)
    | \b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ \d
    | \d\ (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)
    | ^(?:months?|years?|days?|hours?|minutes?|units?|january|february|march|april|june|july|august
        |september|october|november|december)\b""",
    re.VERBOSE | re.IGNORECASE,
)
TITLE_WORDS, TITLE_LENGTH = 12, 100
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def roman_value(numeral: str) -> int:
    """The value of a Roman number: 4 for "iv" and "IV"."""
    values = [_ROMAN[letter] for letter in numeral.upper()]
    return sum(
        -value if value < max(values[i:]) else value for i, value in enumerate(values)
    )


def read_number(mark: re.Match[str]) -> tuple[str, str, tuple[int, ...]]:
    """Kind, family and value of a heading's number.

    Numbers of one family are one sequence. The kind is empty for what is no heading's number.
    """
    shown = mark["number"].strip('"“”')
    if mark["outer"]:
        return ("" if "." in shown else "outer"), "outer", ()
    if not shown[0].isdigit():
        return _number_in_letters(mark, shown)
    value = tuple(int(part) for part in shown.split("."))
    if len(value) > 1 and value[-1] == 0:
        value = value[:-1]  # 3.0 is written for 3
    return ("upper" if mark["upper"] else "number"), mark["label"] or "arabic", value


def _number_in_letters(
    mark: re.Match[str], shown: str
) -> tuple[str, str, tuple[int, ...]]:
    """`read_number` for A.1 and for Roman numbers."""
    label = mark["label"]
    if "." in shown:
        letter, *parts = shown.split(".")
        value = (ord(letter) - ord("A") + 1, *map(int, parts))
        return ("" if label else "number"), "letter", value
    # Letters alone are taken for a number only behind a label or before a dot.
    if set(shown) <= set("IVX") and (label or mark["dot"]):
        return "upper", label or "roman", (roman_value(shown),)
    return "", "", ()


def continues(open_numbers: list[tuple[int, ...]], number: tuple[int, ...]) -> bool:
    """Whether `number` follows one of the last numbers or starts a list.

    A gap of two is allowed. If so, the number is noted in `open_numbers`.
    """
    for i in range(len(open_numbers) - 1, -1, -1):
        if _follows(number, open_numbers[i]):
            open_numbers[i:] = [number]
            return True
    highest = 1 if open_numbers else 3  # that the first number of a list may be
    if number[0] <= highest and all(part <= 1 for part in number[1:]):
        open_numbers[:] = [*open_numbers[-3:], number]
        return True
    return False


def _follows(number: tuple[int, ...], last: tuple[int, ...]) -> bool:
    """Whether a number comes behind the last one. At most two are left out."""
    same = 0  # components that both begin with
    while same < min(len(number), len(last)) and number[same] == last[same]:
        same += 1
    if same == len(number):
        return False
    before = last[same] if same < len(last) else 0
    return 1 <= number[same] - before <= 3 and all(
        part <= 2 for part in number[same + 1 :]
    )


def title_ends(
    text: str, mark: re.Match[str], right: int, alone: bool
) -> tuple[int, int] | None:
    """The ends of a title, and of its heading.

    The heading's is behind the white space that follows. None where there is no clean title.
    `right` is where the line's text ends; `alone`: the title may fill the line.
    """
    begin = mark.end()
    if begin >= right:
        # A label such as `ARTICLE IV` is a heading without a title, a number is none.
        labelled = mark["upper"] or mark["outer"]
        return (right, right) if alone and labelled else None
    ends = _run_in_title(text, begin, right)
    if ends is not None or not alone or right - begin > TITLE_LENGTH:
        return ends
    return _title_of_line(text, mark, right)


def _run_in_title(text: str, begin: int, right: int) -> tuple[int, int] | None:
    """The ends of a title before its clause on the same line."""
    for match in _TITLE_END.finditer(text, begin, min(right, begin + TITLE_LENGTH)):
        title = text[begin : match.start()]
        # Behind a dash or a wide space a clause must follow, not the rest of a title.
        before_clause = match["mark"] or right - match.end() > 40
        if is_clean(title) and before_clause and not text[match.end()].islower():
            return match.span()
        words = title.split()
        if match["mark"] and words and len(words[-1]) > 1:
            # A sentence ends here; behind a single letter the dot may be an initial's.
            break
    return None


def _title_of_line(
    text: str, mark: re.Match[str], right: int
) -> tuple[int, int] | None:
    """The ends of a title that fills the rest of its line."""
    begin = mark.end()
    title = text[begin:right]
    if title.endswith(".") and is_clean(title[:-1]):
        return right - 1, right
    marked = bool(mark["dot"] or mark["label"]) or "." in mark["number"]
    if not marked and begin - mark.end("number") >= 3:
        return None  # a number far from its text is a table's
    fits = is_clean(title) or (marked and _is_sentence_case(title))
    return (right, right) if fits else None


def _is_sentence_case(title: str) -> bool:
    """A short phrase without a verb, in title case or not.

    Scripts without case are measured in characters.
    """
    if len(title.split()) > TITLE_WORDS or (not title[0].isupper() and len(title) > 40):
        return False
    if title[0].islower() or not title[0].isalpha() or title[-1] in ".,;:。，；：、":
        return False
    return not _VERB.search(title) and not _NOT_A_TITLE.search(title)


def is_clean(title: str) -> bool:
    """Capitals or title case, at most ten words, and nothing untypical."""
    if len(title) > TITLE_LENGTH or len(title.split()) > 10:
        return False
    words = _WORD.findall(title)
    if not words or len(words[0]) < 2 or _NOT_A_TITLE.search(title):
        return False
    if (
        not title[0].isupper()
        or title[-1] in ",;:"
        or words[-1].lower() in _ABBREVIATIONS
    ):
        return False
    if title.isupper():
        return max(map(len, words)) > 2
    return len(words[-1]) > 2 and all(_is_capitalised(word) for word in words)


def _is_capitalised(word: str) -> bool:
    """Whether a word is in title case. Initials and short capitals are not."""
    if len(word) < 3 and word.isupper():
        return False
    return word[0].isupper() or word in _SMALL_WORDS
