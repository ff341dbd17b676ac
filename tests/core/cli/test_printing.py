"""What commands print of documents cannot command a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.cli import main
from structrag.cli.printing import (
    path_of,
    show_progress,
)
from structrag.records import Chunk


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_warning_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").write_text(
        "# Pumps\n\nPumps move water.\n\n# Valves\n\nValves stop it."
    )
    (tmp_path / "b.md").write_text("x")
    try:
        (folder / "b.md").symlink_to(tmp_path / "b.md")
    except OSError:
        pytest.skip("links need a right that is missing here")
    with pytest.raises(SystemExit) as stop:
        main(["search", str(folder), "-q", "water"])
    lines = capsys.readouterr().err.splitlines()
    assert not stop.value.code
    assert lines[0].startswith("structrag: ") and "outside the folder" in lines[0]
    assert len(lines) == 2  # the other is the report


def test_what_is_said_stands_in_the_place_of_the_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("reading files", 1, 3)
    show_progress.say("left out: b\x1b.md")
    show_progress("reading files", 3, 3)
    over = " " * len("reading files: 1 of 3")
    assert capsys.readouterr().err == (
        f"reading files: 1 of 3\r{over}\rleft out: b\\x1b.md\nreading files: 3 of 3\n"
    )


@examples
def test_titles_lead_to_a_chunk(path: tuple[str, ...], title: str, shown: str) -> None:
    assert path_of(Chunk("c", "d", "s", 0, 1, "x", path=path), title) == shown
