"""What the commands are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structrag.cli import main

MANUAL = (
    "# Pump\n\nAbout it.\n\n## Cleaning\n\nRinse the filter monthly.\n\n## Storage\n\nKeep it "
    "dry.\n"
)


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "pump.md"
    path.write_text(MANUAL, encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_a_folder_leaves_out_what_is_no_text(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    (manual.parent / "broken.md").write_bytes(b"\0\1\2")
    code, out, err = run(capsys, "search", manual.parent, "-q", "dry", "-k", 1)
    assert code == 0 and "Storage" in out
    assert "left out" in err and "broken.md" in err


@pytest.mark.parametrize(
    "arguments",
    [["search", "-q", "dry"], ["compare", "--method", "fixed"], ["outline"], ["split"], ["view"]],
)
def test_the_format_can_be_told(
    capsys: pytest.CaptureFixture[str], manual: Path, arguments: list[str]
) -> None:
    code, _, err = run(capsys, arguments[0], manual, *arguments[1:], "--format", "docx")
    assert code == 2 and "format must be one of" in err


def test_a_format_that_is_told_decides(capsys: pytest.CaptureFixture[str], manual: Path) -> None:
    _, out, _ = run(capsys, "search", manual, "-q", "dry", "-k", 1, "--format", "text", "--json")
    assert json.loads(out)["path"] != ["Pump", "Storage"]
