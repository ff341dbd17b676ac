"""The page of conclusions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import evaluation, pictures


def test_the_page_in_the_documentation_is_written_from_the_results() -> None:
    assert evaluation.PAGE.read_text(encoding="utf-8") == evaluation.page()
    assert evaluation.LIST.read_text(encoding="utf-8") == evaluation.all_results()


def test_every_figure_of_the_conclusions_is_a_result() -> None:
    text = evaluation.page()
    for name, place in evaluation.FIGURES.items():
        assert re.match(r"[+-]?\d+(\.\d|%)", evaluation.figure(*place)), name
        assert evaluation.figure(*place) in text


def test_the_pictures_in_the_documentation_are_drawn_from_the_results(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    for drawn in pictures.draw(tmp_path):
        shown = (pictures.PICTURES / drawn.name).read_text(encoding="utf-8")
        words = [
            re.findall(r"<text[^>]*>([^<]*)</text>", page)
            for page in (shown, drawn.read_text(encoding="utf-8"))
        ]
        assert words[0] == words[1] and len(words[0]) > 20, drawn.name


def test_every_result_is_named_with_its_command() -> None:
    named = {result.file for result in evaluation.RESULTS_IN_ORDER}
    files = {path.name for path in evaluation.RESULTS.glob("*.md")}
    assert files - named <= {"torture.md"}  # written by `make torture`


def test_a_result_that_names_a_commit_is_marked_wherever_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in evaluation.RESULTS.glob("*.md"):
        text = file.read_text(encoding="utf-8")
        if file.name == "hiqa.md":
            text = re.sub(r"<!-- code of .*? -->|Measured at commit .*", "", text)
            text = text.replace("\n\n", "\n\nMeasured at commit 12ab34cd.\n\n", 1)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(evaluation, "RESULTS", tmp_path)
    assert evaluation.older("hiqa.md") == "12ab34cd"
    for text in (evaluation.page(), evaluation.all_results()):
        (line,) = [line for line in text.splitlines() if "[hiqa.md](" in line]
        assert "12ab34cd" in line


def test_a_missing_result_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "RESULTS", tmp_path)
    assert evaluation.figure("methods.md", "a", "b", 1) == ""
    with pytest.raises(KeyError, match="at_500"):
        evaluation.page()
