"""The command outline."""

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


def test_outline_names_sections_with_their_ranges(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    code, out, _ = run(capsys, "outline", manual)
    assert code == 0
    assert out.splitlines()[0] == f"Pump · markdown · {len(MANUAL)} characters"
    assert f"Cleaning  [{MANUAL.index('## Cl')}:{MANUAL.index('## St')}]" in out


def test_outline_json_is_one_section_a_line(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    _, out, _ = run(capsys, "outline", manual, "--json")
    sections = [json.loads(line) for line in out.splitlines()]
    assert [section["path"] for section in sections] == [
        [],
        ["Pump"],
        ["Pump", "Cleaning"],
        ["Pump", "Storage"],
    ]


def test_an_empty_document_has_an_outline_and_no_chunks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.md").write_text("")
    code, out, err = run(capsys, "split", tmp_path / "empty.md")
    assert (code, out) == (0, "")
    assert "empty.md holds no text" in err
    assert run(capsys, "outline", tmp_path / "empty.md")[0] == 0
