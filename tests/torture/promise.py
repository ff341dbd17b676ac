"""What a promise is, and what its cases came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random


class NotHere(Exception):
    """A promise cannot be tried on this machine; the message says why."""


@dataclass(frozen=True)
class Promise:
    """What is promised, and how one case of it is tried."""

    name: str
    says: str
    case: Callable[[int], None]  # tries case number n, raises if the promise is broken
    cases: int  # of the long form
    short: int  # cases of the short form
    share: float  # of the whole time, in the long form
    seconds: float = 60.0  # a case that takes longer is broken
    prepare: Callable[[], object] = tuple  # loads once what the processes share


@dataclass
class CallStats:
    """What came out: cases tried, and what broke, by case."""

    cases: int = 0
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    not_here: str = ""


def random_of(name: str, number: int) -> Random:
    """The random numbers of one case: the same in every run."""
    return Random(f"{name} {number}")
