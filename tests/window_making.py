"""Texts in windows, and models that convert them, for the tests of the formatter."""

from __future__ import annotations

from collections import Counter
from typing import Any

from doubles import ScriptedModel

from structrag.formatting.answers import forms
from structrag.formatting.converting import BEGIN, END
from structrag.formatting.formatter import Formatted, HiQAFormatter

W, K = 20, 5


def core_of(prompt: str) -> str:
    """The part between the marks of the last window in a message."""
    return prompt.rpartition(f"{BEGIN}\n")[2].partition(f"\n{END}")[0]


def around(prompt: str) -> tuple[str, str]:
    """The padding before and behind the core."""
    before = prompt.rpartition("The text:\n\n")[2].partition(BEGIN)[0]
    return before, prompt.rpartition(END)[2].strip()


def numbered(count: int) -> str:
    """`count` different words; every seventh ends a line, every 21st a paragraph."""
    words = [
        f"w{i}{chr(10) * (1 + (i % 3 == 0)) if i % 7 == 0 else ' '}"
        for i in range(count)
    ]
    return "".join(words)


def small(script: Any, **options: Any) -> HiQAFormatter:
    return HiQAFormatter(
        ScriptedModel(script), **{"window_words": W, "padding_words": K, **options}
    )


def lost(source: str, formatted: Formatted) -> Counter[str]:
    return Counter(forms(source)) - Counter(forms(formatted.document.text))


PLAIN = (
    "1. Battery\n\nThe battery of the Nova lasts for nineteen hours of talk, and it is charged by "
    "the cable in the box.\n\n"
    "2. Camera\n\nThe camera of the Nova takes pictures of twelve megapixels, and it needs a "
    "little light to do so.\n\n"
    "3. Warranty\n\nThe warranty of the Nova ends two years after the day on which it was bought "
    "by its first owner.\n\n"
)
