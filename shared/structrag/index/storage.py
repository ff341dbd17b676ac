"""Folders of files with a manifest: written aside, moved, checked when opened.

    index/manifest.json   format, version, configuration, the data folder's name,
                          size and sha256 of each file
    index/data-.../       the files; each save over an existing index makes a new folder

A new index is built in a folder beside its place and renamed. Over an existing one the new data
folder is completed first, then the manifest is replaced in one step, then the old data folder is
removed. So whatever interrupts a save, the path holds the old index, or the new one, or nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from structrag.errors import IndexDamaged, InvalidParameter

FORMAT = "structrag-index"
VERSION = 2
MANIFEST = "manifest.json"
SMALL_FILE = 1 << 20  # bytes; the checksum of a file up to this size is checked at every load

Writer = Callable[[Path], None]  # writes one file at the path it is given


def write_index(
    path: str | os.PathLike[str], writers: Mapping[str, Writer], header: Mapping[str, Any]
) -> None:
    """Write an index folder: a file per writer, `header` in the manifest.

    Raises InvalidParameter if `path` is a file or a folder with something else in it; then nothing
    is changed.
    """
    place = Path(path)
    _check_place(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if (place / MANIFEST).exists():
        _replace(place, writers, header)
        return
    aside = place.parent / f".{place.name}-{uuid4().hex}"
    aside.mkdir()
    try:
        _write_manifest(aside, header, "data-1", _write_data(aside / "data-1", writers))
        if not _moved(aside, place):
            _replace(place, writers, header)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _moved(folder: Path, place: Path) -> bool:
    """Move a new index to its place; False if another was first."""
    try:
        if place.exists():
            place.rmdir()
        folder.rename(place)
    except OSError:
        if (place / MANIFEST).exists():
            return False
        raise
    return True


def _replace(place: Path, writers: Mapping[str, Writer], header: Mapping[str, Any]) -> None:
    with _one_saver(place):
        number = 1
        while (place / f"data-{number}").exists():
            number += 1
        data = place / f"data-{number}"
        try:
            _write_manifest(place, header, data.name, _write_data(data, writers))
        except BaseException:
            shutil.rmtree(data, ignore_errors=True)
            raise
        # No other saver is at work: what is there besides is outdated, or of one that was killed.
        for folder in place.glob("data-*"):
            if folder != data:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _one_saver(place: Path) -> Iterator[None]:
    """Let those who save over one index take turns.

    They are threads and processes alike.

    The system gives the lock back when its holder ends, however that happens.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where folders cannot be opened: a file stands for the folder
        import msvcrt

        with open(place / ".lock", "ab") as file:
            lock: Any = msvcrt  # whose names exist on Windows only
            lock.locking(file.fileno(), lock.LK_LOCK, 1)
            yield
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_place(place: Path) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        raise InvalidParameter(
            f"path must be a folder or new; {str(place)!r} is a file. Choose another path."
        )
    if (place / MANIFEST).exists():
        try:
            ours = json.loads((place / MANIFEST).read_bytes()).get("format") == FORMAT
        except (OSError, ValueError, AttributeError):
            ours = False
    else:
        ours = not any(place.iterdir())
    if not ours:
        raise InvalidParameter(
            f"path must be new, an empty folder or a saved index; {str(place)!r} holds something "
            "else, and nothing in it was changed. Choose another path, or empty the folder first."
        )


def _write_data(folder: Path, writers: Mapping[str, Writer]) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    files = {}
    for name, write in writers.items():
        write(folder / name)
        with open(folder / name, "rb+") as file:
            os.fsync(file.fileno())
        files[name] = {"size": (folder / name).stat().st_size, "sha256": _sha256(folder / name)}
    return files


def _write_manifest(
    folder: Path, header: Mapping[str, Any], data: str, files: Mapping[str, Any]
) -> None:
    manifest = {"format": FORMAT, "version": VERSION, **header, "data": data, "files": files}
    manifest["checksum"] = _checksum(manifest)
    part = folder / f"{MANIFEST}.part"
    with open(part, "wb") as file:
        file.write(json.dumps(manifest, indent=1, allow_nan=False).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / MANIFEST)


def _checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of an index, checked against its own checksum.

    Raises IndexDamaged if there is no index, it is not ours, it is newer than this release, or it
    was altered.
    """
    place = Path(path)
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise IndexDamaged(
            f"There is no saved index at {str(place)!r}: it has no {MANIFEST}. Check the path."
        ) from None
    except ValueError:
        raise _damaged(place, f"{MANIFEST} is not readable") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise IndexDamaged(
            f"{str(place)!r} is not an index of structrag: its {MANIFEST} is foreign. Check the "
            "path."
        )
    version = manifest.get("version")
    if isinstance(version, int) and version != VERSION:
        remedy = "Update structrag, or build" if version > VERSION else "Build"
        raise IndexDamaged(
            f"The index at {str(place)!r} has format version {version}, this release reads "
            f"{VERSION}. {remedy} the index again."
        )
    if version != VERSION or manifest.get("checksum") != _checksum(manifest):
        raise _damaged(place, f"{MANIFEST} was altered")
    return manifest


def manifest_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The configuration that was saved with an index.

    Raises IndexDamaged as `read_manifest` does.
    """
    config: dict[str, Any] = read_manifest(path)["config"]
    return config


def checked_files(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], *, verify: bool = False
) -> Path:
    """The data folder, after comparing its files with the manifest.

    Sizes are always compared, checksums for small files, and with `verify` for all. Raises
    IndexDamaged.
    """
    place = Path(path)
    data = place / Path(str(manifest["data"])).name
    for name, expected in manifest["files"].items():
        try:
            size = (data / name).stat().st_size
        except OSError:
            raise _damaged(place, f"{name} is missing") from None
        if size != expected["size"]:
            raise _damaged(place, f"{name} has {size} bytes instead of {expected['size']}")
        if (verify or size <= SMALL_FILE) and _sha256(data / name) != expected["sha256"]:
            raise _damaged(place, f"the content of {name} has changed")
    return data


def _damaged(place: Path, what: str) -> IndexDamaged:
    return IndexDamaged(
        f"The index at {str(place)!r} is damaged: {what}. Restore it from a copy, or build it "
        "again."
    )


def load_array(file: Path, *, dtype: str, ndim: int) -> NDArray[Any]:
    """A saved array as a read-only memory map.

    An empty one, which cannot be mapped, is a plain array. Raises IndexDamaged if the file holds
    anything else.
    """
    place = file.parent.parent
    try:
        array: NDArray[Any] = np.load(file, mmap_mode="r")
    except (ValueError, EOFError, OSError):
        try:
            array = np.load(file)
        except (ValueError, EOFError, OSError):
            raise _damaged(place, f"{file.name} is not readable") from None
    if array.dtype != np.dtype(dtype) or array.ndim != ndim:
        raise _damaged(place, f"{file.name} holds {array.dtype} of {array.ndim} dimensions")
    return array
