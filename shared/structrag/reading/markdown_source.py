"""Markdown's text before it is parsed: what only looks like Markdown is made plain. Formulas,
comments of MDX and the front matter of joined files hold lines that CommonMark takes for headings.
Base64 of embedded files is no text at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from structrag.records import SourceMap

# What opens a stretch at the start of a line, and what closes it.
_CLOSERS = {"$$": "$$", r"\[": r"\]", r"\begin{": r"\end{", "{/*": "*/}"}
_OPENERS = re.compile(
    r"""^[ ]{0,3}(?:
      (?P<fence>`{3,}(?=[^`\n]*$)|~{3,})
    | (?P<settings>---[ \t]*\n[\w"'.-]+[ \t]*:.*\n
        (?:(?:[\w"'.-]+[ \t]*:|[ \t]+\S|-[ ]|\#).*\n){0,99}?---[ \t]*$)
    | (?P<opener>\$\$|\\\[|\\begin\{|\{/\*)
    )""",
    re.MULTILINE | re.VERBOSE,
)
_HINT = re.compile(r"\$\$|\\\[|\\begin\{|\{/\*|\n---[ \t]*\n[\w\"'.-]+[ \t]*:")
# Of a heading, as keyboards for French and Chinese write it.
_WIDE_BLANK = re.compile(r"(#(?<![^\n]#)#{0,5})[\u00a0\u202f\u3000](?=\S)")
_HEADING = re.compile(r"\n#{1,6} ")
_INK = re.compile(r"[^\n]")
_PAYLOAD = re.compile(
    r"(?P<kind>data:[\w.+-]{0,60}/[\w.+-]{1,60})(?P<rest>(?:;[\w=.-]{1,60}){0,5},"
    r"(?:(?<=;base64,)(?=(?:\r?\n)?[\w+/=%-]{64})(?:[A-Za-z0-9+/=_%-]+"
    r"|\r?\n(?=[A-Za-z0-9+/=]{40}|[A-Za-z0-9+/]{1,75}(?:=|[\"'>)])))+"
    r"|(?=%3C)[^\s)\"'>]{64,}))"
)


class Unloaded(NamedTuple):
    """A text without embedded files, and the way back."""

    text: str
    source_map: SourceMap | None  # None: nothing was left out
    left_out: int  # embedded files


def without_payloads(text: str) -> Unloaded:
    """The text with `data:image/png` in place of the whole address of an embedded file.

    Example:
        >>> without_payloads("![Seal](data:image/png;base64," + "iVBO" * 20 + ")").text
        '![Seal](data:image/png)'
    """
    if "data:" not in text:
        return Unloaded(text, None, 0)
    parts, starts, places, position, length = [], [], [], 0, 0
    for match in _PAYLOAD.finditer(text):
        parts.append(text[position : match.end("kind")])
        starts.append(length)
        places.append(position)
        length += len(parts[-1])
        position = match.end()
    if not parts:
        return Unloaded(text, None, 0)
    tail = text[position:]
    runs = SourceMap(
        (*starts, length, length + len(tail)),
        (*places, position, len(text)),
        (*(True for _ in places), True, False),
    )
    return Unloaded("".join([*parts, tail]), runs, len(parts))


def unify_line_ends(text: str) -> str:
    """The text with only `\\n` at line ends, of the same length. The `\\r` of `\\r\\n` becomes a
    space."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


@lru_cache(maxsize=1)  # headings are looked for twice
def plain_source(text: str) -> str:
    """A text of the same length and lines that holds nothing that only looks like Markdown.

    Formulas (`$$`, `\\[`, `\\begin`), comments of MDX and the front matter of a joined file become
    paragraphs of `x`; a no-break or ideographic space behind `##` becomes a space.
    """
    source = _WIDE_BLANK.sub(r"\1 ", unify_line_ends(text))
    if not _HINT.search(source):
        return source
    parts, position = [], 0
    for start, end in _stretches(source):
        parts += [source[position:start], _INK.sub("x", source[start:end])]
        position = end
    return "".join([*parts, source[position:]])


def _stretches(source: str) -> Iterator[tuple[int, int]]:
    """What only looks like Markdown; a formula never goes over a heading."""
    limits: dict[str, int] = {}  # up to where an opener was looked for in vain
    position = heading = 0
    while match := _OPENERS.search(source, position):
        position, opener = match.end(), match["opener"]
        if heading <= match.start():
            following = _HEADING.search(source, match.start())
            heading = following.start() + 1 if following else len(source)
        limit = len(source) if opener == "{/*" else heading
        if match["fence"]:
            position = fence_end(source, match["fence"], position)
        elif match["settings"]:
            yield match.span()
        elif limits.get(opener) != limit:
            closer = _CLOSERS[opener]
            end = source.find(closer, position, limit)
            if end < 0:
                limits[opener] = limit
            elif "\n" in source[position:end]:
                position = line_end(source, end + len(closer)) - 1
                yield match.start(), position
            else:
                position = end + len(closer)


def line_end(source: str, position: int) -> int:
    """The offset behind the line that holds `position`."""
    newline = source.find("\n", position)
    return len(source) if newline < 0 else newline + 1


def fence_end(source: str, fence: str, position: int) -> int:
    """Where a block of code ends that `fence` opened before `position`."""
    pattern = rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$"
    closing = re.compile(pattern, re.MULTILINE).search(source, position)
    return line_end(source, closing.end()) if closing else len(source)
