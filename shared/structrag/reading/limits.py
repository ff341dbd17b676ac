"""The limits of what reading one file may take, for all formats in one place.

Readers spend or check where text or bytes multiply: a part is unpacked, a table is spread out, a
slide is used once more. What no file meets by chance is refused in one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import NoReturn

from structrag.errors import InvalidDocument, InvalidParameter, check_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of what reading one file may take.

    Example:
        >>> Limits(max_seconds=60).max_memory
        4000000000

    A file that meets one is refused with an InvalidDocument that names it. Time and memory are
    limited in a reader process only (`isolated=` of `read_file`), memory on Linux only.

    Attributes:
        max_bytes: Bytes of the file.
        max_unpacked: Bytes that the parts of a zip archive unpack to, together (Word, slides,
            sheets, books).
        max_inflation: Bytes that they unpack to for each byte of the archive; the first 10 million
            are free.
        max_characters: Characters of the text that the file becomes.
        max_growth: Characters for each byte of the file or, of an archive, of what was unpacked;
            the first million is free.
        max_uses: How often one part may be used: a slide, a page of a book, an input file.
        max_depth: Elements, styles, groups or input files inside each other.
        max_seconds: Seconds of a reader process for one file, by the clock.
        max_memory: Bytes of address space of a reader process; None: no limit.

    Raises:
        InvalidParameter: a limit is not a number, or below 1.
    """

    max_bytes: int = 200_000_000
    max_unpacked: int = 500_000_000
    max_inflation: float = 100
    max_characters: int = 100_000_000
    max_growth: float = 50
    max_uses: int = 1_000
    max_depth: int = 500
    max_seconds: float = 300
    max_memory: int | None = 4_000_000_000

    def __post_init__(self) -> None:
        for each in fields(self):
            limit = getattr(self, each.name)
            if limit is not None or each.name != "max_memory":
                check_at_least(each.name, limit, 1)


_DEFAULT = Limits()
_FREE = 1_000_000  # characters of text that any file may become
_FREE_UNPACKED = 10_000_000  # bytes that any archive may unpack to


@dataclass(slots=True)
class _Reading:
    """One file, and what it has spent."""

    limits: Limits = _DEFAULT
    name: str = ""
    size: int = 0  # bytes that text may come from; 0: not known
    unpacked: int = 0
    characters: int = 0
    uses: Counter[Hashable] = field(default_factory=Counter)

    def refuse(self, parameter: str, happening: str) -> NoReturn:
        allowed = getattr(self.limits, parameter)
        raise exceeded(self.name, parameter, happening, allowed)


_OPEN: ContextVar[_Reading | None] = ContextVar("reading", default=None)


@contextmanager
def reading_within(limits: Limits | None = None, name: str = "") -> Iterator[Limits]:
    """Count what a file spends inside; None: the default limits. `name` is what errors call it.

    Inside another one, that one counts on. Gives the limits that hold.
    """
    if not isinstance(limits, Limits | None):
        raise InvalidParameter(
            f"limits must be a Limits or None; got {limits!r}. Pass "
            "structrag.reading.Limits(max_bytes=...), for example."
        )
    outer = _OPEN.get()
    if outer is not None:
        yield outer.limits
        return
    reading = _Reading(limits or _DEFAULT, name)
    token = _OPEN.set(reading)
    try:
        yield reading.limits
    except (MemoryError, RecursionError) as error:
        what = "memory" if isinstance(error, MemoryError) else "depth"
        raise InvalidDocument(
            f"{name or 'The document'} needs more {what} than there is. Split the file."
        ) from error
    finally:
        _OPEN.reset(token)


def limits_now() -> Limits:
    """The limits that hold where this is called."""
    return _now().limits


def count_bytes(count: int) -> None:
    """Count bytes that text may come from."""
    _now().size += count


def spend_unpacked(count: int, packed: int) -> None:
    """Count bytes that an archive of `packed` bytes was unpacked to. Raises InvalidDocument above
    `max_unpacked` and `max_inflation`."""
    reading = _now()
    reading.unpacked += count
    if unpacked_left(packed) >= 0:
        return
    most, times = reading.limits.max_unpacked, reading.limits.max_inflation
    if reading.unpacked > most:
        reading.refuse("max_unpacked", f"unpacks to more than {most:,} bytes")
    reading.refuse("max_inflation", f"unpacks to more than {times:g} times its size")


def unpacked_left(packed: int) -> int:
    """The bytes that an archive of `packed` bytes may still unpack to."""
    reading = _now()
    limits = reading.limits
    inflated = max(_FREE_UNPACKED, int(limits.max_inflation * packed))
    return min(limits.max_unpacked, inflated) - reading.unpacked


def spend_characters(count: int) -> None:
    """Count characters that were, or are about to be, written. Raises InvalidDocument above
    `max_characters` and `max_growth`."""
    reading = _now()
    reading.characters += count
    _check_characters(reading, reading.characters)


def check_characters(count: int) -> None:
    """Raise InvalidDocument if one text is longer than `max_characters` or `max_growth` allows.
    Nothing is counted."""
    _check_characters(_now(), count)


def use_part(part: str) -> int:
    """How often a part was used by now; this counts one on. Raises InvalidDocument above
    `max_uses`."""
    reading = _now()
    reading.uses[part] += 1
    most = reading.limits.max_uses
    if reading.uses[part] > most:
        reading.refuse("max_uses", f"uses its part {part} more than {most:,} times")
    return reading.uses[part]


def check_depth(depth: int, what: str = "elements") -> None:
    """Raise InvalidDocument if things inside each other are deeper than `max_depth`."""
    reading = _now()
    most = reading.limits.max_depth
    if depth > most:
        reading.refuse("max_depth", f"has {what} more than {most:,} deep")


def exceeded(
    name: str, parameter: str, happening: str, allowed: float
) -> InvalidDocument:
    """The error for a file that meets a limit, for all limits."""
    return InvalidDocument(
        f"{name or 'The document'} {happening}, and {parameter} allows {allowed:,}. Split the "
        f"file, or pass limits=Limits({parameter}=...) to read_file if you trust it."
    )


def _now() -> _Reading:
    return _OPEN.get() or _Reading()


def _check_characters(reading: _Reading, count: int) -> None:
    most = reading.limits.max_characters
    if count > most:
        reading.refuse("max_characters", f"becomes more than {most:,} characters")
    growth = reading.limits.max_growth
    if count > _FREE and reading.size and count > _FREE + growth * reading.size:
        each = f"for each of its {reading.size:,} bytes"
        reading.refuse("max_growth", f"becomes more than {growth:g} characters {each}")
