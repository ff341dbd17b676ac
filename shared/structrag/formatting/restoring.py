"""Words that a model left out, put back where they stood."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from structrag.formatting.words import Word, missing, words_of
from structrag.reading.escaping import escaped_line


def restored(core: str, answer: str) -> tuple[str, list[str]]:
    """The answer with every word of the core, and the passages that had to be put back.

    A passage goes behind the word it follows in the core; behind the block, as a paragraph, where
    that word is in a heading or a table; behind the line in code. Words that the answer has
    elsewhere are not put back.
    """
    wanted, given = words_of(core), words_of(answer)
    lost = missing((word.form for word in wanted), (word.form for word in given))
    if not lost:
        return answer, []
    passages = []
    parts: list[str] = []
    position = 0
    for first, last, place in _lost_runs(wanted, given, lost):
        passage = " ".join(core[wanted[first].start : wanted[last - 1].end].split())
        after = given[place - 1].end if place else 0
        at, text = _insertion(answer, after, passage)
        at = max(at, position)
        parts += [answer[position:at], text]
        position = at
        passages.append(passage)
    return "".join([*parts, answer[position:]]).strip(), passages


def _lost_runs(
    wanted: list[Word], given: list[Word], lost: dict[str, int]
) -> Iterator[tuple[int, int, int]]:
    """Runs `[first, last)` of the core's words to put back before the answer's word `place`, in
    order."""
    left = dict(lost)
    matcher = SequenceMatcher(
        None, [w.form for w in wanted], [w.form for w in given], autojunk=False
    )
    for tag, first, last, start, _ in matcher.get_opcodes():
        if tag not in ("delete", "replace"):
            continue
        i = first
        while i < last:
            run = i
            while run < last and left.get(wanted[run].form, 0) > 0:
                left[wanted[run].form] -= 1
                run += 1
            if run > i:
                yield i, run, start
            i = max(run, i + 1)


def _insertion(answer: str, after: int, passage: str) -> tuple[int, str]:
    """Where in the answer the passage goes, and with what around it."""
    if not after:
        return 0, f"{escaped_line(passage)}\n\n"
    start = answer.rfind("\n", 0, after) + 1
    line_end = answer.find("\n", after)
    line_end = len(answer) if line_end < 0 else line_end
    line = answer[start:line_end].lstrip()
    if line.startswith(("#", "|")):
        block_end = answer.find("\n\n", after) if line.startswith("|") else line_end
        return (len(answer) if block_end < 0 else block_end), f"\n\n{escaped_line(passage)}"
    return after, f" {passage}"
