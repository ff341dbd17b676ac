"""The summary beside an index: what an ingestion has done, and the state of each file it read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from structrag.errors import warn_user
from structrag.index.entries import rules_of
from structrag.text.numbers import pluralise

SUFFIX = ".ingested.json"


@dataclass(slots=True)
class FolderSummary:
    """What is known of the files of an index.

    Attributes:
        made_from: The index's configuration and how files are read. Where it differs, all files are
            read again.
        files: Path -> what the file was when its document was stored.
        errors: Path -> why the last ingestion left it out.
        report: Counts of the last ingestion.
    """

    made_from: Mapping[str, Any] = field(default_factory=dict)
    files: dict[str, FileState] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


def summary_path(store: Path) -> Path:
    """Where the summary of an index lies."""
    return store.with_name(store.name + SUFFIX)


def read_summary(path: Path) -> FolderSummary:
    """The summary at a path; empty if it cannot be read. It saves work and decides nothing: without
    it every file is read again."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        files = {name: FileState(*state) for name, state in content["files"].items()}
        return FolderSummary(
            content["made_from"], files, dict(content["errors"]), content["report"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return FolderSummary()


def write_summary(path: Path, summary: FolderSummary) -> None:
    """Replace the summary in one step."""
    content = {
        "report": summary.report,
        "errors": summary.errors,
        "made_from": summary.made_from,
        "files": summary.files,
    }
    write_json(path, content, indent=1)


def write_json(path: Path, content: Mapping[str, Any], **options: Any) -> None:
    """Replace a file in one step by what JSON makes of `content`, unless it holds that."""
    text = json.dumps(content, **options)
    with suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8") == text:
            return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


# Nanoseconds after a change in which a file may change again and keep its time.
YOUNG = 2 * 10**9
UNSURE = 0  # stands for the time of such a change


class FileState(NamedTuple):
    """Size and time of the last change, before the file is read, and how and by which rules it is
    read."""

    size: int  # bytes
    modified: int  # nanoseconds, or UNSURE
    format: str = ""
    reader: str = ""
    rules: str = ""

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
    return FileState(status.st_size, modified, format, reader, rules_of())


def tell_of_new_rules(
    states: Mapping[str, FileState], before: Mapping[str, FileState]
) -> None:
    """Warn that files are read again because this release, or an extra, reads them otherwise."""
    again = sum(
        name in before and state.rules != before[name].rules
        for name, state in states.items()
    )
    if again:
        warn_user(
            f"{pluralise(again, 'file')} read again: since the index was filled, the rules by "
            "which files are read and cut have changed, or the extra `code` has come or gone."
        )


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
