"""An index that is kept in a folder between calls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cli_running import run

from structrag.cli.index_folder import Changes, IndexFolder
from structrag.errors import InvalidDocument, InvalidParameter

PUMP = (
    "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n\n## Storage\n\nKeep it dry.\n"
)
TAP = "# Tap\n\nThe tap drips when its seal is worn.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    write(files / "pump.md", PUMP)
    write(files / "tap.md", TAP)
    return files


def write(path: Path, text: str) -> None:
    """Write a file that was changed long ago."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18 + len(text)))


def test_the_index_alone_is_searched_from_anywhere(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    index = ("--index", folder.parent / "index")
    _, out, _ = run(capsys, "search", ".", *index, "-q", "drips", "-k", 1)
    assert "tap.md[7:" in out and str(folder) not in out
    (folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(folder.parent / "elsewhere")
    write(folder / "valve.md", "# Valve\n\nThe valve hisses.\n")
    _, out, err = run(capsys, "search", *index, "-q", "hisses", "-k", 1)
    assert f"{folder / 'valve.md'}[" in out and "1 document added" in err
    _, out, _ = run(capsys, "search", *index, "-q", "hisses", "-k", 1, "--json")
    assert json.loads(out)["document"] == str(folder / "valve.md")


def test_the_files_named_are_searched_and_the_others_stay(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    index = ("--index", folder.parent / "index")
    assert run(capsys, "search", folder, *index, "-q", "filter")[0] == 0
    _, out, err = run(
        capsys, "search", folder / "tap.md", *index, "-q", "rinse the filter"
    )
    assert "Tap" in out and "Pump" not in out and "0 removed" in err
    assert "Pump" in run(capsys, "search", *index, "-q", "rinse the filter")[1]


def test_a_file_that_can_no_longer_be_read_leaves(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    index = ("--index", folder.parent / "index")
    assert run(capsys, "search", folder, *index, "-q", "drips")[0] == 0
    (folder / "tap.md").write_bytes(b"\0\1\2")
    code, out, err = run(capsys, "search", folder, *index, "-q", "drips")
    assert code == 0 and "left out" in err and "1 removed" in err and "Tap" not in out


def test_an_index_keeps_to_its_settings(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    index = ("--index", tmp_path / "index", "--method", "multiview", "-q", "x")
    assert run(capsys, "search", folder, *index)[0] == 0
    code, _, err = run(capsys, "search", folder, *index, "--max-tokens", 100)
    assert (
        code == 2
        and "--max-tokens must match the index in" in err
        and "300; got 100" in err
    )
    code, _, err = run(capsys, "search", folder, *index, "--embedder", "other")
    assert (
        code == 2
        and "--embedder must match the index" in err
        and "none; got other" in err
    )
    file = tmp_path / "index" / "multiview.json"
    for content, why in (
        (
            file.read_text().replace('"version": 1', '"version": 9'),
            "another release made it",
        ),
        ("[]", "multiview.json is damaged"),
    ):
        file.write_text(content)
        code, _, err = run(capsys, "search", folder, *index)
        assert code == 2 and why in err and "Delete it" in err


def test_nobodys_files_are_mixed_with_an_index(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, _, err = run(capsys, "search", folder, "--index", folder, "-q", "x")
    assert code == 2 and "holds other files" in err
    code, _, err = run(
        capsys, "search", folder, "--index", folder / "tap.md", "-q", "x"
    )
    assert code == 2 and "is a file" in err
    with pytest.raises(InvalidParameter, match="holds other files"):
        IndexFolder(folder)


def test_an_index_inside_of_the_folder_is_not_counted(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    for _ in range(2):
        code, _, err = run(
            capsys, "search", folder, "--index", folder / "index", "-q", "drips"
        )
        assert code == 0 and "left out" not in err
    (folder / "x.doc").write_text("x")
    index = ("--index", folder / "index")
    _, _, err = run(capsys, "search", folder / "tap.md", folder, *index, "-q", "drips")
    assert "left out: 1 .doc (" in err


def test_an_index_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    index = ("--index", tmp_path / "index", "-q", "drips")
    code, _, err = run(capsys, "search", *index)
    assert code == 2 and "There is no index for --method evidence in" in err
    assert not (tmp_path / "index").exists()
    assert run(capsys, "search", folder, *index)[0] == 0
    code, _, err = run(capsys, "search", *index, "--method", "multiview")
    assert code == 2 and "it has one for evidence. Name the files to index." in err


def test_nothing_is_written_for_an_index_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    index = IndexFolder(None)
    assert index.update([folder]).added == 2
    assert index.search("drips", 1)[0].chunk.doc_id == str(folder / "tap.md")
    assert [path.name for path in folder.parent.iterdir()] == ["files"]
    with pytest.raises(InvalidParameter, match="needs a folder"):
        index.fill([folder])


def test_of_files_that_cannot_be_read_none_is_counted_as_removed(folder: Path) -> None:
    (folder / "bad.md").write_bytes(b"\0\1\2")
    index = IndexFolder(folder.parent / "index")
    changes = index.update([folder])
    assert (changes.added, changes.removed) == (2, 0)
    assert index.update([folder]).unchanged == 2
    with pytest.raises(InvalidDocument, match=r"bad\.md"):
        index.update([folder / "bad.md"])


def test_two_that_keep_one_index_keep_what_the_other_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder.parent / "index"
    first, second = IndexFolder(place), IndexFolder(place)
    assert first.update([folder / "tap.md"]).added == 1
    assert second.update([folder / "pump.md"]).added == 1
    assert [len(kept.index.document_ids) for kept in (first, second)] == [1, 2]
    write(folder / "new.md", "# Valve\n\nThe valve is new.\n")
    opened = first._opened
    meddled = iter([lambda: second.update([folder / "new.md"])])

    def opened_too_early() -> Any:
        index = opened()
        for meddle in meddled:  # before the first comes to saving
            meddle()
        return index

    monkeypatch.setattr(first, "_opened", opened_too_early)
    write(folder / "tap.md", TAP + "It is red.\n")
    first.update()
    assert len(IndexFolder(place).index.document_ids) == 3
    assert first.search("red", 1)[0].chunk.text.endswith("It is red.")


def test_an_empty_folder_is_taken_for_an_index(folder: Path) -> None:
    place = folder.parent / "index"
    place.mkdir()
    assert IndexFolder(place).update([folder]).added == 2
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "evidence.json").mkdir()
    with pytest.raises(InvalidParameter, match="holds other files"):
        IndexFolder(folder.parent / "other")


@pytest.fixture
def reachable(folder: Path) -> Iterator[Path]:
    """The folder where other users reach it, as pytest's own is hidden from them."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield folder.rename(Path(place, "files"))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder in which nobody may write. Root may always, and is an ordinary user meanwhile."""
    places = [path for path in (folder, *folder.rglob("*")) if path.is_dir()]
    for place in places:
        place.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        for place in places:
            place.chmod(0o755)


needs_users = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="this system has no users by number"
)


def contents_of(folder: Path) -> dict[Path, tuple[int, int, bytes]]:
    """The files of a folder, each with its number, time and bytes."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("method", ["evidence", "multiview"])
@pytest.mark.parametrize("paths", [True, False])
def test_a_question_writes_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, method: str, paths: bool
) -> None:
    place = folder.parent / "index"
    (folder / "bad.md").write_bytes(b"\0\1\2")
    IndexFolder(place, method).update([folder])
    before = contents_of(folder.parent)
    named = [folder] if paths else []
    where = ("--store", place, "--method", method)
    code, out, _ = run(capsys, "search", *named, *where, "-q", "rinse the filter")
    assert code == 0 and "Rinse the filter" in out
    assert contents_of(folder.parent) == before


@needs_users
@pytest.mark.filterwarnings("always:The index in")
@pytest.mark.parametrize("method", ["evidence", "multiview"])
def test_an_index_is_asked_where_nobody_may_write(
    capsys: pytest.CaptureFixture[str], reachable: Path, method: str
) -> None:
    folder, place = reachable, reachable.parent / "index"
    IndexFolder(place, method).update([folder])
    # Nobody may read the standard library of some machines, so it is imported before, and no
    # process is started.
    where = ("--store", place, "--method", method, "--not-isolated", "-q")
    assert run(capsys, "search", folder, *where, "filter")[0] == 0
    with read_only(folder.parent):
        code, out, err = run(capsys, "search", folder, *where, "rinse the filter")
        assert code == 0 and out.startswith("1. Pump") and "saved" not in err
        code, out, err = run(capsys, "search", *where, "rinse the filter")
        assert code == 0 and out.startswith("1. Pump") and "saved" not in err
    write(folder / "valve.md", "# Valve\n\nThe valve hisses.\n")
    before = contents_of(place)
    with read_only(folder.parent):
        for _ in range(2):
            code, out, err = run(capsys, "search", folder, *where, "valve hisses")
            assert (
                code == 0 and "The valve hisses." in out and "1 document added" in err
            )
            assert f"The index in {str(place)!r} could not be saved" in err
        new = ("--store", folder.parent / "new", *where[2:])
        code, out, err = run(capsys, "search", folder, *new, "valve hisses")
        assert code == 0 and "The valve hisses." in out and "could not be saved" in err
    assert contents_of(place) == before and not (folder.parent / "new").exists()
    assert IndexFolder(place, method).update([folder]).added == 1


@needs_users
def test_what_could_not_be_saved_is_saved_later(reachable: Path) -> None:
    folder, place = reachable, reachable.parent / "index"
    kept = IndexFolder(place)
    kept.update([folder])
    write(folder / "valve.md", "# Valve\n\nThe valve hisses.\n")
    with read_only(place), pytest.warns(UserWarning, match="could not be saved"):
        assert kept.update([folder], isolated=False).added == 1
    assert len(IndexFolder(place).index.document_ids) == 2
    assert kept.update([folder]).unchanged == 3
    assert len(IndexFolder(place).index.document_ids) == 3
    assert IndexFolder(place).update([folder]).unchanged == 3


def test_an_index_of_which_nothing_is_left_holds_nothing(folder: Path) -> None:
    place = folder.parent / "index"
    IndexFolder(place).update([folder])
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(InvalidDocument, match="There is no readable file"):
        IndexFolder(place).update([folder])
    assert IndexFolder(place).index.document_ids == []


def test_files_that_are_named_no_more_are_not_looked_at(folder: Path) -> None:
    place, other = folder.parent / "index", folder.parent / "other"
    other.mkdir()
    write(other / "valve.md", "# Valve\n\nThe valve hisses.\n")
    kept = IndexFolder(place)
    kept.update([folder])
    write(folder / "tap.md", TAP + "It is red.\n")
    (folder / "pump.md").unlink()
    assert kept.update([other]) == Changes(added=1)
    assert len(kept.index.document_ids) == 3
    changes = kept.update()
    assert changes == Changes(replaced=1, unchanged=1, removed=1)
