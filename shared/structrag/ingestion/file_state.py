"""What tells that a file has changed since it was read."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

# Nanoseconds after a change in which a file may change again and keep its time.
YOUNG = 2 * 10**9
UNSURE = 0  # stands for the time of such a change


class FileState(NamedTuple):
    """Size and time of the last change, before the file is read, and how it is read."""

    size: int  # bytes
    modified: int  # nanoseconds, or UNSURE
    format: str = ""
    reader: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether an equal state later means an equal file."""
        return self.modified != UNSURE

    def is_same(self, before: FileState | None) -> bool:
        """Whether a file with this state surely is what it was with the state before."""
        return self.is_sure and self == before


def file_state(path: str, format: str = "", reader: str = "") -> FileState:
    """The state of a file now.

    One that has just changed may change again within the clock's step, so its state is not sure,
    and it is read the next time too. Raises OSError where there is no such file.
    """
    status = os.stat(path)
    is_young = time.time_ns() - status.st_mtime_ns < YOUNG
    modified = UNSURE if is_young else status.st_mtime_ns
    return FileState(status.st_size, modified, format, reader)


def is_gone(path: str) -> bool:
    """Whether the file no longer exists. A file that cannot be examined, for example in a folder
    without permission, still exists."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
