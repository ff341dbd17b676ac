"""Saved indexes: a manifest and the segments it names.

    index/manifest.json          format, version, which save this is, settings, configuration; every
                                 segment with the numbers of its deleted documents; a checksum
    index/segments/<name>.seg    a segment; its name is the digest of its content; another file has
                                 the arrays that belong to all documents, if there are any, and one
                                 what was fitted to all of them

Segments never change, so a save writes those that are new, then replaces the manifest in one step,
then removes files that it does not name. A new index is built in a folder beside its place and
renamed. So whatever interrupts a save, the path holds the old index, or the new one, or nothing.
Savers at one path take turns. What a saver has not seen it does not replace: an index that another
has saved there since. Readers keep what they have mapped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    NoIndex,
    SaveFailed,
    StructragError,
    TimedOut,
)
from structrag.index.blocks import ArrayFile, Column, write_arrays
from structrag.index.segments import Merge, Segment, open_segment, segment_path
from structrag.index.snapshot import Live, Settings, check_rule
from structrag.model_calls.calling import within

FORMAT = "structrag-index"
VERSION = 5
MANIFEST = "manifest.json"
SEGMENTS = "segments"
TEMPORARY = "structrag-index-"
ABANDONED_AFTER = 60.0  # seconds without a change
ATTEMPTS = 20  # of loading, while other processes save at the same path
PATIENCE = 600.0  # seconds in which another writer must come to its end
ENGINES = ("lancedb", "milvus")  # in addresses of stores that are no folders

Place = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Saved:
    """The parts of a saved index."""

    settings: Settings
    segments: Sequence[Segment]
    live: Sequence[Live]  # of each segment
    config: Mapping[str, Any]
    # Arrays that belong to all documents.
    shared: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # Arrays that were fitted to just these documents.
    fitted: Mapping[str, Column] = field(default_factory=dict)
    save: str = ""  # which save it is


class Seen:
    """Remembers which saves a store has opened or made."""

    def __init__(self) -> None:
        # Place -> the save that was opened or made there; "": there was none.
        self.saves: dict[Path, str] = {}
        # A place that was not looked at may hold an index that is older than the store.
        self.since: float = time.time()

    def add(self, path: Place, save: str) -> None:
        """Remember what is at a place."""
        self.saves[Path(path).resolve()] = save

    def is_current(self, path: Place) -> bool:
        """Whether nobody else has saved at a place meanwhile."""
        try:
            manifest = json.loads((Path(path) / MANIFEST).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return True
        save = manifest.get("save", "")
        last_save = self.saves.get(Path(path).resolve())
        if last_save is not None:
            return bool(save == last_save)
        return save in self.saves.values() or manifest.get("saved", 0) <= self.since

    def check(self, path: Place) -> None:
        """Raise SaveFailed if another has saved at a place meanwhile."""
        if not self.is_current(path):
            raise SaveFailed(
                f"The index at {os.fspath(path)!r} was changed by another process or object after "
                "it was opened here. Nothing was written, so the other change is safe. Open the "
                "index again and repeat yours, or save to another path."
            )


def check_folder(name: str, place: object) -> None:
    """Raise InvalidParameter where a folder is an engine's address."""
    if isinstance(place, str) and place.startswith(
        tuple(f"{engine}:" for engine in ENGINES)
    ):
        raise InvalidParameter(
            f"{name} must be a folder here; got {place!r}, an engine's address, which works only "
            "with Index(store=...) and EvidenceRetriever(store=...). Pass a folder."
        )


def save_index(path: Place, saved: Saved, seen: Seen) -> Segment | None:
    """Write an index folder, in place of one that was `seen`.

    Returns the file that joins the segments that were in memory; None if all had files already.

    Raises:
        InvalidParameter: `path` is a file, a folder with something else in it, or in an engine.
        SaveFailed: another has saved there since; the system refused, for example because the
            volume is full, or another process has been saving there for ten minutes.

    Whatever it raises, what was at the path is there unchanged.
    """
    check_folder("path", path)
    place = Path(path).absolute()
    _check_place(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place.parent, f".{place.name}-" + "[0-9a-f]" * 32)
        name = (
            _replace(place, saved, seen)
            if (place / MANIFEST).exists()
            else _create(place, saved, seen)
        )
        seen.add(place, saved.save)
    except SaveFailed:
        raise
    except OSError as error:
        raise SaveFailed(
            f"The index could not be saved at {str(place)!r}: {error}. The earlier save and the "
            "index in memory are unchanged. Free some space or choose another path, then save "
            "again."
        ) from error
    return (
        None
        if name is None
        else open_segment(segment_path(place / SEGMENTS, name), name)
    )


def _create(place: Path, saved: Saved, seen: Seen) -> str | None:
    """Build the index beside its place and move it there."""
    aside = place.parent / f".{place.name}-{uuid4().hex}"
    aside.mkdir()
    try:
        # A folder of which a file is open cannot be moved on Windows.
        with nullcontext() if os.name == "nt" else one_saver(aside):
            name = _write(aside, saved)
            if _moved(aside, place):
                return name
        return _replace(place, saved, seen)
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
    _sync_folder(place.parent)
    return True


def _replace(place: Path, saved: Saved, seen: Seen) -> str | None:
    with one_saver(place):
        seen.check(place)
        try:
            name = _write(place, saved)
        finally:
            # No other saver is at work: what is not named is outdated, or was left half-written.
            _remove_unnamed(place)
        return name


def _write(place: Path, saved: Saved) -> str | None:
    """Write the segments that are not there, then the manifest."""
    folder = place / SEGMENTS
    folder.mkdir(exist_ok=True)
    records = []
    in_memory: list[tuple[Segment, Live]] = []
    for segment, live in zip(saved.segments, saved.live, strict=True):
        if segment.file is None:
            in_memory.append((segment, live))
            continue
        _put_file(folder, segment.file)
        dead = [] if live is None else np.flatnonzero(~live).tolist()
        records.append((int(segment.keys[0]), segment.file, dead))
    written = None
    if in_memory:
        written = Merge(*map(list, zip(*in_memory, strict=True))).write(folder)
        assert written.file is not None  # noqa: S101
        records.append((int(written.keys[0]), written.file, []))
    fitted = {name: column.all() for name, column in saved.fitted.items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        # Tells saves of equal content apart, so that loaders and savers notice one between.
        "save": saved.save,
        "saved": time.time(),
        "config": dict(saved.config),
        "store": saved.settings.to_json(),
        "segments": [
            {"name": file.digest, "size": file.size, "dead": dead}
            for _, file, dead in sorted(records, key=itemgetter(0))
        ],
        "shared": _write_named(folder, saved.shared),
        "fitted": _write_named(folder, fitted),
    }
    _write_manifest(place, {**manifest, "checksum": _checksum(manifest)})
    return None if written is None else written.name


def _write_named(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> str | None:
    """Write arrays that are in no segment. Returns their file's name, None without any."""
    if not arrays:
        return None
    part = folder / f"part-{uuid4().hex}"
    name = write_arrays(part, {name: [array] for name, array in arrays.items()}, {})
    part.replace(segment_path(folder, name))
    return name


def _put_file(folder: Path, file: ArrayFile) -> None:
    """Have the file of a segment in a folder."""
    path = segment_path(folder, file.digest)
    if path.exists() and path.stat().st_size == file.size:
        return
    part = folder / f"part-{uuid4().hex}"
    try:
        try:
            os.link(file.path, part)
        except OSError:  # another volume, or a file that is only mapped any more
            file.copy(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_manifest(place: Path, manifest: Mapping[str, Any]) -> None:
    part = place / f"{MANIFEST}.part"
    try:
        with open(part, "wb") as file:
            file.write(json.dumps(manifest, indent=1, allow_nan=False).encode())
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(place / SEGMENTS)
        os.replace(part, place / MANIFEST)
        _sync_folder(place)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Have a folder's names on disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_unnamed(place: Path) -> None:
    """Remove what the manifest does not name; nothing if it is unreadable."""
    with suppress(StructragError, OSError):
        manifest = read_manifest(place)
        names = {f"{record['name']}.seg" for record in manifest["segments"]}
        names |= {f"{manifest.get(other)}.seg" for other in ("shared", "fitted")}
        for path in (place / SEGMENTS).iterdir():
            if path.name not in names:
                path.unlink(missing_ok=True)
        for folder in place.glob("data-*"):  # of an earlier format
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, pattern: str) -> None:
    """Remove folders that processes have left which were killed. A process at work holds the lock
    of its folder, but for the moment before it takes it."""
    if os.name == "nt":  # where no lock tells them from those at work
        return
    for folder in parent.glob(pattern):
        with suppress(OSError, _NameTaken):
            if time.time() - folder.stat().st_mtime < ABANDONED_AFTER:
                continue
            with one_saver(folder, wait=False):
                shutil.rmtree(folder, ignore_errors=True)


class TemporaryFolder:
    """A folder for files that are not saved yet. It is removed with `close` or when the process
    ends. Making one also removes the folders that killed processes have left."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent, f"{TEMPORARY}*")
        self.path: Path = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
        self._lock = ExitStack()
        if os.name != "nt":
            self._lock.enter_context(one_saver(self.path))

    def close(self) -> None:
        """Remove the folder; what is mapped stays readable."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


class _NameTaken(Exception):
    """Another saver has the lock."""


@contextmanager
def one_saver(place: Path, *, wait: bool = True) -> Iterator[None]:
    """Let those who save over one index take turns.

    They are threads and processes alike. Without `wait`, _NameTaken is raised where another has the
    turn. The system gives the lock back when its holder ends, however that happens; for one that
    is stopped or hangs nobody waits longer than PATIENCE, and SaveFailed is raised.
    """
    if os.name == "nt":  # where folders cannot be opened: a file stands for the folder
        descriptor = os.open(place / ".lock", os.O_RDWR | os.O_CREAT)
    else:
        descriptor = os.open(place, os.O_RDONLY)
    try:
        try:
            take_lock(descriptor)
        except OSError:
            if not wait:
                raise _NameTaken from None
            try:
                # In a thread that may be left behind: what it gets later ends with the descriptor.
                within(PATIENCE, "lock", take_lock, descriptor, True)
            except TimedOut:
                raise SaveFailed(
                    f"Another process has been writing to {str(place)!r} for {PATIENCE:g} "
                    "seconds, so this change was not saved. Wait until it finishes, or end it if "
                    "it hangs, then call again."
                ) from None
        yield
    finally:
        release_lock(descriptor)
        os.close(descriptor)


def take_lock(descriptor: int, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed. Raises OSError where another process has the
    lock, unless it is to be waited for."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        system: Any = msvcrt  # whose names exist on Windows only
        system.locking(descriptor, system.LK_LOCK if wait else system.LK_NBLCK, 1)
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def release_lock(descriptor: int) -> None:
    """Unlock before it is closed: a process that was forked meanwhile has it open too."""
    if os.name != "nt":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


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


def _checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of an index, checked against its own checksum. Raises IndexDamaged if there is
    no index, or if it is from another program, newer than this release, or altered."""
    place = Path(path)
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise NoIndex(
            f"There is no saved index at {str(place)!r}: it has no {MANIFEST}. Check the path."
        ) from None
    except (ValueError, RecursionError, OSError):
        raise _damaged(place, f"{MANIFEST} is not readable") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise IndexDamaged(
            f"{str(place)!r} is not a structrag index: another program wrote its {MANIFEST}. "
            "Check the path."
        )
    version = manifest.get("version")
    if isinstance(version, int) and version != VERSION:
        remedy = "Update structrag, or rebuild" if version > VERSION else "Rebuild"
        raise IndexDamaged(
            f"The index at {str(place)!r} has format version {version}; this release reads "
            f"{VERSION}. {remedy} the index."
        )
    if version != VERSION or manifest.get("checksum") != _checksum(manifest):
        raise _damaged(place, f"{MANIFEST} was altered")
    return manifest


def load_index(path: Place, *, verify: bool = False) -> Saved:
    """Open what `save_index` wrote. Files are mapped, nothing is rebuilt.

    Another process may save here meanwhile: then the new index is opened. Raises IndexDamaged if
    there is no index, or if it is from another program, incomplete, altered or in another format.
    `verify` checks all bytes at once; else a block is checked when it is first read.
    """
    check_folder("path", path)
    path = Path(path).absolute()
    manifest = read_manifest(path)
    for _ in range(ATTEMPTS - 1):
        try:
            return _load(path, manifest, verify=verify)
        except IndexDamaged:
            latest = read_manifest(path)
            if latest == manifest:
                raise
            manifest = latest
    return _load(path, manifest, verify=verify)


def _load(place: Path, manifest: Mapping[str, Any], *, verify: bool) -> Saved:
    try:
        check_rule(f"The index at {str(place)!r}", manifest["store"])
        settings = Settings.from_json(manifest["store"])
        segments = []
        live: list[Live] = []
        for record in manifest["segments"]:
            segments.append(_open(place, record, settings, verify=verify))
            alive = None
            if record["dead"]:
                alive = np.ones(len(segments[-1]), dtype=bool)
                alive[record["dead"]] = False
            live.append(alive)
        shared = {
            name: column.all()
            for name, column in _named(place, manifest["shared"]).items()
        }
        # Not in those saved before there was any.
        fitted = _named(place, manifest.get("fitted"))
        if verify:
            for column in fitted.values():
                column.all()
        return Saved(
            settings,
            segments,
            live,
            manifest["config"],
            shared,
            fitted,
            manifest.get("save", ""),
        )
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        raise _damaged(place, f"its {MANIFEST} is invalid ({error!r})") from error


def _named(place: Path, name: str | None) -> dict[str, Column]:
    """The arrays of a file that `_write_named` wrote."""
    if name is None:
        return {}
    name = Path(name).name
    file = ArrayFile(segment_path(place / SEGMENTS, name), digest=name)
    return {array: file.column(array) for array in file.names}


def _open(
    place: Path, record: Mapping[str, Any], settings: Settings, *, verify: bool
) -> Segment:
    path = segment_path(place / SEGMENTS, Path(record["name"]).name)
    segment = open_segment(path, record["name"], verify=verify)
    levels = {name: tuple(level.postings) for name, level in segment.levels.items()}
    assert segment.file is not None  # noqa: S101
    if segment.file.size != record["size"] or levels != settings.levels:
        raise _damaged(place, f"{path.name} does not fit the {MANIFEST}")
    return segment


def _damaged(place: Path, what: str) -> IndexDamaged:
    return IndexDamaged(
        f"The index at {str(place)!r} is damaged: {what}. Restore it from a copy, or rebuild it."
    )
