"""Nasty shapes of up to two megabytes: time grows with the length, not with its square."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.formatting.formatter import HiQAFormatter
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from torture.promise import NotHere, Promise, random_of

SHORT, LONG = 60_000, 2_000_000  # characters of the longest text
FORMATS = ("markdown", "html", "text")


def _splitting(splitter: Any, format: str) -> Callable[[str], object]:
    return lambda text: splitter.split(read_text(text, format=format))


@cache
def functions() -> dict[str, Callable[[str], object]]:
    """What documents go through, by name."""
    splitters: dict[str, Any] = {
        "content-aware": ContentAwareSplitter(),
        "content-aware, small": ContentAwareSplitter(max_tokens=20, overlap=5, min_tokens=5),
        "fixed": FixedSplitter(),
        "hiqa": HiQASplitter(),
        "pic": PICSplitter(),
        "idms": IDMSSplitter(margin="words"),
    }
    chosen: dict[str, Callable[[str], object]] = {
        f"{name}, {format}": _splitting(splitter, format)
        for name, splitter in splitters.items()
        for format in FORMATS
    }
    chosen |= {
        f"reading {format}": lambda text, format=format: parse(read_text(text, format=format))
        for format in FORMATS
    }
    chosen["telling the format"] = read_text
    chosen["formatting"] = HiQAFormatter().format
    return chosen


def case(number: int) -> None:
    """One shape through one function."""
    try:
        from growth import LINEAR, growth, shapes
    except ImportError:
        raise NotHere("tests/growth.py is not there") from None
    rng = random_of("growth", number)
    shape = rng.choice(list(shapes()))
    name = rng.choice(list(functions()))
    power = growth(functions()[name], shape, SHORT if number < PROMISE.short else LONG)
    assert power < LINEAR, f"{name}: {shape} takes time to the power of {power:.2f}"


PROMISE = Promise(
    "growth",
    "nasty shapes of up to 2 MB through readers and splitters: time grows with the length",
    case,
    cases=400,
    short=8,
    share=14,
    seconds=300.0,
)
