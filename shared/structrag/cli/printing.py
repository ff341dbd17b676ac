"""How commands write to standard output and to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from structrag.records import Chunk


def print_items(items: Iterable[Any], as_json: bool) -> None:
    """One line for each item, as JSON or as `str` has it."""
    for item in items:
        line = json.dumps(item) if as_json else str(item)
        sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")


def show_progress(what: str, done: int, total: int) -> None:
    """A line that is written over, where standard error is a terminal."""
    if sys.stderr.isatty():
        end = "\n" if done == total else "\r"
        print(f"{what}: {done} of {total}   ", end=end, file=sys.stderr, flush=True)  # noqa: T201


def path_of(chunk: Chunk) -> str:
    """The heading titles that lead to a chunk."""
    return " > ".join(chunk.path) or "(no heading)"


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A chunk as JSON values, its extras beside its fields."""
    return {
        "id": chunk.id,
        "path": list(chunk.path),
        "start": chunk.start,
        "end": chunk.end,
        "n_tokens": chunk.n_tokens,
        "context": chunk.context,
        "text": chunk.text,
        **dict(chunk.extras),
    }
