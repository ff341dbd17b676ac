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
from structrag.index.blocks import BLOCK, MAGIC, ArrayFile, Column, write_arrays

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


def test_a_changed_block_is_noticed_when_it_is_read_and_not_before(
    tmp_path: Path,
) -> None:
    path, values, digest = large(tmp_path)
    content = bytearray(path.read_bytes())
    content[BLOCK + 7] ^= 1
    path.write_bytes(content)
    file = ArrayFile(path, digest=digest)
    column = file.column("a")
    first = BLOCK // 8
    assert np.array_equal(column.part(0, first), values[:first])
    assert np.array_equal(column.part(2 * first, 3 * first), values[2 * first :])
    assert np.array_equal(file.column("b").all(), values[:9])
    for read in (lambda: column.part(first - 1, first + 1), column.all, file.verify):
        with pytest.raises(
            IndexDamaged, match=f"bytes from {BLOCK:,} have changed.*build it"
        ):
            read()
    with pytest.raises(IndexDamaged):
        file.copy(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_block_is_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, values, _ = large(tmp_path)
    column = ArrayFile(path).column("a")
    assert np.array_equal(column.all(), values)

    def never(content: object) -> bytes:
        raise AssertionError("checked again")

    other = ArrayFile(path).column("a")
    other.part(0, 5)
    monkeypatch.setattr(blocks.xxhash, "xxh3_64_digest", never)
    assert np.array_equal(column.all(), values) and column.part(1, 2).tolist() == [1]
    assert other.part(1, 7).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(AssertionError, match="checked again"):
        other.part(BLOCK // 8, BLOCK // 8 + 1)  # of the second block


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
    with pytest.raises(IndexDamaged, match="contents makes no sense"):
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


def test_a_column_of_a_plain_array() -> None:
    column = Column(np.arange(6).reshape(3, 2))
    assert len(column) == 3 and column.part(1, 2).tolist() == [[2, 3]]
    assert column.all() is column.values


def test_arrays_begin_at_multiples_of_64_bytes(tmp_path: Path) -> None:
    sizes = {"a": 1, "b": 63, "c": 64, "d": 65, "e": 9}
    arrays = {name: [np.full(n, n, dtype=np.uint8)] for name, n in sizes.items()}
    write_arrays(tmp_path / "file", arrays, {})
    file = ArrayFile(tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    for name, offset in {"a": 0, "b": 64, "c": 128, "d": 192, "e": 320}.items():
        n = sizes[name]
        assert content[offset : offset + n] == bytes([n]) * n
        assert file.column(name).all().tolist() == [n] * n
    assert file.names == list("abcde") and file.size == len(content)


def test_numbers_of_another_byte_order_are_written_in_ours(tmp_path: Path) -> None:
    values = np.array([1, 256, -2], dtype=">i4")
    write_arrays(tmp_path / "file", {"a": [values[:1], values[1:]]}, {})
    read = ArrayFile(tmp_path / "file").column("a").all()
    assert read.dtype == np.dtype("<i4") and read.tolist() == [1, 256, -2]


@pytest.mark.parametrize(
    "change", [-1, 0, 1], ids=["below a block", "a block", "above a block"]
)
def test_the_last_block_is_checked_whatever_its_length(
    change: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    values = np.arange(BLOCK + change, dtype=np.uint64).astype(np.uint8)
    pieces = {"a": [values[:100], values[100:]], "b": [values[7:9]]}
    write_arrays(path, pieces, {})
    column = ArrayFile(path).column("a")
    assert np.array_equal(column.part(BLOCK - 9, BLOCK + change), values[BLOCK - 9 :])
    assert ArrayFile(path).column("b").all().tolist() == [7, 8]
    assert column.part(5, 5).tolist() == []
    ArrayFile(path).verify()
    content = bytearray(path.read_bytes())
    content[BLOCK + change - 1] ^= 1
    path.write_bytes(content)
    column = ArrayFile(path).column("a")
    with pytest.raises(IndexDamaged):
        column.part(BLOCK + change - 1, BLOCK + change)
    with pytest.raises(IndexDamaged):
        ArrayFile(path).verify()


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
    with pytest.raises(IndexDamaged, match="its table of contents makes no sense"):
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
