"""Two windows' Markdown joined, without what both have said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from structrag.formatting.answers import forms, if_lossless, words_of

OVERLAP_LINES = 40
ANCHOR = 8  # words of the core that must follow padding for it to be taken for padding

_BLOCK_START = re.compile(r"#{1,6}\s|`{3}|~{3}|\||[-*+]\s|\d+[.)]\s|>")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")


def without_padding(answer: str, before: str, core: str, after: str) -> str:
    """The answer without padding that the model converted too.

    Words go that stand at the answer's ends exactly as in the padding, next to the core's first
    or last words, and only where no word of the core goes with them.
    """
    words = forms(core)
    answer = if_lossless(answer, _without_head(answer, forms(before), words), words)
    return if_lossless(answer, _without_tail(answer, forms(after), words), words)


def without_overlap(previous: str, answer: str, core: str) -> str:
    """The answer without first lines that repeat the previous answer's last. The longest such run
    within 40 lines goes. Lines that the core itself repeats stay, so no word of it is lost."""
    ends = [line for line in previous.splitlines() if line.strip()][-OVERLAP_LINES:]
    tails = [" ".join(line.split()) for line in ends]
    lines = answer.splitlines()
    filled = [i for i, line in enumerate(lines) if line.strip()][:OVERLAP_LINES]
    begins = [" ".join(lines[i].split()) for i in filled]
    for n in range(min(len(tails), len(begins)), 0, -1):
        if tails[-n:] == begins[:n]:
            rest = "\n".join(lines[filled[n - 1] + 1 :]).strip()
            return if_lossless(answer, rest, forms(core))
    return answer


def separator(above: str, below: str, gap: str, core: str) -> str:
    """What to put between two windows' Markdown.

    It is the white space between their cores, `gap`, unless the model began or ended a block where
    the source had none. `core` is the second window's.
    """
    if gap.count("\n") > 1:
        return "\n\n"
    first, last = below.split("\n", 1)[0], above.rsplit("\n", 1)[-1]
    # A mark that the core has too is the source's own sign, perhaps inside a line.
    begins_block = bool(_BLOCK_START.match(first)) and not core.startswith(first[:10])
    closes_fence = bool(_FENCE.match(last)) and not _open_fence(above)
    if not (begins_block or closes_fence or _HEADING.match(last)):
        return gap
    return "\n" if _same_block(last, first) else "\n\n"


def with_closed_fences(parts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The windows' Markdown with code fences closed, and where one was open. Code that runs over
    two windows, open at the end of one and closed in the next, stays as it is."""
    result = list(parts)
    closed = []
    i = 0
    while i < len(result):
        fence = _open_fence(result[i])
        if fence and i + 1 < len(result) and _goes_on(result[i + 1], fence):
            i += 2
            continue
        if fence:
            result[i] += f"\n{fence}"
            closed.append(i)
        i += 1
    return result, closed


def _goes_on(text: str, fence: str) -> bool:
    """Whether code open before a text ends in it. Read by itself, such a text seems to open a fence
    where the code ends."""
    match = _FENCE.search(text)
    if match is None or not _open_fence(text):
        return False
    return not match[2].strip() and match[1].startswith(fence)


def _open_fence(text: str) -> str:
    """The fence left open at the end of a text, or ""."""
    mark = ""
    for match in _FENCE.finditer(text):
        if not mark:
            # A line with another backtick behind the fence is code inside a line.
            if match[1].startswith("~") or "`" not in match[2]:
                mark = match[1]
        elif match[1].startswith(mark) and not match[2].strip():
            mark = ""
    return mark


def _same_block(last: str, first: str) -> bool:
    """Whether two lines belong to one table or list."""
    are_rows = last.startswith("|") and first.startswith("|")
    return are_rows or bool(_ITEM.match(last) and _ITEM.match(first))


def _without_head(answer: str, padding: Sequence[str], core: Sequence[str]) -> str:
    words = words_of(answer)
    answer_forms = [word.form for word in words]
    anchor = list(core[:ANCHOR])
    for n in range(min(len(padding), len(words)), 0, -1):
        follows = answer_forms[n : n + len(anchor)]
        if answer_forms[:n] == list(padding[-n:]) and follows == anchor:
            return answer[_cut(answer, words[n - 1].end, words[n].start) :].lstrip()
    return answer


def _without_tail(answer: str, padding: Sequence[str], core: Sequence[str]) -> str:
    words = words_of(answer)
    answer_forms = [word.form for word in words]
    anchor = list(core[-ANCHOR:])
    for n in range(min(len(padding), len(words)), 0, -1):
        rest = len(words) - n
        precedes = answer_forms[max(0, rest - len(anchor)) : rest]
        if rest and answer_forms[rest:] == list(padding[:n]) and precedes == anchor:
            return answer[
                : _cut(answer, words[rest - 1].end, words[rest].start)
            ].rstrip()
    return answer


def _cut(answer: str, end: int, start: int) -> int:
    """Where to cut between a word and the next. It is the beginning of the next word's line, so
    that its marks stay with it, unless both stand in one line."""
    line = answer.rfind("\n", 0, start) + 1
    return line if end <= line else start
