"""A lock of objects that are pickled."""

from __future__ import annotations

import threading


class Lock:
    """A lock that stays behind when its owner is pickled or deeply copied."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
