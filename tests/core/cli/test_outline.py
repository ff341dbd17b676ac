"""The command outline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import MANUAL, run


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
