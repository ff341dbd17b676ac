"""The file beside an index that says what an ingestion has done."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.ingestion.file_state import FileState
from structrag.ingestion.summary import (
    FolderSummary,
    read_summary,
    summary_path,
    write_summary,
)


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    place = summary_path(tmp_path / "manuals.index")
    assert place.name == "manuals.index.ingested.json"
    files = {"ä.md": FileState(3, 4)}
    summary = FolderSummary(
        {"embedder": "hash"}, files, {"b.md": "It is empty."}, {"added": 1}
    )
    write_summary(place, summary)
    assert read_summary(place) == summary
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


@examples
def test_one_that_cannot_be_read_is_empty(
    tmp_path: Path, content: bytes | None
) -> None:
    place = tmp_path / "summary.json"
    if content is not None:
        place.write_bytes(content)
    assert read_summary(place) == FolderSummary()


def test_one_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "summary.json"
    write_summary(place, FolderSummary(report={"added": 1}))

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("json.dump", full)
    with pytest.raises(OSError, match="no space"):
        write_summary(place, FolderSummary(report={"added": 2}))
    assert read_summary(place).report == {"added": 1}
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
