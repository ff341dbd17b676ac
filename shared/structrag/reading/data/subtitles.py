"""Subtitles: WebVTT and SubRip (SRT)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from structrag.reading.data.placed import placed_draft
from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.escaping import escaped_line
from structrag.reading.html.text import unescaped
from structrag.reading.office.package import refuse

PAUSE = 2.0  # seconds between cues that begin a paragraph
MOST_CHARACTERS = 1_200  # of a paragraph; the next cue begins another

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]+)>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>]*>|\{\\[^{}]*\}")
_HEAD = re.compile(r"^WEBVTT(?:[ \t](.*))?$")


def to_markdown(data: bytes, name: str = "") -> Draft:
    """Subtitles as paragraphs, each at a place such as "00:12:31".

    A new speaker, a pause of two seconds and 1,200 characters begin a paragraph. A line that the
    next cue repeats, as rolling captions do, stands once.

    Raises:
        InvalidDocument: There is no cue with its times.
    """
    lines = decoded(data, name).text.splitlines()
    head = _HEAD.fullmatch(lines[0].strip()) if lines else None
    paragraphs: list[tuple[int, str, list[str]]] = []  # when, by whom, what
    last_end: float = 0
    shown: list[str] = []  # lines of the last cue
    cues = list(_cues(lines))
    if not cues:
        refuse(name, "it has no cue with times (00:00:01.000 --> 00:00:02.000).")
    for start, end, cue in cues:
        before, shown = shown, []
        for speaker, text in _said(cue):
            shown.append(text)
            if text in before:
                continue
            if (
                not paragraphs
                or speaker != paragraphs[-1][1]
                or start - last_end >= PAUSE
                or len(" ".join(paragraphs[-1][2])) >= MOST_CHARACTERS
            ):
                paragraphs.append((start, speaker, []))
            paragraphs[-1][2].append(text)
            last_end = max(last_end, end)
        last_end = max(last_end, end)
    blocks = [
        (
            _label(start),
            escaped_line(f"{speaker}: {' '.join(texts)}".removeprefix(": ")),
        )
        for start, speaker, texts in paragraphs
    ]
    title = (head[1] or "").strip().removeprefix("-").strip() if head else ""
    return placed_draft(blocks, title=title)


def _said(cue: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Who says what in the lines of a cue; "" where it names nobody."""
    speaker = ""
    for line in cue:
        for place, part in enumerate(_VOICE.split(line)):
            is_name = place % 2 == 1
            text = " ".join(unescaped(part if is_name else _TAG.sub("", part)).split())
            if is_name:
                speaker = text
            elif text:
                yield speaker, text


def _cues(lines: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Where each cue starts and ends, in seconds, and its lines."""
    index = 0
    while index < len(lines):
        match = _TIMES.fullmatch(lines[index])
        index += 1
        if match is None:
            continue
        cue: list[str] = []
        while index < len(lines) and lines[index].strip():
            if _TIMES.fullmatch(lines[index]):
                break
            cue.append(lines[index])
            index += 1
        is_next = index < len(lines) and bool(lines[index].strip())
        if is_next and cue and cue[-1].strip().isdecimal():  # the number of the next
            cue.pop()
        yield _seconds(match, 1), _seconds(match, 4), cue


def _seconds(match: re.Match[str], group: int) -> int:
    hours, minutes, seconds = (int(match[group + i] or 0) for i in range(3))
    return hours * 3600 + minutes * 60 + seconds


def _label(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
