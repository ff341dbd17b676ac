"""The command line: what it prints, as text and as JSON, and what it says about mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from structrag import read_file
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


@pytest.mark.parametrize("method", ["content_aware", "fixed", "hiqa", "idms", "pic"])
def test_split_json_quotes_the_document(
    capsys: pytest.CaptureFixture[str], manual: Path, method: str
) -> None:
    _, out, _ = run(capsys, "split", manual, "--json", "--method", method, "--max-tokens", 12)
    chunks = [json.loads(line) for line in out.splitlines()]
    assert "".join(chunk["text"] for chunk in chunks) == read_file(manual).text
    assert all(MANUAL[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)


def test_split_by_length_says_where_a_chunk_begins(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    manual.write_text(f"Before.\n\n{MANUAL}", encoding="utf-8")
    _, out, _ = run(capsys, "split", manual, "--method", "fixed", "--max-tokens", 8)
    heads = [line.split("  ")[1] for line in out.splitlines() if line.startswith("──")]
    assert heads == [
        "(no heading)",
        "(begins under Pump > Cleaning)",
        "(begins under Pump > Storage)",
    ]
    _, out, _ = run(capsys, "split", manual, "--method", "fixed", "--json")
    assert json.loads(out.splitlines()[0])["path"] == []


@pytest.mark.parametrize("method", ["pic", "idms"])
def test_split_draws_what_it_saw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str
) -> None:
    text = "# Pumps\n\n" + " ".join(
        f"Pump {i} moves water. The {i}th filter is rinsed." for i in range(40)
    )
    (tmp_path / "pumps.md").write_text(text, encoding="utf-8")
    picture = tmp_path / "pumps.png"
    code, out, _ = run(
        capsys, "split", tmp_path / "pumps.md", "--method", method, "--plot", picture
    )
    assert code == 0 and "Pumps" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, _, err = run(
        capsys, "split", tmp_path / "pumps.md", "--method", method, "--plot", tmp_path / "pumps.txt"
    )
    assert code == 2 and "must end in .png, .svg or .pdf" in err


def test_split_says_where_there_is_nothing_to_draw(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    code, _, err = run(capsys, "split", manual, "--plot", manual.parent / "x.png")
    assert code == 2 and "--plot is for --method idms or pic" in err
    (manual.parent / "empty.md").write_text("")
    code, _, err = run(
        capsys,
        "split",
        manual.parent / "empty.md",
        "--method",
        "pic",
        "--plot",
        manual.parent / "x.png",
    )
    assert code == 2 and "There is nothing to draw" in err


def test_search_finds_the_section_and_shows_how(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    _, out, _ = run(capsys, "search", manual.parent, "-q", "rinse the filter", "-k", 1, "--json")
    (hit,) = [json.loads(line) for line in out.splitlines()]
    assert hit["path"] == ["Pump", "Cleaning"]
    assert hit["views_hit"] and hit["routes"]["bm25:raw"] == 1


def test_search_says_what_it_used(capsys: pytest.CaptureFixture[str], manual: Path) -> None:
    _, out, err = run(capsys, "search", manual, "-q", "dry")
    assert "1 documents added" in err and "LSA" in err
    assert out.startswith("1. Pump > Storage")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["outline", "missing.md"], "Cannot read 'missing.md'"),
        (["search", "missing", "-q", "x"], "There is no file or folder 'missing'"),
        (
            ["split", "MANUAL", "--method", "magic"],
            "--method must be one of 'content_aware', 'fixed', 'hiqa', 'idms', 'pic'; got 'magic'.",
        ),
        (
            ["split", "MANUAL", "--max-tokens", "0"],
            "max_tokens must be a number of at least 1; got 0.",
        ),
    ],
)
def test_mistakes_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str], manual: Path, arguments: list[str], sentence: str
) -> None:
    code, out, err = run(
        capsys, *[str(manual) if argument == "MANUAL" else argument for argument in arguments]
    )
    assert code == 2
    assert sentence in err and "Traceback" not in err and not out


def test_a_folder_leaves_out_what_is_no_text(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    (manual.parent / "broken.md").write_bytes(b"\0\1\2")
    code, out, err = run(capsys, "search", manual.parent, "-q", "dry", "-k", 1)
    assert code == 0 and "Storage" in out
    assert "left out" in err and "broken.md" in err


def test_an_empty_document_has_an_outline_and_no_chunks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.md").write_text("")
    code, out, err = run(capsys, "split", tmp_path / "empty.md")
    assert (code, out) == (0, "")
    assert "empty.md holds no text" in err
    assert run(capsys, "outline", tmp_path / "empty.md")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [["search", "-q", "dry"], ["compare", "--method", "fixed"], ["outline"], ["split"], ["view"]],
)
def test_the_format_can_be_told(
    capsys: pytest.CaptureFixture[str], manual: Path, arguments: list[str]
) -> None:
    code, _, err = run(capsys, arguments[0], manual, *arguments[1:], "--format", "docx")
    assert code == 2 and "format must be one of" in err


def test_a_format_that_is_told_decides(capsys: pytest.CaptureFixture[str], manual: Path) -> None:
    _, out, _ = run(capsys, "search", manual, "-q", "dry", "-k", 1, "--format", "text", "--json")
    assert json.loads(out)["path"] != ["Pump", "Storage"]


def test_a_missing_extra_is_the_users_to_mend(
    capsys: pytest.CaptureFixture[str], manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run(
        capsys, "split", manual, "--method", "pic", "--plot", manual.parent / "x.png"
    )
    assert code == 2 and "structrag[plot]" in err and not out


def test_the_package_runs_as_a_module(manual: Path) -> None:
    command = [sys.executable, "-m", "structrag", "outline", str(manual), "--json"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert [json.loads(line)["path"] for line in result.stdout.splitlines()][1] == ["Pump"]
    failed = subprocess.run(
        [*command[:3], "split", "absent"], capture_output=True, encoding="utf-8", check=False
    )
    assert failed.returncode == 2 and "Cannot read 'absent'" in failed.stderr
