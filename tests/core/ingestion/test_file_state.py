"""What tells that a file has changed since it was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.ingestion.summary import file_state, is_gone


def test_only_what_is_not_there_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A.")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken").symlink_to("nowhere")
    names = ("a.md", "none.md", "a.md/below", "broken", "loop", "loop/a.md", "n" * 300)
    gone = {name for name in names if is_gone(str(tmp_path / name))}
    assert gone == {"none.md", "a.md/below", "broken"}


@examples
def test_a_file_is_young_for_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, is_sure: bool
) -> None:
    file = tmp_path / "a.md"
    file.write_text("abc")
    os.utime(file, ns=(10**18, 10**18))
    now = 10**18 + 2 * 10**9 + age - 1
    monkeypatch.setattr("structrag.ingestion.summary.time.time_ns", lambda: now)
    assert file_state(str(file)).is_sure is is_sure
