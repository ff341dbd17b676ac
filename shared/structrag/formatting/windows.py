"""Windows of a long text, and the message that shows one.

HiQA, section 3.1 "Markdown formatter".
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from structrag.text.folding import SPACELESS

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
    *,
    repeat: bool = False,
) -> str:
    """The prompt for one window.

    It consists of the instruction, the end of the text before and of its Markdown, and the window
    with its core marked. With `repeat` the instruction is repeated at the end.
    """
    head = f"{instruction}\n\n{_ORDER}"
    parts = [head]
    if previous_output:
        parts.append(f"The end of the text before, as it was:\n{previous_input}")
        parts.append(f"The end of your Markdown so far:\n{previous_output}")
    before = text[window.padded_start : window.start].strip("\n")
    core = text[window.start : window.end].rstrip()
    after = text[window.end : window.padded_end].strip("\n")
    parts.append("The text:")
    parts.append("\n".join(part for part in (before, BEGIN, core, END, after) if part))
    if repeat:
        parts.append(head)
    return "\n\n".join(parts)


def again(prompt: str, fault: str) -> str:
    """The prompt once more, with what was wrong with the first answer."""
    order = (
        f"Convert the part between {BEGIN} and {END} again, whole and word for word."
    )
    return f"{prompt}\n\nYour last answer cannot be used: it {fault}. {order}"
