"""A long text to Markdown by a language model, window after window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import NoModel
from structrag.formatting.answers import bare, fault_of, forms, invented_words, restored
from structrag.formatting.joining import (
    separator,
    with_closed_fences,
    without_overlap,
    without_padding,
)
from structrag.formatting.windows import Window, again, last_words, message, windows
from structrag.model_calls.flow import ask
from structrag.model_calls.progress import counted
from structrag.model_calls.requests import Ask, Failed, Flow, Progress
from structrag.reading.escaping import assembled
from structrag.text.plurals import pluralise

COMPONENT = "hiqa.format/1"
FORMATTING = "formatting"  # what `progress` is told

# Part of a text as Markdown without a model, and what is uncertain in it.
Span = Callable[[int, int], tuple[str, list[str]]]

_HOPELESS = 5  # times as long as what was shown: a loop
_FAILED = "failed"
_NO_MODEL = "failed, there is no language model"


@dataclass(frozen=True, slots=True)
class Converting:
    """How a text is converted: the settings of `HiQAFormatter`.

    Example:
        >>> Converting(1500, 150, "Turn this into Markdown.").repeat_prompt
        False
    """

    window_words: int
    padding_words: int
    prompt: str
    repeat_prompt: bool = False
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
        prompt = message(
            text,
            window,
            settings.prompt,
            previous_input,
            written,
            repeat=settings.repeat_prompt,
        )
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
