"""The file beside an index that says what an ingestion has done."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structrag.ingestion.file_state import FileState

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
