"""Comparison of a model's answer with its source, by words (HiQA's formatter).

Guards refuse an answer; words that it left out are put back. "Core" is the part of the source to be
converted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

import regex

from structrag.reading.escaping import escaped_line
from structrag.reading.markdown import markdown_headings
from structrag.text.folding import SPACELESS

SHORTEST, LONGEST = 0.7, 1.5  # words of the answer for each word of the core
RECALL = 0.95  # share of the core's words that the answer must have
# Words of the answer that the core may not have: a share of the core's words, plus a few.
INVENTED_SHARE, INVENTED_WORDS = 0.02, 4

_WORD = regex.compile(
    rf"[{SPACELESS}]|[[\p{{L}}\p{{M}}\p{{N}}]--[{SPACELESS}]]+", regex.VERSION1
)
_FENCED = re.compile(
    r"(?:[^\n`]{0,200}\n\s*)?(`{3,}|~{3,})[ \t]*(?:(?:markdown|md)[ \t]*)?\n(.*)\n[ \t]*\1",
    re.DOTALL | re.IGNORECASE,
)
_HEADING_NUMBER = re.compile(
    r"^ {0,3}#{1,6}[ \t]+[*_]*(\d{1,3}(?:\.\d{1,3})*)\.?(?=[ \t])", re.MULTILINE
)
_TITLE_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?(?=\s)")


class Word(NamedTuple):
    """A word and its place in the text, in characters.

    Example:
        >>> words_of("Two Words")[1]
        Word(form='words', start=4, end=9)
    """

    form: str  # NFKC, casefolded
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Runs of letters, marks and digits with their places. A character of a script without spaces
    is a word of its own."""
    return [
        Word(_form(match[0]), match.start(), match.end())
        for match in _WORD.finditer(text)
    ]


def forms(text: str) -> list[str]:
    """The words of a text without their places."""
    return [_form(word) for word in _WORD.findall(text)]


def missing(source: Iterable[str], answer: Iterable[str]) -> Counter[str]:
    """Count how often each form is in `source` more often than in `answer`."""
    return Counter(source) - Counter(answer)


def if_lossless(before: str, after: str, source: Sequence[str]) -> str:
    """`after`, unless it lacks more of the source's words than `before`."""
    if after == before:
        return before
    lost_before = missing(source, forms(before)).total()
    lost_after = missing(source, forms(after)).total()
    return before if lost_after > lost_before else after


def bare(answer: str, core: str) -> str:
    """The Markdown in an answer, without what the model put around it.

    Text before the mark of the beginning and after that of the end is removed unless words of the
    core would be lost; all marks are removed, however misspelt. So is a fence (with a line of
    introduction) around all of it, except if the core has one itself, and if words would be lost.
    """
    answer = _core_part(answer, core).strip()
    whole = _FENCED.fullmatch(answer)
    if whole and not core.lstrip().startswith(("```", "~~~")):
        return if_lossless(answer, whole[2].strip(), forms(core))
    return answer


def _core_part(answer: str, core: str) -> str:
    """Return the text between the marks; all text if words would be lost."""
    part, whole = between_marks(answer, core), without_marks(answer, core)
    if part == whole:
        return part
    source = forms(core)
    more = missing(source, forms(part)).total() - missing(source, forms(whole)).total()
    # Common words of the padding may make good for some that the part lacks.
    return part if more <= (1 - RECALL) * len(source) else whole


def fault_of(core: str, answer: str) -> str:
    """Return the fault of an answer, "" if it can be used.

    The fault is the end of a sentence that begins with "it". Four guards are asked in turn:

    - words out for each word in are within [0.7, 1.5];
    - at least 95 % of the core's words are there;
    - at most 2 % and four words are new;
    - the numbers of headings do not go down, unless the core has that heading.

    Numbers that the answer puts in front of headings do not count as words. A core without words
    asks for an answer without words.
    """
    source_words, answer_words = forms(core), forms(answer)
    if not answer_words and source_words:
        return "is empty"
    if not source_words:
        return "has words where the source has none" if answer_words else ""
    numbers = _new_numbers(source_words, answer_words, answer)
    length = len(answer_words) - numbers.total()
    if not SHORTEST <= length / len(source_words) <= LONGEST:
        return f"has {length} words where the source has {len(source_words)}"
    lost = missing(source_words, answer_words).total()
    if lost > (1 - RECALL) * len(source_words):
        return f"leaves out {lost} of the source's {len(source_words)} words"
    invented = (missing(answer_words, source_words) - numbers).total()
    if invented > INVENTED_SHARE * len(source_words) + INVENTED_WORDS:
        return f"has {invented} words that the source does not have"
    return _numbering_fault(source_words, answer)


def invented_words(core: str, answer: str) -> list[str]:
    """The words that the answer has more often than the core. They come in the order of the answer,
    numbers of headings left aside."""
    source_words, answer_words = forms(core), forms(answer)
    extra = missing(answer_words, source_words)
    return list((extra - _new_numbers(source_words, answer_words, answer)).elements())


def _new_numbers(
    source: Sequence[str], words: Sequence[str], answer: str
) -> Counter[str]:
    """The numbers that the answer put in front of headings."""
    written = Counter(
        form for number in _HEADING_NUMBER.findall(answer) for form in forms(number)
    )
    return missing(words, source) & written


def _numbering_fault(source: Sequence[str], answer: str) -> str:
    """The first heading number that goes down without the source's doing so."""
    text = f" {' '.join(source)} "
    numbered = []
    for heading in markdown_headings(answer):
        match = _TITLE_NUMBER.match(f"{heading.title} ")
        if match:
            numbered.append((tuple(map(int, match[1].split("."))), heading.title))
    for (above, _), (number, title) in pairwise(numbered):
        if number < above and f" {' '.join(forms(title))} " not in text:
            shown = ".".join(map(str, above))
            return f"numbers the heading {title[:60]!r} after one numbered {shown}"
    return ""


def restored(core: str, answer: str) -> tuple[str, list[str]]:
    """Put words that the answer lacks back, and list the passages.

    A passage goes behind the word that it follows in the core. If that word is in a heading or a
    table, the passage goes after the block, as a paragraph. Words that the answer has elsewhere are
    not put back.
    """
    source_words, answer_words = words_of(core), words_of(answer)
    lost = missing(
        (word.form for word in source_words), (word.form for word in answer_words)
    )
    if not lost:
        return answer, []
    passages = []
    parts: list[str] = []
    position = 0
    for first, last, place in _lost_runs(source_words, answer_words, lost):
        passage = " ".join(
            core[source_words[first].start : source_words[last - 1].end].split()
        )
        after = answer_words[place - 1].end if place else 0
        at, text = _insertion(answer, after, passage)
        at = max(at, position)
        parts += [answer[position:at], text]
        position = at
        passages.append(passage)
    return "".join([*parts, answer[position:]]).strip(), passages


def _lost_runs(
    source: list[Word], answer: list[Word], lost: dict[str, int]
) -> Iterator[tuple[int, int, int]]:
    """Runs `[first, last)` of the source's words to put back, in order. The third number is the
    answer's word before which a run belongs."""
    left = dict(lost)
    source_forms = [word.form for word in source]
    answer_forms = [word.form for word in answer]
    matcher = SequenceMatcher(None, source_forms, answer_forms, autojunk=False)
    for tag, first, last, place, _ in matcher.get_opcodes():
        if tag not in ("delete", "replace"):
            continue
        i = first
        while i < last:
            run = i
            while run < last and left.get(source_forms[run], 0) > 0:
                left[source_forms[run]] -= 1
                run += 1
            if run > i:
                yield i, run, place
            i = max(run, i + 1)


def _insertion(answer: str, after: int, passage: str) -> tuple[int, str]:
    """Return the place of a passage in the answer, and its text with separators."""
    if not after:
        return 0, f"{escaped_line(passage)}\n\n"
    line = answer[answer.rfind("\n", 0, after) + 1 : after].lstrip()
    if not line.startswith(("#", "|")):
        return after, f" {passage}"
    # A heading is one line, a table all lines down to the next empty one.
    block_end = answer.find("\n\n" if line.startswith("|") else "\n", after)
    block_end = len(answer) if block_end < 0 else block_end
    return block_end, f"\n\n{escaped_line(passage)}"


def _form(word: str) -> str:
    return (
        word.lower()
        if word.isascii()
        else normalize("NFKC", normalize("NFKC", word).casefold())
    )


# -- the marks around what was to be converted


_LESS = r"(?:[<＜«‹≪〈《]|&lt;)"
_GREATER = r"(?:[>＞»›≫〉》]|&gt;)"
# Characters around the word on its line.
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
    """Extend a mark to its line if the rest of the line is dress."""
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
