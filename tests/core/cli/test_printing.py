"""What commands print of documents cannot command a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.cli import main
from structrag.cli.printing import (
    chunk_record,
    harmless,
    path_of,
    print_items,
    show_progress,
)
from structrag.records import Chunk

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x7f\b\r"


def test_control_characters_are_spelt_out() -> None:
    assert harmless(NASTY) == r"\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x7f\x08\r"
    assert harmless("a\tb\r\nc\nü 漢 👩\u200d👩") == "a\tb\r\nc\nü 漢 👩\u200d👩"


@pytest.mark.parametrize("command", ["outline", "split", "search", "compare"])
def test_no_command_prints_a_documents_escapes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    path = tmp_path / "a\x1b[31m.md"
    try:
        words = NASTY.replace("\0", "")  # which no text file holds
        path.write_text(
            f"# Ti{words}tle\n\nPumps {words} move water.\n", encoding="utf-8"
        )
    except OSError:
        pytest.skip("such names are not allowed here")
    options = {"search": ["-q", "water"], "compare": ["--method", "fixed"]}.get(
        command, []
    )
    with pytest.raises(SystemExit):
        main([command, str(path), *options])
    out, err = capsys.readouterr()
    assert not set(out + err) & set("\x1b\x07\x9b\x00\x7f\b")
    assert command == "compare" or r"\x1b]0;owned" in out


def test_errors_and_warnings_are_one_harmless_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["outline", str(tmp_path / "no\x1b[31m.md")])
    err = capsys.readouterr().err
    assert stop.value.code == 2 and err.startswith("structrag: ") and "\x1b" not in err


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_warning_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").write_text(
        "# Pumps\n\nPumps move water.\n\n# Valves\n\nValves stop it."
    )
    (tmp_path / "b.md").write_text("x")
    try:
        (folder / "b.md").symlink_to(tmp_path / "b.md")
    except OSError:
        pytest.skip("links need a right that is missing here")
    with pytest.raises(SystemExit) as stop:
        main(["search", str(folder), "-q", "water"])
    lines = capsys.readouterr().err.splitlines()
    assert not stop.value.code
    assert lines[0].startswith("structrag: ") and "outside of the folder" in lines[0]
    assert len(lines) == 2  # the other is the report


def test_what_is_said_stands_in_the_place_of_the_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("reading files", 1, 3)
    show_progress.say("left out: b\x1b.md")
    show_progress("reading files", 3, 3)
    over = " " * len("reading files: 1 of 3")
    assert capsys.readouterr().err == (
        f"reading files: 1 of 3\r{over}\rleft out: b\\x1b.md\nreading files: 3 of 3\n"
    )


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 4.0, 11.0, 12.0, 22.0, 23.0])
    monkeypatch.setattr("structrag.asking.progress.monotonic", lambda: next(seconds))
    for done in range(5):
        show_progress("embedding", done, 9)
    show_progress("reading files", 9, 9)
    assert capsys.readouterr().err == "embedding: 2 of 9\nembedding: 4 of 9\n"


@examples
def test_titles_lead_to_a_chunk(path: tuple[str, ...], title: str, shown: str) -> None:
    assert path_of(Chunk("c", "d", "s", 0, 1, "x", path=path), title) == shown


def test_items_are_lines_of_json_or_harmless_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_items(["a\x1b", "\ud800"], False)
    print_items([{"a": "\x1b"}, "b"], True)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [r"a\x1b", "?", r'{"a": "\u001b"}', '"b"']


def test_extras_of_a_chunk_stand_beside_its_fields() -> None:
    chunk = Chunk("c", "d", "s", 3, 5, "xy", n_tokens=1, path=("A",), extras={"n": 7})
    assert chunk_record(chunk) == {
        "id": "c",
        "path": ["A"],
        "start": 3,
        "end": 5,
        "n_tokens": 1,
        "context": "",
        "text": "xy",
        "n": 7,
    }
