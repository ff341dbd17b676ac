"""JSON in a language model's answer, in fences and between other words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)


def without_fences(text: str) -> str:
    """The text without the lines that open and close code."""
    return _FENCE.sub("", text)


def bare(answer: str) -> str:
    """The answer without fences, and without white space around it."""
    return without_fences(answer).strip()


def bracketed(text: str) -> Iterator[str]:
    """The text between the outer braces, then between the outer brackets."""
    for opening, closing in ("{}", "[]"):
        first, last = text.find(opening), text.rfind(closing) + 1
        if 0 <= first < last:
            yield text[first:last]


def loaded(text: str, *, literals: bool = False) -> Any:
    """The JSON value that a text is, None for another text. With `literals` a Python list, tuple,
    set or dictionary is read too."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if literals and text[:1] in {"[", "{", "("}:
        try:
            return ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
    return None


def first_value(answer: str, *, literals: bool = False) -> Any:
    """The value that the answer is or holds, or None; see `loaded`."""
    for text in (answer.strip(), *bracketed(answer)):
        value = loaded(text, literals=literals)
        if value is not None:
            return value
    return None
