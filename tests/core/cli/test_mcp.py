"""The command mcp; what it serves is tested in test_mcp_server.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from structrag.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0), capsys.readouterr().err


def test_nothing_to_serve_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    code, err = run(capsys, "mcp", tmp_path)
    assert code == 2 and "There is no readable file" in err


def test_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pump.md").write_text("# Pump")
    monkeypatch.setitem(sys.modules, "mcp", None)
    code, err = run(capsys, "mcp", tmp_path)
    assert code == 2 and "structrag[mcp]" in err
