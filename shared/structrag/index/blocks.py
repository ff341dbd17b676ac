"""Files of arrays, mapped into memory and checked block by block.

A block is checked when it is first read. A file holds:

    the arrays' bytes, each beginning at a multiple of 64
    the footer: JSON with the arrays' types, shapes and places, and a checksum of every block
    8 bytes: the footer's length; 16 bytes: what kind of file it is

The digest of the footer names the file's whole content: equal digests, equal arrays.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from structrag.errors import IndexDamaged

BLOCK = 1 << 20  # bytes that are checked together
MAGIC = b"structrag-arrays"
_ALIGN = 64
_TAIL = 8 + len(MAGIC)

Pieces = Sequence[NDArray[Any]]  # of one array, one after the other


class Column:
    """An array that is read by ranges of its items.

    So the blocks of a file can be checked before they are read.

    Example:
        >>> column = Column(np.arange(5))
        >>> column.part(1, 3).tolist(), len(column)
        ([1, 2], 5)
    """

    __slots__ = ("_check", "values")

    def __init__(
        self, values: NDArray[Any], check: Callable[[int, int], None] | None = None
    ) -> None:
        """`check` is given the bytes [first, last) before they are read."""
        self.values: NDArray[Any] = values
        self._check = check

    def __len__(self) -> int:
        return len(self.values)

    def all(self) -> NDArray[Any]:
        """The whole array. Raises IndexDamaged."""
        if self._check is not None:
            self._check(0, self.values.nbytes)
            self._check = None  # nothing is left to check
        return self.values

    def part(self, first: int, last: int) -> NDArray[Any]:
        """Items `first` to `last` (exclusive). Raises IndexDamaged."""
        if self._check is not None and last > first:
            size = self.values.nbytes // len(self.values)
            self._check(first * size, last * size)
        return self.values[first:last]


class ArrayFile:
    """Named arrays in a file that `write_arrays` wrote, mapped into memory.

    Raises:
        IndexDamaged: the file is missing, cut, or not ours, or `digest` is not its own. A block
            that has changed is noticed when it is first read.
    """

    def __init__(self, path: Path, *, digest: str | None = None) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise _damaged(path, "it is missing") from None
        except (ValueError, OSError) as error:  # an empty file cannot be mapped
            raise _damaged(path, f"it cannot be read ({error})") from None
        self.digest: str
        footer, self.digest = self._read_footer()
        if digest is not None and self.digest != digest:
            raise _damaged(path, "its content has changed")
        try:
            self.meta: dict[str, Any] = footer["meta"]
            self._sums = bytes.fromhex(footer["blocks"])
            self._arrays = {
                name: self._column(*place) for name, place in footer["arrays"].items()
            }
        except (KeyError, TypeError, ValueError):
            raise _damaged(path, "its table of contents is invalid") from None
        self._verified = bytearray(len(self._sums) // 8)

    def _read_footer(self) -> tuple[dict[str, Any], str]:
        content = self._bytes
        if len(content) < _TAIL or content[-len(MAGIC) :] != MAGIC:
            raise _damaged(self.path, "its end is missing")
        length = int.from_bytes(content[-_TAIL : -len(MAGIC)], "little")
        self._data_end = len(content) - _TAIL - length
        if self._data_end < 0:
            raise _damaged(self.path, "its end was altered")
        text = content[self._data_end : -_TAIL]
        try:
            footer = json.loads(text)
        except (ValueError, RecursionError):
            raise _damaged(self.path, "its table of contents is not readable") from None
        if not isinstance(footer, dict):
            raise _damaged(self.path, "its table of contents is invalid")
        return footer, xxhash.xxh3_128_hexdigest(text)

    def _column(self, dtype: str, shape: Sequence[int], offset: int) -> Column:
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        if (
            kind.hasobject
            or offset < 0
            or offset + count * kind.itemsize > self._data_end
        ):
            raise ValueError(shape)
        values = np.frombuffer(
            self._bytes, dtype=kind, count=count, offset=offset
        ).reshape(shape)
        return Column(
            values, lambda first, last: self._check(offset + first, offset + last)
        )

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._arrays)

    def column(self, name: str) -> Column:
        """An array by its name. Raises IndexDamaged where it is not there."""
        try:
            return self._arrays[name]
        except KeyError:
            raise _damaged(self.path, f"it lacks {name}") from None

    def verify(self) -> None:
        """Check all blocks. Raises IndexDamaged."""
        self._check(0, self._data_end)

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return len(self._bytes)

    def copy(self, path: Path) -> None:
        """Write the same file elsewhere, from what is mapped. Raises IndexDamaged."""
        self.verify()
        try:
            with open(path, "wb") as file:
                file.write(self._bytes)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _check(self, first: int, last: int) -> None:
        """Check the still unchecked blocks of the bytes [first, last)."""
        for block in range(first // BLOCK, -(-last // BLOCK)):
            if self._verified[block]:
                continue
            with memoryview(self._bytes) as view:
                end = min((block + 1) * BLOCK, self._data_end)
                with view[block * BLOCK : end] as content:
                    digest = xxhash.xxh3_64_digest(content)
            if digest != self._sums[8 * block : 8 * block + 8]:
                raise _damaged(
                    self.path, f"the bytes from {block * BLOCK:,} have changed"
                )
            self._verified[block] = 1


def _damaged(path: Path, what: str) -> IndexDamaged:
    return IndexDamaged(
        f"The index file {str(path)!r} is damaged: {what}. Restore the index from a copy, or "
        "rebuild it."
    )


class _BlockSums:
    """A file being written, with the checksums of its blocks so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.position = 0
        self.sums = b""
        self._hash = xxhash.xxh3_64()

    def write(self, content: memoryview | bytes) -> None:
        self.file.write(content)
        first = 0
        while first < len(content):
            taken = min(len(content) - first, BLOCK - self.position % BLOCK)
            self._hash.update(content[first : first + taken])
            first += taken
            self.position += taken
            if not self.position % BLOCK:
                self._close_block()

    def _close_block(self) -> None:
        self.sums += self._hash.digest()
        self._hash.reset()

    def finish(self) -> str:
        """The checksums of all blocks, in hexadecimal digits."""
        if self.position % BLOCK:
            self._close_block()
        return self.sums.hex()


def write_arrays(
    path: Path, arrays: Mapping[str, Pieces], meta: Mapping[str, Any]
) -> str:
    """Write arrays to a new file, and return its digest.

    Each array is given as pieces to be joined along the first axis, at least one; `meta` is JSON.
    The file is on disk when this returns. What is left of a failed write is removed.
    """
    try:
        with open(path, "wb") as file:
            sums = _BlockSums(file)
            places = {name: _write_array(sums, arrays[name]) for name in sorted(arrays)}
            footer = json.dumps(
                {"arrays": places, "meta": dict(meta), "blocks": sums.finish()},
                separators=(",", ":"),
                sort_keys=True,
            ).encode()
            file.write(footer + len(footer).to_bytes(8, "little") + MAGIC)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return xxhash.xxh3_128_hexdigest(footer)


def _write_array(sums: _BlockSums, pieces: Pieces) -> tuple[str, list[int], int]:
    """Write the pieces of an array: its type, shape and place."""
    sums.write(bytes(-sums.position % _ALIGN))
    offset = sums.position
    kind = pieces[0].dtype.newbyteorder("<")
    for piece in pieces:
        if piece.size:
            content = np.ascontiguousarray(piece, dtype=kind)
            sums.write(content.reshape(-1).view(np.uint8).data)
    shape = [sum(len(piece) for piece in pieces), *pieces[0].shape[1:]]
    return kind.str, shape, offset
