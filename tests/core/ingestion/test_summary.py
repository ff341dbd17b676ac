"""The file beside an index that says what an ingestion has done."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.ingestion.summary import (
    FolderSummary,
    read_summary,
    write_summary,
)


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

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_summary(place, FolderSummary(report={"added": 2}))
    assert read_summary(place).report == {"added": 1}
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
