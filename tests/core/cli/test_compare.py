"""`structrag compare`: what it prints for a folder of several formats, and what it says about
mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pdf_making
import pytest
from cli_running import run
from fixture_cases import examples
from samples import manual

HTML = (
    "<html><body><h1>Tanks</h1><p>A tank is filled slowly. Nobody "
    "hurries.</p><table><tr><th>a</th></tr><tr><td>1</td></tr></table>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "manual.md").write_text(manual().text, encoding="utf-8")
    (tmp_path / "tanks.html").write_text(HTML, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("Rinse it. Dry it.\n", encoding="utf-8")
    (tmp_path / "broken.md").write_bytes(b"\0\1\2")
    return tmp_path


def test_a_folder_of_several_formats(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    (folder / "meters.pdf").write_bytes(pdf_making.made(pdf_making.manual))
    code, out, err = run(capsys, "compare", folder, "--json")
    assert code == 0 and "broken.md" in err
    found = json.loads(out)
    assert found["documents"] == 4 and found["units"]["table"] >= 1
    assert [method["name"] for method in found["methods"]] == [
        "content_aware",
        "fixed",
        "pic",
        "idms",
        "hiqa",
    ]


def test_the_report_says_what_it_can_and_cannot_tell(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(
        capsys, "compare", folder, "--method", "content_aware,fixed", "--max-tokens", 60
    )
    said = " ".join(out.split())
    assert code == 0
    for sentence in (
        "3 documents",
        "At most 60 tokens per chunk.",
        "method chunks tokens min median p95 max sentences cut tables cut code cut",
        "sent to LSA (no --embedder was given)",
        "none was made here.",
    ):
        assert sentence in said
    assert all(len(line) <= 120 for line in out.splitlines())


def test_markdown_has_the_same_tables(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(
        capsys, "compare", folder / "manual.md", "--markdown", "--method", "fixed,hiqa"
    )
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("## ")] == [
        "## Chunks",
        "## Cost",
    ]
    assert out.count("| fixed ") == out.count("| hiqa ") == 2


@examples
def test_mistakes_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    arguments: list[str],
    sentence: str,
) -> None:
    code, out, err = run(capsys, "compare", folder / "notes.txt", *arguments)
    assert code == 2 and sentence in err and not out and "Traceback" not in err
