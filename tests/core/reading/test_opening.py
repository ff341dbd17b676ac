"""Only regular files are read, and none above the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.limits import Limits, reading_within
from structrag.reading.opening import (
    file_bytes,
    path_of,
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_or_device_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "link.md").symlink_to(tmp_path / "pipe.md")
    for path in (tmp_path / "pipe.md", tmp_path / "link.md", Path("/dev/zero")):
        with pytest.raises(InvalidDocument, match="not a regular file"):
            file_bytes(path)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="no such file here")
def test_a_file_that_hides_its_size_is_read_up_to_the_limit() -> None:
    with (
        reading_within(Limits(max_bytes=10)),
        pytest.raises(InvalidDocument, match="more than 10 bytes"),
    ):
        file_bytes(Path("/proc/self/maps"))
