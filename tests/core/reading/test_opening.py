"""Only regular files are read, and none above the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.limits import Limits, reading_within
from structrag.reading.opening import (
    file_bytes,
)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="no such file here")
def test_a_file_that_hides_its_size_is_read_up_to_the_limit() -> None:
    with (
        reading_within(Limits(max_bytes=10)),
        pytest.raises(InvalidDocument, match="more than 10 bytes"),
    ):
        file_bytes(Path("/proc/self/maps"))
