"""Long files in which no heading was seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from structrag import read_file
from structrag.reading.sections import LONG

PROSE = "<p>" + "The pump moves the water to the tank. " * (LONG // 30)


def test_a_long_page_without_headings_is_warned_of(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PROSE)
    with pytest.warns(UserWarning, match="A long page of HTML has no heading"):
        read_file(page)
