"""`make demo` answers a question of any file or folder, and says what it cannot read."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import format_making
import pdf_making
import pytest
from places import ROOT

Demo = Callable[..., str]
QUESTION = "How often is the filter rinsed?"
ANSWER = "Rinse the filter every week."
MARKDOWN = (
    f"# Pump\n\nIt moves water.\n\n## Care\n\n{ANSWER}\n\n## Price\n\nNine euro.\n"
)


def _pdf() -> bytes:
    def draw(canvas: Any) -> None:
        pdf_making.write(canvas, ["Pump"], 72, 780, 20, "Helvetica-Bold")
        pdf_making.write(canvas, ["It moves water.", "Care of it follows."], 72, 740)
        pdf_making.write(canvas, ["Care"], 72, 690, 16, "Helvetica-Bold")
        pdf_making.write(canvas, [ANSWER, "Then it runs again."], 72, 660)

    return pdf_making.made(draw)


def _html() -> bytes:
    page = f"<h1>Pump</h1><p>It moves water.</p><h2>Care</h2><p>{ANSWER}</p>"
    return f"<html><body>{page}</body></html>".encode()


def _docx() -> bytes:
    lines = ["Heading1 Pump", " It moves water.", "Heading1 Care", f" {ANSWER}"]
    return format_making.docx(
        "\n".join(f"p:{line}" if line[0] != " " else f"p{line}" for line in lines)
    )


FILES = {
    "pump.md": MARKDOWN.encode,
    "pump.pdf": _pdf,
    "pump.docx": _docx,
    "pump.html": _html,
    "pump.csv": f"part,care\npump,{ANSWER}\nvalve,Wipe it daily.\n".encode,
    "pump.txt": f"It moves water.\n\n{ANSWER}\n".encode,
    "latin.txt": partial(f"Für Häuser.\n\n{ANSWER}\n".encode, "latin-1"),
    "no_suffix": MARKDOWN.encode,
}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Demo:
    """Run the demo without a sentence encoder; what it prints, on one line."""

    def run(path: Path, *options: str) -> str:
        arguments = ["demo.py", "--light", "--question", QUESTION, "--doc", str(path)]
        monkeypatch.setattr(sys, "argv", [*arguments, *options])
        runpy.run_path(str(ROOT / "cookbooks/demo.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


def _shown(output: str, name: str) -> None:
    """Assert that both columns show the answer and its place, and that none is garbage."""
    left, right = "", ""
    for line in output.splitlines():
        columns = line.partition(" │ ")
        left, right = f"{left} {columns[0].strip()}", f"{right} {columns[2].strip()}"
    for column in left, right:
        assert ANSWER in re.sub(r"\s+", " ", column)
        assert re.search(rf"{re.escape(name)}\[\d+:\d+\]", column)
    assert "�" not in output
    assert "returned the same passages" in output


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_kind(demo: Demo, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    _shown(demo(tmp_path / name), name)


def test_a_folder_names_what_it_leaves_out(demo: Demo, tmp_path: Path) -> None:
    for name in "pump.md", "pump.docx":
        (tmp_path / name).write_bytes(FILES[name]())
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 cut off")
    (tmp_path / "broken.docx").write_bytes(FILES["pump.docx"]()[:200])
    (tmp_path / "blank.md").write_bytes(b" \n")
    (tmp_path / "film.mp4").write_bytes(b"\0\0")
    output = demo(tmp_path)
    _shown(output, "pump.md")
    for name in "broken.pdf", "broken.docx", "film.mp4":
        assert name in output
    assert "2 documents" in output


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.pdf", None, "There is no file or folder"),
        ("empty.md", b"", "there is no text in"),
        ("broken.pdf", b"%PDF-1.4 cut off", "broken.pdf"),
        ("film.mp4", b"\0\1\2" * 99, "film.mp4"),
    ],
)
def test_what_cannot_be_read_ends_in_a_sentence(
    demo: Demo, tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SystemExit, match=sentence) as stopped:
        demo(tmp_path / name)
    assert str(stopped.value.code).startswith("structrag: ")


def test_an_empty_folder(demo: Demo, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no text in"):
        demo(tmp_path)


def test_the_light_demo_reads_pdf_files() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-e '.[langchain,llama-index,pdf]'" in makefile
