"""How far a run is, said on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

DOCUMENTS = "documents"  # the stage of which the others are steps
SECONDS_BETWEEN_LINES = 10  # where no line is written over


class TellDocuments:
    """Tells a `progress` how many of several documents are done.

    Example:
        >>> tell = TellDocuments(print, 400)
        documents 0 400
        >>> tell(32)
        documents 32 400
    """

    def __init__(self, progress: Any, total: int) -> None:
        self.progress: Callable[..., object] | None = (
            progress if callable(progress) and total > 1 else None
        )
        self.total = total
        self.told: int = -1
        self(0)

    def __call__(self, done: int) -> None:
        """Tell it, once for each number."""
        if self.progress is not None and done != self.told:
            self.told = done
            self.progress(DOCUMENTS, done, self.total)


class ProgressLine:
    """Says how far a run is on standard error.

    On a terminal and in a notebook it is one line that is written over, no wider than the terminal.
    Elsewhere, such as in a log, a line says so now and then, and at the end of a stage.

    Example:
        >>> line = ProgressLine()
        >>> line("documents", 0, 400)
        >>> line("embedding chunks", 64, 180)
        >>> line("documents", 32, 400)  # before, a terminal showed both stages
    """

    says_ends = True  # where no line is written over

    def __init__(self) -> None:
        # The stages that others are steps of, each with how far it is.
        self.outer: dict[str, str] = {}
        self.stage: str = ""
        self.since: float = 0.0  # when the stage began, or its last line was written
        self.width: int = 0  # of the line that will be written over

    def __call__(self, what: str, done: int, total: int) -> None:
        """A stage that is reported with 0 done contains the following stages as its steps."""
        line, is_last = f"{what}: {done:,} of {total:,}", done >= total
        is_outer = done == 0 or what in self.outer
        while what in self.outer:  # its steps have ended with it
            self.outer.popitem()
        shown = ", ".join([*self.outer.values(), line])
        stage = next(iter(self.outer), what)
        is_last = is_last and not self.outer
        if is_outer and done < total:
            self.outer[what] = line
        self.show(shown, stage, is_last=is_last)

    def show(self, line: str, stage: str, *, is_last: bool) -> None:
        """Show a line of a stage; the last one stays."""
        if _is_live():
            line = line[: _columns() - 1]
            _write(line.ljust(self.width) + ("\n" if is_last else "\r"))
            self.width = 0 if is_last else len(line)
            return
        now = monotonic()
        if stage != self.stage:
            self.stage, self.since = stage, now
        if now - self.since >= SECONDS_BETWEEN_LINES or (is_last and self.says_ends):
            self.since = now
            _write(f"{line}\n")

    def say(self, text: str) -> None:
        """Write a line on standard error, in place of the progress."""
        _write(f"{' ' * self.width}\r{text}\n" if self.width else f"{text}\n")
        self.width = 0


def _is_live() -> bool:
    """Whether a line on standard error can be written over."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _columns() -> int:
    """The width of the terminal, 80 where nobody knows."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def counted(
    progress: Callable[[str, int, int], object] | None, what: str, items: Sequence[T]
) -> Iterator[T]:
    """The items. `progress` is called before the first item and after each, with the number of
    finished items.

    Example:
        >>> list(counted(lambda *told: print(told), "files", ["a.md"]))
        ('files', 0, 1)
        ('files', 1, 1)
        ['a.md']
    """
    if progress is not None and items:
        progress(what, 0, len(items))
    for number, item in enumerate(items, start=1):
        yield item
        if progress is not None:
            progress(what, number, len(items))
