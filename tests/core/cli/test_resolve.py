"""The command resolve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import MANUAL, run


def test_a_cited_passage_is_found_in_the_file_as_it_is_now(
    capsys: pytest.CaptureFixture[str], manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = run(capsys, "search", manual, "-q", "cleaning", "-k", "1", "--json")
    hit = json.loads(out)
    monkeypatch.chdir(manual.parent)  # by another name of the same file
    code, out, _ = run(capsys, "resolve", hit["citation"], manual.name)
    place = f"[{hit['start']}:{hit['end']}]"
    assert code == 0 and out == f"there  {manual.name}{place}\n{hit['text']}\n"
    manual.write_text(f"Preface.\n\n{MANUAL}")
    _, out, _ = run(capsys, "resolve", hit["citation"], manual.name, "--json")
    moved = json.loads(out)
    assert (moved["state"], moved["text"]) == ("moved", hit["text"])
    assert moved["start"] == hit["start"] + len("Preface.\n\n")
    manual.write_text("Nothing of it.")
    assert run(capsys, "resolve", hit["citation"], manual)[1] == "gone\n"


def test_a_citation_of_another_file_or_none_is_one_sentence(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    _, out, _ = run(capsys, "search", manual, "-q", "cleaning", "-k", "1", "--json")
    citation = json.loads(out)["citation"]
    other = manual.with_name("other.md")
    other.write_text(f"{MANUAL} And more.")
    for arguments, sentence in (
        ((citation, other), "document must be the cited one"),
        ((citation[:-3], manual), "whole and unchanged"),
        ((citation, manual.with_name("absent.md")), "absent.md"),
    ):
        code, out, err = run(capsys, "resolve", *arguments)
        assert code == 2 and sentence in err and not out
