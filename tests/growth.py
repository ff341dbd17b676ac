"""How time grows with the length of a text: shapes that are hard to read, and a measure.

A test asks `growth` for the power of the length that the time of a function follows: 1 for linear,
2 for quadratic. Times are those of the processor, so that a busy machine is no failure.
"""

from __future__ import annotations

import gc
import time
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf, log2
from typing import TypeVar

from places import ROOT

T = TypeVar("T")

LINEAR = 1.3  # the highest power that is called linear; sorting and noise are in it
_SHORT = 0.05  # seconds below which a time says nothing of growth
_PATIENCE = 2.0  # seconds after which nothing larger is tried


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: one piece again and again between a beginning and an end, and as many
    of what closes one.

    Example:
        >>> Shape("- ", "a\\n", "b").text(6)
        'a\\n- - b'
    """

    piece: str
    before: str = ""
    after: str = ""
    closing: str = ""

    def text(self, size: int) -> str:
        """About `size` characters, at least one piece."""
        room = size - len(self.before) - len(self.after)
        count = max(1, room // len(self.piece + self.closing))
        return self.before + self.piece * count + self.closing * count + self.after


# The common pieces of texts, then the others.
COMMON, _OTHERS = (
    tuple(map(literal_eval, part.splitlines()))
    for part in (ROOT / "tests/fixtures/pieces.txt")
    .read_text(encoding="utf-8")
    .split("\n\n")
)
PIECES = COMMON + _OTHERS


def shapes(pieces: Iterable[str] = PIECES) -> Iterator[Shape]:
    """Every piece alone, before a word, behind a heading's mark, and between other marks."""
    for piece in pieces:
        yield Shape(piece)
        yield Shape(piece, "", "\nX")
        yield Shape(piece, "# ", "\n\na\n")
        yield Shape(piece, "---\n", "\n===\n")


def growth(function: Callable[[str], object], shape: Shape, size: int) -> float:
    """The power of the length that the time of a function of texts follows, see `power`. Infinite
    where the time doubles with each piece."""
    for count in range(4, 41, 2):  # longer texts would never end
        text = shape.text(count * len(shape.piece))
        # Once more, as the first call of all may load what it needs.
        if min(seconds(function, text), seconds(function, text)) > _PATIENCE / 2:
            return inf
    return power(function, shape.text, size)


def power(
    function: Callable[[T], object], of_size: Callable[[int], T], largest: int
) -> float:
    """The power of the size that the time of a function follows over four doublings.

    The first size is the smallest that takes 50 ms; the power is 0 where none up to `largest`
    does. Fewer doublings are enough where they take long. A power that is too high must show
    itself again in the best of three.
    """
    size = max(largest // 256, 1)
    while seconds(function, of_size(size)) < _SHORT:
        if size >= largest:
            return 0
        size *= 2
    for repeats in (1, 3):
        times: list[float] = []
        for doublings in range(5):
            value = of_size(size << doublings)
            times.append(min(seconds(function, value) for _ in range(repeats)))
            if times[-1] > _PATIENCE:
                break
        result = log2(times[-1] / times[0]) / max(len(times) - 1, 1)
        if result <= LINEAR:
            break
    return result


def seconds(function: Callable[[T], object], value: T) -> float:
    """The processor time of a run, without the collector of garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        began = time.process_time()
        function(value)
        return time.process_time() - began
    finally:
        if collecting:
            gc.enable()
