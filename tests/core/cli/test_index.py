"""`structrag index`: files into a kept index by several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ingestion_makers as makers
import pytest
from cli_running import run


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    folder = tmp_path / "manuals"
    folder.mkdir()
    for name in ("pump", "valve", "filter"):
        (folder / f"{name}.md").write_text(
            f"# The {name}\n\nThe {name} is cleaned weekly.\n"
        )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("method", ["evidence", "multiview"])
def test_what_it_indexes_is_searched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, manuals: Path, method: str
) -> None:
    (manuals / "scan.md").write_bytes(b"\x89PNG\x00\x00")
    (manuals / "table.dat").write_text("a,b")
    store = tmp_path / "store"
    arguments = ("index", manuals, "--store", store, "--workers", 2, "--method", method)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (0, "")
    assert "3 documents added" in err
    assert "scan.md" in err and "NUL" in err
    assert "1 .dat" in err
    code, _, err = run(capsys, *arguments)
    assert (code, "0 documents added, 0 replaced, 3 unchanged" in err) == (0, True)

    search = (
        "search",
        "--index",
        store,
        "--method",
        method,
        "-q",
        "the valve",
        "-k",
        1,
        "--json",
    )
    code, out, err = run(capsys, *search)
    assert code == 0
    assert json.loads(out)["document"] == str(manuals / "valve.md")

    (manuals / "valve.md").unlink()
    code, _, err = run(capsys, *arguments)
    assert (code, "1 removed" in err) == (0, True)


def test_nothing_to_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = tmp_path / "store"
    code, _, err = run(capsys, "index", tmp_path / "nowhere", "--store", store)
    assert (code, "There is no file or folder" in err) == (2, True)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "bad.md").write_bytes(b"\x00")
    code, _, err = run(
        capsys, "index", tmp_path / "files", "--store", store, "--workers", 1
    )
    assert (code, "bad.md" in err) == (2, True)


def test_an_unknown_runner_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, manuals: Path
) -> None:
    store = tmp_path / "store"
    code, _, err = run(capsys, "index", manuals, "--store", store, "--runner", "dask")
    assert (code, "--runner must be one of 'process', 'ray'" in err) == (2, True)
    assert not store.exists()


def test_a_model_that_fails_names_the_files(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    manuals: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (manuals / "a.md").write_text("# It\n\nIs DOWN.")
    monkeypatch.setattr("structrag.cli.index_folder._made", makers.broken_for)
    monkeypatch.setattr(
        "structrag.cli.index_folder.embedder_of", lambda name: makers.Broken()
    )
    store = (
        "--store",
        tmp_path / "store",
        "--method",
        "multiview",
        "--embedder",
        "any",
    )
    arguments = ("index", manuals, *store, "--workers", 1)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "ConnectionError: no server" in err and "Traceback" not in err
    assert f"{str(manuals / 'a.md')!r} and 3 more files" in err
    assert "run the same ingestion again" in err
    (manuals / "a.md").write_text("# It\n\nIs REFUSED.")
    code, _, err = run(capsys, *arguments)
    assert (code, "3 documents added" in err, "1 left out" in err) == (0, True, True)
    assert (
        f"left out: {str(manuals / 'a.md')!r} cannot be embedded: The embedder" in err
    )


def test_another_embedder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, manuals: Path
) -> None:
    store = tmp_path / "store"
    arguments = ("index", manuals, "--store", store, "--workers", 1)
    assert run(capsys, *arguments)[0] == 0
    code, _, err = run(capsys, *arguments, "--embedder", "another")
    assert (code, "--embedder must match the index" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="this system has no signals for groups")
def test_an_interruption_is_quiet(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(5_000):
        (files / f"{number}.md").write_text(f"# Pump {number}\n\nIt is cleaned.\n")
    command = [sys.executable, "-m", "structrag", "index", str(files), "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--store", str(tmp_path / "index")],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    place = (
        tmp_path / "index" / "evidence.json"
    )  # which is written before workers start
    while not place.exists():
        time.sleep(0.02)
    time.sleep(3)  # the workers import, or work
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1] == b"" and process.returncode == 130
