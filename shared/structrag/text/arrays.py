"""Short names of arrays by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]
Array = NDArray[np.float32]  # vectors


def running_totals(sizes: ArrayLike) -> IntArray:
    """The totals before each size and behind the last: one more than there are sizes."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def evenly(values: NDArray[Any], n: int) -> NDArray[Any]:
    """At most `n` of some values, at even distances."""
    places = np.linspace(0, len(values) - 1, min(n, len(values)))
    chosen: NDArray[Any] = values[places.round().astype(np.int64)]
    return chosen


def text_bytes(text: str) -> NDArray[np.uint8]:
    """A text as an array to keep in a file."""
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def bytes_text(content: NDArray[Any]) -> str:
    """The text of `text_bytes`."""
    return content.tobytes().decode("utf-8", "surrogatepass")
