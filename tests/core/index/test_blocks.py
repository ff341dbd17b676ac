"""Files of arrays: what was written comes back, and no altered byte goes unnoticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structrag.errors import IndexDamaged
from structrag.index import blocks
from structrag.index.blocks import BLOCK, MAGIC, ArrayFile, write_arrays

KINDS = st.sampled_from(["<f4", "<f2", "<i4", "<i8", "u1", "<u8"])
ARRAYS = KINDS.flatmap(
    lambda kind: hnp.arrays(
        kind,
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9),
        elements={"allow_nan": False} if "f" in kind else None,
    )
)


@settings(deadline=None, max_examples=60)
@given(
    arrays=st.dictionaries(st.text(min_size=1, max_size=8), ARRAYS, max_size=4),
    cuts=st.integers(1, 3),
)
def test_what_was_written_comes_back(
    arrays: dict[str, np.ndarray], cuts: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "file"
    pieces = {name: np.array_split(array, cuts) for name, array in arrays.items()}
    digest = write_arrays(path, pieces, {"note": "ä"})
    file = ArrayFile(path, digest=digest)
    assert file.meta == {"note": "ä"} and file.digest == digest
    for name, array in arrays.items():
        column = file.column(name)
        assert name in file.names and len(column) == len(array)
        assert column.values.dtype == array.dtype and column.values.shape == array.shape
        half = len(array) // 2
        assert np.array_equal(column.part(half, len(array)), array[half:])
        assert np.array_equal(column.all(), array)
        assert column.values.ctypes.data % 8 == 0 or not column.values.size
    again = write_arrays(path.with_name("again"), pieces, {"note": "ä"})
    assert again == digest and path.read_bytes() == path.with_name("again").read_bytes()
    file.verify()
    file.copy(path.with_name("copy"))
    assert path.with_name("copy").read_bytes() == path.read_bytes()


def large(tmp_path: Path) -> tuple[Path, np.ndarray, str]:
    """A file of several blocks."""
    values = np.arange(3 * BLOCK // 8, dtype=np.int64)
    digest = write_arrays(
        tmp_path / "file", {"a": [values[:5], values[5:]], "b": [values[:9]]}, {}
    )
    return tmp_path / "file", values, digest


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda content: content[:-1], "its end is missing"),
        (lambda content: content[10:], "bytes|contents|altered|changed"),
        (lambda content: b"", "cannot be read"),
        (lambda content: b"x" * 50, "its end is missing"),
        (lambda content: bytes(7) + MAGIC, "its end is missing"),
        (lambda content: bytes(8) + MAGIC, "contents is not readable"),
        (
            lambda content: content[:-24] + b"\xff" * 8 + content[-16:],
            "its end was altered",
        ),
        (
            lambda content: (
                content[:-24] + (len(content) - 23).to_bytes(8, "little") + MAGIC
            ),
            "its end was altered",
        ),
        (lambda content: content[:-24] + bytes(8) + content[-16:], "not readable"),
        (
            lambda content: content.replace(b'"meta"', b'"mets"'),
            "its content has changed",
        ),
    ],
)
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, harm, what: str) -> None:  # type: ignore[no-untyped-def]
    path, _, digest = large(tmp_path)
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(IndexDamaged, match=what):
        ArrayFile(path, digest=digest).verify()


def test_missing_files_and_arrays(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match="it is missing"):
        ArrayFile(tmp_path / "absent")
    path, _, _ = large(tmp_path)
    with pytest.raises(IndexDamaged, match="it lacks c"):
        ArrayFile(path).column("c")
    altered = path.read_bytes().replace(b'"meta"', b'"mets"')
    path.write_bytes(altered)
    with pytest.raises(IndexDamaged, match="contents is invalid"):
        ArrayFile(path)


def test_a_failed_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(blocks.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_arrays(tmp_path / "file", {"a": [np.zeros(3)]}, {})
    assert list(tmp_path.iterdir()) == []


DATA = np.array([7, 8], dtype="<i4").tobytes()


def with_footer(path: Path, footer: object) -> Path:
    """A file of eight bytes of data with a table of contents of this kind."""
    text = json.dumps(footer).encode()
    path.write_bytes(DATA + text + len(text).to_bytes(8, "little") + MAGIC)
    return path


def footer_of(*place: object) -> dict[str, Any]:
    sums = xxhash.xxh3_64_hexdigest(DATA)
    return {"arrays": {"a": place}, "meta": {}, "blocks": sums}


@examples
def test_places_within_the_data_are_read(
    place: tuple[object, ...], values: list[object], tmp_path: Path
) -> None:
    file = ArrayFile(with_footer(tmp_path / "file", footer_of(*place)))
    assert file.column("a").all().tolist() == values


@pytest.mark.parametrize(
    "footer",
    [
        [],
        {"arrays": {}, "meta": {}},
        footer_of("<i4", [2], 1),
        footer_of("<i4", [3], 0),
        footer_of("<i4", [1], -4),
        footer_of("O", [1], 0),
        footer_of("unknown", [1], 0),
        footer_of("<i4", [2]),
        {**footer_of("<i4", [2], 0), "blocks": "no digits"},
    ],
)
def test_a_table_of_contents_that_makes_no_sense(
    footer: object, tmp_path: Path
) -> None:
    path = with_footer(tmp_path / "file", footer)
    with pytest.raises(IndexDamaged, match="its table of contents is invalid"):
        ArrayFile(path)


def test_a_failed_copy_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, _ = large(tmp_path)
    file = ArrayFile(path)

    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(blocks.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file.copy(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == [path]
