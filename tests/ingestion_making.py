"""Files for ingestions, ingestions in processes of their own, and what an index holds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from places import ROOT

from structrag.index.store import Store

LONG_AGO = 1_600_000_000 * 10**9


def write_files(folder: Path, count: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for i in range(count):
        file = folder / f"{i:03}.md"
        words = " ".join(f"word{i * j % 97}" for j in range(40 + i % 7))
        file.write_text(
            f"# Title {i}\n\nIt is about {words}.\n\n## Part\n\nAnd number {i}.\n"
        )
        os.utime(file, ns=(LONG_AGO, LONG_AGO))
        files.append(file)
    return files


def content(path: Path) -> dict[str, Any]:
    """All that an index holds, in its order."""
    store = Store.load(path, verify=True)
    reader = store.reader()
    return {
        "ids": store.document_ids,
        "prints": [store.stored(doc_id).fingerprint for doc_id in store.document_ids],
        "chunks": {
            level: store.reader(level).chunks() for level in store.settings.levels
        },
        "rows": [reader.view_text(row, "raw") for row in range(len(reader))],
        "blobs": [
            [bytes(blob) for blob in row.blobs]
            for row in reader.stored_rows(
                range(len(reader)), ["light", "codes"]
            ).values()
        ],
    }


def start(folder: Path, make: str, **options: Any) -> subprocess.Popen[bytes]:
    """An ingestion in a process of its own."""
    code = (
        "import sys; sys.path[:0] = [{paths}]\n"
        "import ingestion_makers\n"
        "from structrag.ingestion import ingest\n"
        "ingest({files!r}, {index!r}, make=ingestion_makers.{make}, **{options!r})\n"
    ).format(
        paths=", ".join(map(repr, (str(ROOT / "tests"), str(ROOT / "shared")))),
        files=str(folder / "files"),
        index=str(folder / "index"),
        make=make,
        options=options,
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
