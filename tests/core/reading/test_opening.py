"""Only regular files are read, and none above the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.opening import (
    PDF_READERS,
    check_file,
    check_reader,
    file_bytes,
    path_of,
    shown,
)


def test_paths_of_strings_bytes_and_paths() -> None:
    assert (
        path_of("a/b.md")
        == path_of(b"a/b.md")
        == path_of(Path("a/b.md"))
        == Path("a/b.md")
    )
    for value in (None, 5, ["a"]):
        with pytest.raises(
            InvalidParameter, match="path must be a path as string, bytes or Path"
        ):
            path_of(value)


def test_an_error_shows_the_beginning_of_a_long_path() -> None:
    assert shown(Path("a.md")) == "'a.md'"
    assert len(shown(Path("x" * 100_000))) < 300
    assert shown(Path("x" * 200)) == f"'{'x' * 200}'"
    assert shown(Path("x" * 201)) == f"'{'x' * 200}…'"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_or_device_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "link.md").symlink_to(tmp_path / "pipe.md")
    for path in (tmp_path / "pipe.md", tmp_path / "link.md", Path("/dev/zero")):
        with pytest.raises(InvalidDocument, match="no regular file"):
            file_bytes(path)


def test_the_limit_is_looked_at_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"12345")
    assert file_bytes(path, 5) == file_bytes(path) == b"12345"
    (tmp_path / "b.txt").write_bytes(b"1")
    assert file_bytes(tmp_path / "b.txt", 1) == b"1"
    with pytest.raises(InvalidDocument, match="has 5 bytes, and max_bytes allows 4"):
        file_bytes(path, 4)
    with path.open("wb") as file:
        file.truncate(3_000_000_000)  # holds nothing, and would fill the memory
    with pytest.raises(InvalidDocument, match="3,000,000,000 bytes"):
        check_file(path, 200_000_000)
    with pytest.raises(InvalidParameter, match="max_bytes"):
        file_bytes(path, 0)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="no such file here")
def test_a_file_that_hides_its_size_is_read_up_to_the_limit() -> None:
    with pytest.raises(InvalidDocument, match="more than 10 bytes"):
        file_bytes(Path("/proc/self/maps"), 10)


def test_what_cannot_be_looked_at_is_one_sentence(tmp_path: Path) -> None:
    for path, reason in [
        (Path("x" * 5000), "File name too long"),
        (tmp_path / "no.md", "No such file"),
        (Path("a\0b"), "null"),
        (tmp_path, "find_files"),
    ]:
        with pytest.raises(InvalidDocument, match=reason):
            check_file(path)


def test_readers_have_known_names_or_are_objects() -> None:
    for reader in (*PDF_READERS, len, None):
        check_reader(reader)
    with pytest.raises(
        InvalidParameter, match="reader must be one of 'docling', 'layout'"
    ):
        check_reader("pymupdf")
