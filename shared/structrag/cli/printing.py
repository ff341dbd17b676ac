"""How commands write to standard output and to standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from structrag.model_calls.progress import ProgressLine
from structrag.records import Chunk
from structrag.text.heading_path import SEPARATOR, title_beside

# What a terminal may take for a command; line ends and tabs are text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def harmless(text: str) -> str:
    """A text with its control characters spelt out for a terminal.

    Example:
        >>> print(harmless("a\\x1b[2Jb"))
        a\\x1b[2Jb
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def print_items(items: Iterable[Any], as_json: bool) -> None:
    """One line for each item, as JSON or as `str` has it. Documents are others' words: their
    control characters are spelt out."""
    for item in items:
        line = json.dumps(item) if as_json else harmless(str(item))
        sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")


class _Progress(ProgressLine):
    """Says how far a command is; its report says the end."""

    says_ends = False

    def say(self, text: str) -> None:
        """One line on standard error, with nothing that commands a terminal."""
        super().say(harmless(text))


show_progress: ProgressLine = _Progress()


def path_of(chunk: Chunk, title: str = "") -> str:
    """The titles that lead to a chunk, the document's first."""
    path = (title_beside(title, chunk.path), *chunk.path)
    return SEPARATOR.join(filter(None, path)) or "(no heading)"


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A chunk as JSON values, its extras beside its fields."""
    names = ("id", "path", "start", "end", "n_tokens", "context", "text")
    return {**{name: getattr(chunk, name) for name in names}, **chunk.extras}
