"""What the titles of headings in plain text look like."""

from __future__ import annotations

import re

from structrag.reading.numbering import is_labelled, is_marked

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
    | ^(?:january|february|march|april|june|july|august|september|october|november|december)\b""",
    re.VERBOSE | re.IGNORECASE,
)
TITLE_WORDS, TITLE_LENGTH = 12, 100
_LOOSE_WORDS = 16
_DOTTED_WORDS = 8
_NO_LOOSE_TITLE = re.compile(
    r"""\.{4} | (?:\.\ ){3} | _{3} | \*{3} | /s/ | [@|=<>$€£\\{}•] | www\. | \S[ \t]{3,}\S
    | (?<!\d)\ \d{1,3}$ | \b(?:by|name|title|date|its|tel|fax|attn):
    | \b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ \d
    | ^(?:january|february|march|april|may|june|july|august|september|october|november
        |december)\b""",
    re.VERBOSE | re.IGNORECASE,
)

AMOUNT = re.compile(r"(?:months?|years?|days?|hours?|minutes?|units?)\b", re.IGNORECASE)
# A title in brackets behind a label, as East Asian laws have it: 第1条（目的）.
_IN_BRACKETS = re.compile(
    r"(?P<title>[（(〔「\[][^\W\d_][^（）()〔〕「」\[\]\n]{1,40}[）)〕」\]])(?:\s+(?![a-z])|$)"
    r"|(?P<note>【[^\W\d_][^【】\n]{1,40}】)\s*"
)
_HAN_NUMBER = re.compile(r"\W?[一二三四五六七八九十]+\W?")
_SENTENCE_VERB = re.compile(
    r"\b(?:hat|haben|ist|sind|wird|werden|muss|müssen|kann|können|soll|gilt|darf|est|sont|doit"
    r"|peut|será|debe|puede|tiene|deve|può|pode|tem)\b"
)


def is_amount(text: str, mark: re.Match[str]) -> bool:
    """Whether a bare number counts what stands behind it: `12 Months`."""
    is_free = mark["number"] and not (mark["dot"] or mark["label"])
    return bool(is_free and AMOUNT.match(text, mark.end()))


def title_ends(
    text: str, mark: re.Match[str], right: int, alone: bool
) -> tuple[int, int] | None:
    """The ends of a title, and of its heading.

    The heading's is behind the white space that follows. None where there is no clean title.
    `right` is where the line's text ends; `alone`: the title may fill the line.
    """
    begin = mark.end()
    labelled = is_labelled(mark)
    if begin >= right:
        # A label such as `ARTICLE IV` is a heading without a title, a number is none.
        return (right, right) if alone and labelled else None
    if is_amount(text, mark):
        return None
    if labelled and (match := _IN_BRACKETS.match(text, begin, right)):
        title = match[match.lastgroup or 0]
        if not (title[1].islower() or _HAN_NUMBER.fullmatch(title)):
            return match.end(match.lastgroup or 0), match.end()
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
        if before_clause and not text[match.end()].islower() and is_clean(title):
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
    if title.endswith(".") and (is_clean(title[:-1]) or _ends_with_dot(title, mark)):
        return right - 1, right
    marked = is_marked(mark)
    if not marked and begin - mark.end("number") >= 3:
        return None  # a number far from its text is a table's
    fits = is_clean(title) or (marked and is_sentence_case(title))
    return (right, right) if fits else None


def _ends_with_dot(title: str, mark: re.Match[str]) -> bool:
    """Whether a label's title in sentence case has a full stop: `Artículo 2. Ámbito de
    aplicación.`"""
    if not (mark["label"] and mark["dot"]) or len(title.split()) > _DOTTED_WORDS:
        return False
    return is_sentence_case(title[:-1]) and not _SENTENCE_VERB.search(title)


def is_loose_title(title: str) -> bool:
    """What a number in its sequence makes a title, though it is no clean one.

    It may have a verb, a year, a company's name or small letters, and is no sentence, sum, date or
    line of a form or table.
    """
    if len(title) > TITLE_LENGTH or len(title.split()) > _LOOSE_WORDS:
        return False
    if title[-1] in ".,;:。，；：、।" or _NO_LOOSE_TITLE.search(title):
        return False
    if ";" in title or title.split()[-1].lower() in _SMALL_WORDS:
        return False
    return title[0].isalpha() or title[0] in "“\"'‘(«„"


def is_verbless(title: str) -> bool:
    """Whether a title is a phrase or a question."""
    return title[-1] in "?？" or not _VERB.search(title)


def is_short_title(title: str) -> bool:
    """Whether a line that stands out has words, is short and does not end like a sentence."""
    if len(title) > TITLE_LENGTH or len(title.split()) > TITLE_WORDS:
        return False
    return not title.endswith((".", ":", ",", ";", "!")) and any(
        map(str.isalpha, title)
    )


def is_sentence_case(title: str) -> bool:
    """A short phrase without a verb, in title case or not. Scripts without case are measured in
    characters."""
    if len(title.split()) > TITLE_WORDS or (not title[0].isupper() and len(title) > 40):
        return False
    if title[0].islower() or not title[0].isalpha() or title[-1] in ".,;:。，；：、।":
        return False
    return not _VERB.search(title) and not _NOT_A_TITLE.search(title)


def is_clean(title: str) -> bool:
    """Capitals or title case, at most ten words, and nothing untypical."""
    if len(title) > TITLE_LENGTH or not title[:1].isupper() or title[-1] in ",;:":
        return False
    words = _WORD.findall(title)
    if not words or len(words[0]) < 2 or words[-1].lower() in _ABBREVIATIONS:
        return False
    if title.isupper():
        fits = max(map(len, words)) > 2
    else:
        fits = len(words[-1]) > 2 and all(map(_is_capitalised, words))
    return fits and len(title.split()) <= 10 and not _NOT_A_TITLE.search(title)


def _is_capitalised(word: str) -> bool:
    """Whether a word is in title case. Initials and short capitals are not."""
    if len(word) < 3 and word.isupper():
        return False
    return word[0].isupper() or word in _SMALL_WORDS
