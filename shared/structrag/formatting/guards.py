"""Whether a model's Markdown still says what its source said (HiQA's formatter, `hiqa.md` section
3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from structrag.formatting.words import forms, missing
from structrag.reading.markdown import markdown_headings

SHORTEST, LONGEST = 0.7, 1.5  # words of the answer for each word of the core
RECALL = 0.95  # share of the core's words that the answer must have
INVENTED_SHARE, INVENTED_WORDS = (
    0.02,
    4,
)  # words of the answer that the core may not have: a share of its words, plus a few

_HEADING_NUMBER = re.compile(
    r"^ {0,3}#{1,6}[ \t]+[*_]*(\d{1,3}(?:\.\d{1,3})*)\.?(?=[ \t])", re.MULTILINE
)
_NUMBER = re.compile(r"^( {0,3}#{1,6}[ \t]+)[*_]*\d{1,3}(?:\.\d{1,3})*\.?(?=[ \t])", re.MULTILINE)
_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?(?=\s)")


def fault_of(core: str, answer: str) -> str:
    """What is wrong with the answer, as the end of a sentence that begins with "it"; "" if it can
    be used.

    Words out for each word in must be within [0.7, 1.5], at least 95 % of the core's words there,
    at most 2 % and four words new, and the numbers of headings may not go down unless the core has
    that heading. Numbers that the answer puts in front of headings do not count; a core without
    words asks for an answer without.
    """
    wanted, given = forms(core), forms(answer)
    if not given and wanted:
        return "is empty"
    if not wanted:
        return "has words where the source has none" if given else ""
    numbers = _new_numbers(wanted, given, answer)
    length = len(given) - numbers.total()
    if not SHORTEST <= length / len(wanted) <= LONGEST:
        return f"has {length} words where the source has {len(wanted)}"
    lost = missing(wanted, given).total()
    if lost > (1 - RECALL) * len(wanted):
        return f"leaves out {lost} of the source's {len(wanted)} words"
    invented = (missing(given, wanted) - numbers).total()
    if invented > INVENTED_SHARE * len(wanted) + INVENTED_WORDS:
        return f"has {invented} words that the source has not"
    return _numbering_fault(wanted, answer)


def invented_words(core: str, answer: str) -> list[str]:
    """The words that the answer has more often than the core, numbers of headings aside, in the
    order of the answer."""
    wanted, given = forms(core), forms(answer)
    return list((missing(given, wanted) - _new_numbers(wanted, given, answer)).elements())


def _new_numbers(wanted: Sequence[str], given: Sequence[str], answer: str) -> Counter[str]:
    """The numbers that the answer put in front of headings."""
    written = Counter(form for number in _HEADING_NUMBER.findall(answer) for form in forms(number))
    return missing(given, wanted) & written


def _numbering_fault(wanted: Sequence[str], answer: str) -> str:
    """A heading number that goes down, where the source does not have just this numbered heading."""
    source = f" {' '.join(wanted)} "
    numbered = []
    for heading in markdown_headings(answer):
        found = _NUMBER.match(f"{heading.title} ")
        if found:
            numbered.append((tuple(map(int, found[1].split("."))), heading.title))
    for (above, _), (number, title) in pairwise(numbered):
        if number < above and f" {' '.join(forms(title))} " not in source:
            return (
                f"numbers the heading {title[:60]!r} after one numbered {'.'.join(map(str, above))}"
            )
    return ""
