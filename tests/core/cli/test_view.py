"""The command that writes the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import run
from fixture_cases import examples
from view_making import MANUAL, data_of


def test_the_command_writes_a_page_of_files_and_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pump.md").write_text(MANUAL, encoding="utf-8")
    (tmp_path / "tap.txt").write_text("The tap drips.\n", encoding="utf-8")
    output = tmp_path / "page.html"
    arguments = [
        "view",
        tmp_path,
        "--method",
        "fixed, hiqa",
        "-q",
        "tap",
        "-k",
        "2",
        "--max-tokens",
        "50",
        "-o",
        output,
    ]
    # The second time the page lies in the folder, and is no document.
    for _ in range(2):
        code, out, err = run(capsys, *arguments)
        assert code == 0, err
        assert out.startswith(f"{output}: 2 documents by fixed, hiqa; ")
    data = data_of(output.read_text(encoding="utf-8"))
    assert [method["name"] for method in data["methods"]] == ["fixed", "hiqa"]
    assert [method["max_tokens"] for method in data["methods"]] == [50, 50]
    assert [Path(document["id"]).name for document in data["documents"]] == [
        "pump.md",
        "tap.txt",
    ]
    assert [len(search["hits"]) for search in data["searches"]] == [2, 2]


def test_evidence_is_shown_where_there_is_a_query(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pump.md").write_text(MANUAL, encoding="utf-8")
    output = tmp_path / "page.html"
    assert run(capsys, "view", tmp_path, "-o", output)[0] == 0
    names = [
        method["name"]
        for method in data_of(output.read_text(encoding="utf-8"))["methods"]
    ]
    assert names == ["content_aware", "pic", "idms"]
    assert run(capsys, "view", tmp_path, "-o", output, "-q", "rinse")[0] == 0
    data = data_of(output.read_text(encoding="utf-8"))
    assert [method["name"] for method in data["methods"]] == [*names, "evidence"]
    assert data["searches"][3]["words"] and data["searches"][3]["hits"]
    code, _, err = run(capsys, "view", tmp_path, "-o", output, "--method", "evidence")
    assert code != 0 and "evidence finds passages for a question" in err


def test_the_page_is_opened_only_when_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.chdir(tmp_path)
    Path("pump.md").write_text(MANUAL, encoding="utf-8")
    assert run(capsys, "view", "pump.md", "--method", "fixed")[0] == 0 and not opened
    assert run(capsys, "view", "pump.md", "--method", "fixed", "--open")[0] == 0
    assert opened == [(tmp_path / "structrag.html").as_uri()]


@examples
def test_mistakes_end_with_one_sentence_and_write_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pump.html").write_text("<h1>Pump</h1><p>Water.</p>", encoding="utf-8")
    code, out, err = run(capsys, "view", "pump.html", *arguments)
    assert code == 2 and sentence in err and "Traceback" not in err and not out
    assert [each.name for each in tmp_path.iterdir()] == ["pump.html"]
