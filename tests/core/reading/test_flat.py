"""Long files in which no heading was seen."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from structrag import read_file
from structrag.reading.flat import LONG

PROSE = "<p>" + "The pump moves the water to the tank. " * (LONG // 30)


def test_a_long_page_without_headings_is_warned_of(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PROSE)
    with pytest.warns(UserWarning, match="A long page of HTML has no heading"):
        read_file(page)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("short.html", "<p>Short."),
        ("page.html", f"<h1>Pumps</h1>{PROSE}"),
        ("a.txt", PROSE[3:]),
    ],
)
def test_other_files_are_not(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_file(tmp_path / name)
