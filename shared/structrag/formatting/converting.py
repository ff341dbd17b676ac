"""A long text to Markdown by a language model, window after window, each checked and none lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.asking.requests import Ask, Failed, Progress, Steps
from structrag.errors import NoModel
from structrag.formatting.guards import fault_of, invented_words
from structrag.formatting.joining import (
    separator,
    with_closed_fences,
    without_overlap,
    without_padding,
)
from structrag.formatting.messages import again, bare, message
from structrag.formatting.restoring import restored
from structrag.formatting.sources import Span
from structrag.formatting.windows import Window, last_words, windows
from structrag.formatting.words import forms
from structrag.reading.escaping import assembled

COMPONENT = "hiqa.format/1"
FORMATTING = "formatting"  # what `progress` is told


@dataclass(frozen=True, slots=True)
class Converting:
    """How a text is converted; see `HiQAFormatter`."""

    window_words: int
    padding_words: int
    prompt: str
    repeat_prompt: bool = False
    progress: Progress | None = None


@dataclass(slots=True)
class Converted:
    """The Markdown of a text, and what happened on the way."""

    text: str = ""
    windows: int = 0
    retries: int = 0
    fallbacks: int = 0
    restored: int = 0
    uncertain: list[str] = field(default_factory=list)


def convert_steps(text: str, span: Span, settings: Converting) -> Steps[Converted]:
    """The text as Markdown. `span` gives a window's Markdown where the model's answers fail."""
    result = Converted()
    found = windows(text, settings.window_words, settings.padding_words)
    parts: list[str] = []
    for window in found:
        previous = parts[-1] if parts else ""
        parts.append((yield from _window_steps(text, window, previous, span, settings, result)))
        if settings.progress is not None:
            settings.progress(FORMATTING, window.number, len(found))
    parts, closed = with_closed_fences(parts)
    result.uncertain += [
        f"Window {i + 1}: a code block was left open and closed at the window's end."
        for i in closed
    ]
    result.text = _joined(text, found, parts)
    result.windows = len(found)
    return result


def _window_steps(
    text: str, window: Window, previous: str, span: Span, settings: Converting, result: Converted
) -> Steps[str]:
    """A window's Markdown: the model's first or second answer that passes the guards, else
    `span`'s."""
    core = text[window.start : window.end].strip()
    fault = "has no words"
    if forms(core):
        prompt = message(
            text,
            window,
            settings.prompt,
            text[window.tail_start : window.start].rstrip(),
            last_words(previous, 2 * settings.padding_words),
            repeat=settings.repeat_prompt,
        )
        answer, fault = yield from _asked(prompt, text, window, previous)
        if fault and fault != _NO_MODEL:
            result.retries += 1
            failed = fault.startswith(_FAILED)
            prompt = prompt if failed else again(prompt, fault)
            answer, fault = yield from _asked(prompt, text, window, previous, last=True)
        if not fault:
            return _accepted(core, answer, window, result)
        result.fallbacks += 1
        subject = "the call" if fault.startswith(_FAILED) else "the model's answer"
        result.uncertain.append(
            f"Window {window.number} was formatted by rules: {subject} {fault}."
        )
    written, notes = span(window.start, window.end)
    result.uncertain += [f"Window {window.number}: {note}." for note in notes]
    return written.strip()


_HOPELESS = 5  # times as long as what was shown: a loop
_FAILED = "failed"
_NO_MODEL = "failed, there is no language model"


def _asked(
    prompt: str, text: str, window: Window, previous: str, *, last: bool = False
) -> Steps[tuple[str, str]]:
    """The model's Markdown for the core, and what is wrong with it ("" if nothing is). Of a `last`
    prompt a bad answer is not kept: one before it is, for the prompt that names its fault.
    """

    def usable(answer: str) -> bool:
        return not _checked(answer, text, window, previous)[1]

    answer: Any
    (answer,) = yield [Ask(prompt, COMPONENT, usable=usable if last else None)]
    if isinstance(answer, Failed):
        reason = answer.reason
        if isinstance(reason, NoModel):
            return "", _NO_MODEL
        return "", f"{_FAILED} ({type(reason).__name__}: {' '.join(str(reason).split())[:200]})"
    return _checked(answer, text, window, previous)


def _checked(answer: str, text: str, window: Window, previous: str) -> tuple[str, str]:
    """The Markdown in an answer for the core of a window, and what is wrong with it."""
    core = text[window.start : window.end].strip()
    written = bare(answer, core)
    if len(written) <= _HOPELESS * (window.padded_end - window.padded_start + 100):
        before, after = (
            text[window.padded_start : window.start],
            text[window.end : window.padded_end],
        )
        written = without_overlap(previous, without_padding(written, before, core, after), core)
    return written, fault_of(core, written)


def _accepted(core: str, answer: str, window: Window, result: Converted) -> str:
    """The answer with what it left out put back, and with notes on what was."""
    invented = invented_words(core, answer)
    answer, passages = restored(core, answer)
    if invented:
        shown = " ".join(invented[:12])
        result.uncertain.append(
            f"Window {window.number}: the answer has {_count(len(invented))} that the source has "
            f"not, such as {shown!r}."
        )
    if passages:
        count = sum(len(forms(passage)) for passage in passages)
        result.restored += count
        shown = ", ".join(repr(passage[:60]) for passage in passages[:3])
        result.uncertain.append(
            f"Window {window.number}: the model left out {_count(count)}, put back: {shown}."
        )
    return answer


def _count(words: int) -> str:
    return f"{words} word{'s' if words != 1 else ''}"


def _joined(text: str, found: Sequence[Window], parts: Sequence[str]) -> str:
    """All windows' Markdown as one."""
    written: list[str] = []
    above = ""
    for window, part in zip(found, parts, strict=True):
        if not part:
            continue
        if above:
            before = text[max(0, window.start - 1000) : window.start]
            gap = before[len(before.rstrip()) :]
            written.append(separator(above, part, gap, text[window.start : window.end]))
        written.append(part)
        above = part
    return assembled(["".join(written)])
