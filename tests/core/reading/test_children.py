"""Processes that read files and prepare documents import nothing from the current folder, from a
folder of documents, or from the folder of the caller's module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import structrag
from structrag import read_file

NAMES = (
    "json",
    "zipfile",
    "importlib",
    "sitecustomize",
    "structrag",
    "numpy",
    "encodings",
    "pickle",
    "markdown_it",
    "child",
)
DOORS = (
    ("outline", "parts.csv"),
    ("split", "parts.csv"),
    ("search", ".", "-q", "water"),
    ("index", ".", "--store", "{out}/store", "--workers", "1"),
    ("view", "a.md", "-o", "{out}/page.html"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents, and beside them modules that leave a trace when they run."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# Water\n\nIt is wet.\n")
    (folder / "parts.csv").write_text("part,price\nSeal,3\n")
    for name in NAMES:
        trace = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n"
        (folder / f"{name}.py").write_text(trace)
    return folder


def ran(folder: Path) -> str:
    trace = folder.with_name("ran")
    return trace.read_text() if trace.exists() else ""


def run(*command: str, folder: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(Path(structrag.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-P", *command], cwd=folder, env=variables, capture_output=True
    )
    assert not done.returncode, done.stderr.decode()


def test_reading_runs_no_module_of_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend("")
    assert "Seal" in read_file("parts.csv", isolated=True).text
    assert ran(folder) == ""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P came with Python 3.11")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door[0])
def test_no_command_runs_a_module_of_the_current_folder(
    folder: Path, door: tuple[str, ...]
) -> None:
    arguments = [each.format(out=folder.parent) for each in door]
    run("-m", "structrag", *arguments, folder=folder)
    assert ran(folder) == ""


MAKER = """
from functools import partial
from structrag import EvidenceRetriever
from helper import SIZE

def make():
    assert SIZE == 3
    return EvidenceRetriever()
"""
INGESTION = """
import sys
sys.path.append({place!r})
import my_maker
import structrag
report = structrag.ingest({documents!r}, {store!r}, make=my_maker.make, workers=1)
assert report.added and not report.errors, report
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P came with Python 3.11")
def test_a_callers_module_is_imported_by_its_file_and_nothing_else_of_its_folder(
    folder: Path,
) -> None:
    (folder / "my_maker.py").write_text(MAKER)
    (folder / "helper.py").write_text("SIZE = 3\n")
    code = INGESTION.format(
        place=str(folder), documents=str(folder), store=str(folder.parent / "store")
    )
    run("-c", code, folder=folder.parent)
    assert ran(folder) == ""
