"""What the commands are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pdf_making import made
from pdf_making import manual as manual_pages

from structrag.cli import main
from structrag.reading.pdf import isolation

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


def test_a_pdf_is_read_in_a_process_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    file = tmp_path / "manual.pdf"
    file.write_bytes(made(manual_pages))
    monkeypatch.setattr(isolation, "_START", "import os, sys; sys.stdin.buffer.read(); os.abort()")
    for command in ("outline", "split"):
        code, _, err = run(capsys, command, file)
        assert code == 2 and "cannot be read: the process that read it ended" in err
        assert run(capsys, command, file, "--not-isolated")[0] == 0
    (tmp_path / "a.md").write_text("# Pumps\n\nPumps move water.\n\n# Valves\n\nValves stop it.")
    code, out, err = run(capsys, "search", tmp_path, "-q", "water")
    assert code == 0 and "Pumps" in out and "left out" in err
