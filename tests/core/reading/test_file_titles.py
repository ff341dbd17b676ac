"""Titles that programs made up."""

from __future__ import annotations

import pytest

from structrag.reading.file_titles import own_title


@pytest.mark.parametrize(
    "title",
    ["(anonymous)", "untitled", "Untitled-1", "Microsoft Word - report.doc", "paper.dvi", "Slide 1",
     "Microsoft PowerPoint - talk", "Document1", "presentation", " "],
)  # fmt: skip
def test_a_programs_title_is_none(title: str) -> None:
    assert own_title(title) == ""


@pytest.mark.parametrize(
    "title", ["Pump manual", "Word for beginners", "Documents of 1900"]
)
def test_a_persons_title_stays(title: str) -> None:
    assert own_title(f" {title}\n") == title
