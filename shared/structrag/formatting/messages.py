"""What a language model is told when it formats a window, and its answer without what it put around
the Markdown."""

from __future__ import annotations

import re

from structrag.formatting.windows import Window
from structrag.formatting.words import forms, if_lossless

BEGIN, END = "<<<BEGIN>>>", "<<<END>>>"

PROMPT = """\
You turn the raw text of a document into Markdown, part by part. Rules:
- Keep every word, number and sign of the part, in its order. Add nothing, explain nothing, summarise nothing, correct nothing.
- Write each heading on a line of its own with as many # as its depth in the document; keep its number if it has one.
- Go on with the levels and the numbering of your Markdown so far.
- Write tables as pipe tables, lists as lists, program code in fences. Let paragraphs that are broken into lines run on."""

PAPER_PROMPT = """\
You turn the raw text of a document into structured Markdown, part by part. Rules:
- Keep every word, number and sign of the part, in its order. Add nothing else, explain nothing, summarise nothing.
- Write every heading at the first level, as "# 3.2. Title": a single #, then its hierarchical number, then its title.
- Go on with the numbering of your Markdown so far: numbers never go down.
- Write tables as pipe tables."""

_ORDER = (
    f"Convert only what stands between the lines {BEGIN} and {END}; the rest is there for "
    "orientation. "
    "Answer with the Markdown and nothing else."
)
_FENCED = re.compile(
    r"(?:[^\n`]{0,200}\n\s*)?(`{3,}|~{3,})[ \t]*(?:markdown|md)?[ \t]*\n(.*)\n[ \t]*\1",
    re.DOTALL | re.IGNORECASE,
)


def message(
    text: str,
    window: Window,
    instruction: str,
    previous_input: str,
    previous_output: str,
    *,
    repeat: bool = False,
) -> str:
    """The prompt for one window: instruction, end of what was converted before and its Markdown,
    the window with its core marked."""
    before = text[window.padded_start : window.start].strip("\n")
    core = text[window.start : window.end].rstrip()
    after = text[window.end : window.padded_end].strip("\n")
    parts = [f"{instruction}\n\n{_ORDER}"]
    if previous_output:
        parts += [
            f"The end of the text before, as it was:\n{previous_input}",
            f"The end of your Markdown so far:\n{previous_output}",
        ]
    parts.append("The text:")
    marked = "\n".join(part for part in (before, BEGIN, core, END, after) if part)
    parts.append(marked)
    if repeat:
        parts.append(f"{instruction}\n\n{_ORDER}")
    return "\n\n".join(parts)


def again(prompt: str, fault: str) -> str:
    """The prompt once more, with what was wrong with the first answer."""
    order = f"Convert the part between {BEGIN} and {END} again, whole and word for word."
    return f"{prompt}\n\nYour last answer cannot be used: it {fault}. {order}"


def bare(answer: str, core: str) -> str:
    """The Markdown in an answer: without the marks, and without a fence (and a line of
    introduction) around all of it.

    The fence stays where the core has one itself, and where words of the core would go with it.
    """
    if BEGIN not in core and END not in core:
        answer = answer.partition(BEGIN)[2] if BEGIN in answer else answer
        answer = answer.partition(END)[0]
    answer = answer.strip()
    whole = _FENCED.fullmatch(answer)
    if whole and not core.lstrip().startswith(("```", "~~~")):
        return if_lossless(answer, whole[2].strip(), forms(core))
    return answer
