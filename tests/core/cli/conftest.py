"""A manual for the commands to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import MANUAL


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "pump.md"
    path.write_text(MANUAL, encoding="utf-8")
    return path
