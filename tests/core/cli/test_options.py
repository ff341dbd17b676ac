"""What the commands are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import run
from fixture_cases import examples

from structrag.cli import options


def test_a_folder_leaves_out_what_is_no_text(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    (manual.parent / "broken.md").write_bytes(b"\0\1\2")
    code, out, err = run(capsys, "search", manual.parent, "-q", "dry", "-k", 1)
    assert code == 0 and "Storage" in out
    assert "left out" in err and "broken.md" in err


@examples
def test_the_format_can_be_told(
    capsys: pytest.CaptureFixture[str], manual: Path, arguments: list[str]
) -> None:
    code, _, err = run(
        capsys, arguments[0], manual, *arguments[1:], "--format", "wordstar"
    )
    assert code == 2 and "format must be one of" in err


@examples
def test_an_unknown_reader_is_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
    manual: Path,
    arguments: list[str],
    tmp_path: Path,
) -> None:
    store = ["--store", tmp_path / "store"] if arguments == ["index"] else []
    code, out, err = run(
        capsys, arguments[0], manual, *arguments[1:], *store, "--reader", "pymupdf"
    )
    assert (code, out) == (2, "") and "left out" not in err
    assert "--reader must be one of 'docling', 'layout'; got 'pymupdf'" in err
    assert not (tmp_path / "store").exists()


def test_a_format_that_is_told_decides(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    _, out, _ = run(
        capsys, "search", manual, "-q", "dry", "-k", 1, "--format", "text", "--json"
    )
    assert json.loads(out)["path"] != ["Pump", "Storage"]


COMMANDS = (
    ["search", "-q", "dry"],
    ["view"],
    ["compare"],
    ["eval", "--questions", "none.jsonl"],
)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_that_nothing_was_read_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]
) -> None:
    for name in ("a.doc", "b.doc", "c.dat", "Makefile", ".hidden.py"):
        (tmp_path / name).write_text("x")
    code, out, err = run(capsys, arguments[0], tmp_path, *arguments[1:])
    assert code == 2 and not out
    sentence = f"There is no readable file in {str(tmp_path)!r} (2 .doc, "
    assert (
        sentence in err
        and "1 .dat" in err
        and "1 without suffix" in err
        and ".py" not in err
    )
    (tmp_path / "d.md").write_bytes(b"\0\1")
    code, _, err = run(capsys, arguments[0], tmp_path, *arguments[1:])
    assert code == 2 and "left out: " in err and "None of the files in" in err


def test_files_of_other_kinds_are_counted(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    for kind in "abdefgi":
        (manual.parent / f"x.{kind}").write_text("x")
    (manual.parent / "y.doc").write_text("x")
    (manual.parent / "z.doc").write_text("x")
    code, _, err = run(capsys, "search", manual.parent, "-q", "dry")
    assert (
        code == 0
        and "left out: 2 .doc, 1 .a, 1 .b, 1 .d, 1 .e, 3 others (unsupported" in err
    )
    assert "left out" not in run(capsys, "search", manual, "-q", "dry")[2]


@pytest.mark.parametrize("command", ["outline", "split"])
def test_a_folder_is_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    code, _, err = run(capsys, command, tmp_path)
    assert code == 2
    assert (
        err == f"structrag: {command} takes one file; {str(tmp_path)!r} is a folder.\n"
    )


@pytest.mark.parametrize("name", ["minilm", "all-MiniLM-L6-v2"])
def test_minilm_is_the_one_that_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options, "has_minilm", lambda: True)
    monkeypatch.setattr(options, "minilm", lambda: "the model")
    assert options.embedder_of(name) == "the model"
    assert options.embedder_of("") is None


@pytest.mark.slow
@examples
def test_an_unknown_embedder_is_said_in_words_of_the_shell(
    capsys: pytest.CaptureFixture[str], manual: Path, arguments: list[str]
) -> None:
    pytest.importorskip(
        "sentence_transformers", reason="the extra 'models' is not installed"
    )
    code, _, err = run(
        capsys, arguments[0], manual, *arguments[1:], "--embedder", "nope"
    )
    assert (
        code == 2
        and "--embedder must be the folder of" in err
        and "or minilm (pip " in err
    )
    assert "SentenceTransformer(" not in err


def test_a_file_of_the_models_name_is_that_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options, "has_minilm", lambda: True)
    monkeypatch.setattr(options, "as_embedder", lambda name: f"from {name}")
    assert options.embedder_of("other") == "from other"
    (tmp_path / "minilm").mkdir()
    assert options.embedder_of("minilm") == "from minilm"
    (tmp_path / "minilm").rmdir()
    monkeypatch.setattr(options, "has_minilm", lambda: False)
    assert options.embedder_of("minilm") == "from minilm"
