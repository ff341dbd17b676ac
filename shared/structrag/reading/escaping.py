"""Text that must stay text in Markdown. By accident it could begin a heading, a fence, HTML or
front matter."""

from __future__ import annotations

import re

_CONTAINERS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)*"
_STARTS = re.compile(
    rf"(?P<before>{_CONTAINERS})(?P<mark>\#{{1,6}}(?=[ \t]|$)|`{{3,}}|~{{3,}}|<(?=[A-Za-z/!?]))"
)
_UNDERLINE = re.compile(r"[ \t]*(?:-+|=+)[ \t]*")
_TITLE_MARKUP = re.compile(r"[\\`*\[\]<&\0]|(?<![^\W_])_|_(?![^\W_])|(?<!#)#+$")
_BACKTICKS = re.compile(r"`{3,}")


def escaped_line(line: str) -> str:
    """The line with a backslash before what would be structure. That is a heading, a fence or HTML,
    in a list or quote too."""
    match = _STARTS.match(line)
    return f"{match['before']}\\{line[match.end('before') :]}" if match else line


def escaped_lines(lines: list[str]) -> list[str]:
    """Lines of one paragraph or list, escaped. A blank line comes before what would underline the
    one above."""
    result: list[str] = []
    for line in lines:
        if result and result[-1].strip() and _UNDERLINE.fullmatch(line):
            result.append("")
        result.append(escaped_line(line))
    return result


def heading_line(level: int, title: str) -> str:
    """An ATX heading, at most of level 6. Its title reads exactly as given."""
    signs = "#" * min(max(level, 1), 6)
    escaped = _TITLE_MARKUP.sub(r"\\\g<0>", title)
    return f"{signs} {escaped}"


def fenced(text: str, language: str = "") -> str:
    """The text as a code block. Its fence is longer than any inside."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def assembled(parts: list[str]) -> str:
    """Blocks as one Markdown text. A blank line parts them, a line end comes last."""
    text = "\n\n".join(part for part in parts if part.strip())
    if text.startswith(("---", "+++")):  # it would be front matter
        text = f"\\{text}"
    return f"{text}\n" if text else ""
