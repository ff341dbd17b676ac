"""A long text to Markdown by a language model, window after window (HiQA, section 3.1 "Markdown
formatter")."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

from structrag.errors import NoModel
from structrag.formatting.answers import (
    bare,
    fault_of,
    forms,
    if_lossless,
    invented_words,
    restored,
    words_of,
)
from structrag.model_calls.requests import Ask, Failed, Flow, Progress, ask
from structrag.model_calls.settings import counted
from structrag.reading.escaping import assembled
from structrag.text.folding import SPACELESS
from structrag.text.numbers import pluralise

COMPONENT = "hiqa.format/1"
FORMATTING = "formatting"  # what `progress` is told

# Part of a text as Markdown without a model, and what is uncertain in it.
Span = Callable[[int, int], tuple[str, list[str]]]

_HOPELESS = 5  # times as long as what was shown: a loop
_FAILED = "failed"
_NO_MODEL = "failed, there is no language model"


@dataclass(frozen=True, slots=True)
class Converting:
    """The settings of a conversion, as in `HiQAFormatter`.

    Example:
        >>> Converting(1500, 150, "Turn this into Markdown.").whole_previous
        False
    """

    window_words: int
    padding_words: int
    prompt: str
    whole_previous: bool = False
    progress: Progress | None = None


@dataclass(slots=True)
class Converted:
    """The Markdown of a text, and what happened on the way.

    Example:
        >>> Converted("# Title").fallbacks
        0
    """

    text: str = ""
    windows: int = 0
    retries: int = 0
    fallbacks: int = 0
    restored: int = 0
    uncertain: list[str] = field(default_factory=list)


def convert_flow(text: str, span: Span, settings: Converting) -> Flow[Converted]:
    """Convert a text by a model, window after window. `span` gives a window's Markdown where the
    model's answers fail."""
    result = Converted()
    all_windows = windows(text, settings.window_words, settings.padding_words)
    parts: list[str] = []
    for window in counted(settings.progress, FORMATTING, all_windows):
        previous = parts[-1] if parts else ""
        parts.append(
            (yield from _window_flow(text, window, previous, span, settings, result))
        )
    parts, closed = with_closed_fences(parts)
    for i in closed:
        result.uncertain.append(
            f"Window {i + 1}: a code block was left open and closed at the window's end."
        )
    result.text = _joined(text, all_windows, parts)
    result.windows = len(all_windows)
    return result


def _window_flow(
    text: str,
    window: Window,
    previous: str,
    span: Span,
    settings: Converting,
    result: Converted,
) -> Flow[str]:
    """A window's Markdown: an answer that passes the guards, else `span`'s."""
    core = text[window.start : window.end].strip()
    if forms(core):  # rules and dashes alone need no model
        tail, written = (
            window.tail_start,
            last_words(previous, 2 * settings.padding_words),
        )
        if settings.whole_previous:
            tail, written = window.previous_start, previous
        previous_input = text[tail : window.start].rstrip()
        prompt = message(text, window, settings.prompt, previous_input, written)
        answer, fault = yield from _asked(prompt, text, window, previous)
        if fault and fault != _NO_MODEL:
            result.retries += 1
            # A call that failed gave no answer that could be criticised.
            if not fault.startswith(_FAILED):
                prompt = again(prompt, fault)
            answer, fault = yield from _asked(prompt, text, window, previous)
        if not fault:
            return _accepted(core, answer, window, result)
        result.fallbacks += 1
        subject = "the call" if fault.startswith(_FAILED) else "the model's answer"
        result.uncertain.append(
            f"Window {window.number} was formatted by rules: {subject} {fault}."
        )
    by_rules, notes = span(window.start, window.end)
    result.uncertain += [f"Window {window.number}: {note}." for note in notes]
    return by_rules.strip()


def _asked(
    prompt: str, text: str, window: Window, previous: str
) -> Flow[tuple[str, str]]:
    """The model's Markdown for the core, and what is wrong with it."""
    answer: Any
    answer = yield from ask(Ask(prompt, COMPONENT))
    if isinstance(answer, Failed):
        return "", _NO_MODEL if isinstance(
            answer.reason, NoModel
        ) else f"{_FAILED} ({answer})"
    return _checked(answer, text, window, previous)


def _checked(answer: str, text: str, window: Window, previous: str) -> tuple[str, str]:
    """The Markdown in an answer, and its fault ("" if none)."""
    core = text[window.start : window.end].strip()
    written = bare(answer, core)
    # Padding is not looked for in an answer that loops: it is refused by its length, and fast.
    if len(written) <= _HOPELESS * (window.padded_end - window.padded_start + 100):
        before = text[window.padded_start : window.start]
        after = text[window.end : window.padded_end]
        written = without_padding(written, before, core, after)
        written = without_overlap(previous, written, core)
    return written, fault_of(core, written)


def _accepted(core: str, answer: str, window: Window, result: Converted) -> str:
    """The answer with what it left out put back, noted in `result`."""
    invented = invented_words(core, answer)
    answer, passages = restored(core, answer)
    if invented:
        shown = " ".join(invented[:12])
        result.uncertain.append(
            f"Window {window.number}: the answer has {pluralise(len(invented), 'word')} that the "
            f"source does not have, such as {shown!r}."
        )
    if passages:
        count = sum(len(forms(passage)) for passage in passages)
        result.restored += count
        shown = ", ".join(repr(passage[:60]) for passage in passages[:3])
        result.uncertain.append(
            f"Window {window.number}: the model left out {pluralise(count, 'word')}, which were "
            f"restored: {shown}."
        )
    return answer


def _joined(text: str, all_windows: Sequence[Window], parts: Sequence[str]) -> str:
    """All windows' Markdown as one."""
    written: list[str] = []
    above = ""
    for window, part in zip(all_windows, parts, strict=True):
        if not part:
            continue
        if above:
            before = text[max(0, window.start - 1000) : window.start]
            gap = before[len(before.rstrip()) :]
            written.append(separator(above, part, gap, text[window.start : window.end]))
        written.append(part)
        above = part
    return assembled(["".join(written)])


# -- two windows' Markdown joined


OVERLAP_LINES = 40
ANCHOR = 8  # words of the core that must follow padding for it to be taken for padding

_BLOCK_START = re.compile(r"#{1,6}\s|`{3}|~{3}|\||[-*+]\s|\d+[.)]\s|>")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")


def without_padding(answer: str, before: str, core: str, after: str) -> str:
    """The answer without padding that the model converted too.

    Words at the answer's ends are removed if they are exactly those of the padding, next to the
    core's first or last words, and if no word of the core is lost.
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
    """Return the text to put between two windows' Markdown.

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
    """Return True if code that is open before a text ends in it. Read by itself, such a text seems
    to open a fence where the code ends."""
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
    """Return True if two lines belong to one table or list."""
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
    """Return the cut between a word and the next: the start of the next word's line, so that its
    marks stay with it, unless both are in one line."""
    line = answer.rfind("\n", 0, start) + 1
    return line if end <= line else start


BEGIN, END = "<<<BEGIN>>>", "<<<END>>>"

PROMPT = """\
You turn the raw text of a document into Markdown, part by part. Rules:
- Keep every word, number and sign of the part, in its order. \
Add nothing, explain nothing, summarise nothing, correct nothing.
- Write each heading on a line of its own with as many # as its depth in the document; \
keep its number if it has one.
- Go on with the levels and the numbering of your Markdown so far.
- Write tables as pipe tables, lists as lists, program code in fences. \
Let paragraphs that are broken into lines run on."""

PAPER_PROMPT = """\
You turn the raw text of a document into structured Markdown, part by part. Rules:
- Keep every word, number and sign of the part, in its order. \
Add nothing else, explain nothing, summarise nothing.
- Write every heading at the first level, as "# 3.2. Title": \
a single #, then its hierarchical number, then its title.
- Go on with the numbering of your Markdown so far: numbers never go down.
- Write tables as pipe tables, and a table's title on a line of its own in front of it."""

_ORDER = (
    f"Convert only what stands between the lines {BEGIN} and {END}; "
    "the rest is there for orientation. "
    "Answer with the Markdown and nothing else."
)
# A character of a script without spaces is a word, and so are 200 characters of any longer run.
_PIECE = regex.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]{{1,200}}")


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that one call converts, its core.

    The cores of all windows tile the text. All places are characters of the text.

    Example:
        >>> text = "one two three four five"
        >>> [text[window.start : window.end] for window in windows(text, 2, 1)]
        ['one two ', 'three four ', 'five']
    """

    number: int  # from 1
    start: int  # of the core
    end: int  # of the core, the white space behind its last word included
    padded_start: int
    padded_end: int
    tail_start: int  # where the last `2 * padding` words before the core begin
    previous_start: int  # of the core before; of the first core its own


def windows(text: str, size: int, padding: int) -> list[Window]:
    """Cut a text into cores of `size` words with `padding` words around.

    There are ceil(N / size) windows for N words, and none for a text without words. Words are
    separated by white space. A character of a script without spaces counts as a word. So does
    every 200 characters of a longer run.
    """
    words = [match.span() for match in _PIECE.finditer(text)]
    result: list[Window] = []
    for first in range(0, len(words), size):
        last = min(first + size, len(words))
        result.append(
            Window(
                number=len(result) + 1,
                start=words[first][0] if first else 0,
                end=words[last][0] if last < len(words) else len(text),
                padded_start=words[max(0, first - padding)][0],
                padded_end=words[min(last + padding, len(words)) - 1][1],
                tail_start=words[max(0, first - 2 * padding)][0],
                previous_start=result[-1].start if result else 0,
            )
        )
    return result


def last_words(text: str, count: int) -> str:
    """The last `count` words of a text, counted as in `windows`."""
    starts = [match.start() for match in _PIECE.finditer(text)]
    if count < 1 or not starts:
        return ""
    return text[starts[max(0, len(starts) - count)] :].rstrip()


def message(
    text: str,
    window: Window,
    instruction: str,
    previous_input: str,
    previous_output: str,
) -> str:
    """The prompt for one window.

    It consists of the instruction, the end of the text before and of its Markdown, and the window
    with its core marked.
    """
    parts = [f"{instruction}\n\n{_ORDER}"]
    if previous_output:
        parts.append(f"The end of the text before, as it was:\n{previous_input}")
        parts.append(f"The end of your Markdown so far:\n{previous_output}")
    before = text[window.padded_start : window.start].strip("\n")
    core = text[window.start : window.end].rstrip()
    after = text[window.end : window.padded_end].strip("\n")
    parts.append("The text:")
    parts.append("\n".join(part for part in (before, BEGIN, core, END, after) if part))
    return "\n\n".join(parts)


def again(prompt: str, fault: str) -> str:
    """The prompt once more, with what was wrong with the first answer."""
    order = (
        f"Convert the part between {BEGIN} and {END} again, whole and word for word."
    )
    return f"{prompt}\n\nYour last answer cannot be used: it {fault}. {order}"
