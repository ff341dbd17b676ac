"""What stands between two windows' Markdown, and what both have said: padding converted too, lines
repeated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from structrag.formatting.words import forms, if_lossless, words_of

OVERLAP_LINES = 40
ANCHOR = 8  # words of the core that must follow padding for it to be taken for padding

_BLOCK_START = re.compile(r"#{1,6}\s|`{3}|~{3}|\||[-*+]\s|\d+[.)]\s|>")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)


def without_padding(answer: str, before: str, core: str, after: str) -> str:
    """The answer without the words of the padding at its beginning and end, if the model converted
    those too.

    Only words that stand there exactly as in the padding, next to the core's first or last words,
    and only where no word of the core goes with them.
    """
    wanted, shown_before, shown_after = forms(core), forms(before), forms(after)
    answer = if_lossless(answer, _without_head(answer, shown_before, wanted), wanted)
    return if_lossless(answer, _without_tail(answer, shown_after, wanted), wanted)


def without_overlap(previous: str, answer: str, core: str) -> str:
    """The answer without first lines that repeat the previous answer's last ones: the longest such
    run within 40 lines.

    Lines that the core itself repeats stay, so no word of it is lost.
    """
    ends = [line for line in previous.splitlines() if line.strip()][-OVERLAP_LINES:]
    lines = answer.splitlines()
    filled = [i for i, line in enumerate(lines) if line.strip()][:OVERLAP_LINES]
    begins = [" ".join(lines[i].split()) for i in filled]
    tails = [" ".join(line.split()) for line in ends]
    for n in range(min(len(tails), len(begins)), 0, -1):
        if tails[-n:] == begins[:n]:
            rest = "\n".join(lines[filled[n - 1] + 1 :]).strip()
            return if_lossless(answer, rest, forms(core))
    return answer


def separator(above: str, below: str, gap: str, core: str) -> str:
    """What to put between two windows' Markdown, given the white space between their cores and the
    text of the second core.

    The white space itself, unless the model began a block where the source had none.
    """
    if gap.count("\n") > 1:
        return "\n\n"
    first, last = below.split("\n", 1)[0], above.rsplit("\n", 1)[-1]
    made = bool(_BLOCK_START.match(first)) and not core.startswith(first[:10])
    closed = bool(re.match(r"#{1,6}\s", last)) or (
        bool(_FENCE.match(last)) and not _open_fence(above)
    )
    if not (made or closed):
        return gap
    return "\n" if _same_block(last, first) else "\n\n"


def with_closed_fences(parts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The windows' Markdown with code fences closed, and the positions of those that were left
    open.

    Code that runs over two windows, open at the end of one and closed in the next, stays as it is.
    """
    result = list(parts)
    closed = []
    i = 0
    while i < len(result):
        fence = _open_fence(result[i])
        if (
            fence
            and i + 1 < len(result)
            and _open_fence(result[i + 1])
            and _closes(result[i + 1], fence)
        ):
            i += 2
            continue
        if fence:
            result[i] += f"\n{fence}"
            closed.append(i)
        i += 1
    return result, closed


def _open_fence(text: str) -> str:
    """The fence that is open at the end of a text, or ""."""
    mark = ""
    for found in _FENCE.finditer(text):
        if not mark:
            if found[1][0] == "~" or "`" not in found[2]:
                mark = found[1]
        elif found[1].startswith(mark) and not found[2].strip():
            mark = ""
    return mark


def _closes(text: str, fence: str) -> bool:
    """Whether the first fence in the text is a closing one."""
    found = _FENCE.search(text)
    return bool(found) and not found[2].strip() and found[1].startswith(fence)  # type: ignore[index]


def _same_block(last: str, first: str) -> bool:
    """Whether two lines are rows of one table or items of one list."""
    if last.startswith("|") or first.startswith("|"):
        return last.startswith("|") and first.startswith("|")
    items = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
    return bool(items.match(last) and items.match(first))


def _without_head(answer: str, padding: Sequence[str], core: Sequence[str]) -> str:
    words = words_of(answer)
    given = [word.form for word in words]
    anchor = list(core[:ANCHOR])
    for n in range(min(len(padding), len(given)), 0, -1):
        if given[:n] == list(padding[-n:]) and given[n : n + len(anchor)] == anchor:
            start = words[n].start
            line = answer.rfind("\n", 0, start) + 1
            return answer[line if words[n - 1].end <= line else start :].lstrip()
    return answer


def _without_tail(answer: str, padding: Sequence[str], core: Sequence[str]) -> str:
    words = words_of(answer)
    given = [word.form for word in words]
    anchor = list(core[-ANCHOR:])
    for n in range(min(len(padding), len(given)), 0, -1):
        rest = len(given) - n
        if (
            given[rest:] == list(padding[:n])
            and given[max(0, rest - len(anchor)) : rest] == anchor
            and rest
        ):
            start = words[rest].start
            line = answer.rfind("\n", 0, start) + 1
            return answer[: line if words[rest - 1].end <= line else start].rstrip()
    return answer
