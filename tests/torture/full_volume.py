"""No room, or no permission to write: a clear error, nothing lost, nothing half-written left."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
from doubles import ScriptedModel

from structrag.errors import StructragError
from structrag.model_calls.cache import Cache
from torture.children import start
from torture.indexes import answers, document, documents, index_of, load, small_segments
from torture.promise import NotHere, Promise, random_of

NOBODY = 65_534  # the id of an ordinary user
Say = Callable[[str], None]


@contextmanager
def small_volume(size: int) -> Iterator[Path]:
    """A folder on a volume in memory of so many bytes. Raises NotHere where that is not allowed."""
    if not sys.platform.startswith("linux"):
        raise NotHere("volumes of a size are made on Linux only")
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        if libc.mount(b"tmpfs", name.encode(), b"tmpfs", 0, f"size={size}".encode()):
            reason = os.strerror(ctypes.get_errno())
            raise NotHere(f"no volume can be mounted: {reason} (it needs root)")
        try:
            yield Path(name)
        finally:
            libc.umount2(name.encode(), 2)  # once nobody has a file of it open


def fill(folder: Path, room: int) -> None:
    """Take all but so many bytes of a volume."""
    free = os.statvfs(folder)
    size = max(0, free.f_bavail * free.f_frsize - room)
    with open(folder / "filler", "wb") as file:
        file.write(bytes(size))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "filler"
    }


def _refused(error: BaseException) -> None:
    """The error must be ours or the system's own, and say that there is no room."""
    assert isinstance(error, StructragError | OSError), (
        f"{type(error).__name__}: {error}"
    )
    words = str(error).lower()
    assert any(word in words for word in ("space", "full", "written", "write")), words


def check_save(rng: Random, folder: Path) -> None:
    """A save that finds no room: the earlier index, or nothing, is there as it was."""
    path = folder / "index"
    over = rng.random() < 0.6
    index = index_of(documents(range(3)))
    if over:
        index.save(path)
        if rng.random() < 0.5:
            index = load(path)
    old = answers(index)
    index.add(documents(range(3, 12)))
    new = answers(index)
    fill(folder, rng.choice((0, 4096, rng.randrange(200_000))))
    before = files_of(folder)
    try:
        index.save(path)
    except Exception as error:
        _refused(error)
        after = files_of(folder)
        assert set(after) == set(before), (
            f"left behind: {sorted(set(after) ^ set(before))}"
        )
        assert after == before, "files of the earlier index were changed"
        assert not over or answers(load(path)) == old, "the earlier index has gone"
    else:
        assert answers(load(path)) == new
    assert answers(index) == new, "a failed save changed the index in memory"
    (folder / "filler").unlink()
    index.save(path)
    assert answers(load(path)) == new


def check_cache(rng: Random, folder: Path) -> None:
    """A cache that finds no room: what was put before is there, also for who opens it again."""
    path = folder / "cache.sqlite"
    cache = Cache(path)
    cache.put("first", "kept")
    fill(folder, rng.randrange(100_000))
    put = 0
    try:
        for put in range(10_000):
            cache.put_vectors({f"{put} {i}": np.full(64, put) for i in range(4)})
    except Exception as error:
        _refused(error)
    else:
        raise AssertionError("it was never full")
    for opened in (cache, Cache(path)):
        assert opened.get("first") == "kept"
        for number in range(put):
            vector = opened.get_vector(f"{number} 0")
            assert vector is not None and (vector == number).all(), (
                f"{number} of {put} is lost"
            )
        assert opened.get_vector(f"{put} 0") is None, "some of what was refused"
    (folder / "filler").unlink()
    cache.put("more", 1)
    assert Cache(path).get("more") == 1
    cache.close()


def check_add(rng: Random, folder: Path) -> None:
    """Adding with a cache that finds no room: documents are whole or not there."""
    model = ScriptedModel(
        lambda prompt: f"Summary {len(prompt)} " + "word " * 50, name="m"
    )
    contents = documents(range(12))
    index = index_of(llm=model, cache=Cache(folder / "cache.sqlite"), max_concurrency=2)
    index.add(contents[:2])
    old = answers(index)
    fill(folder, rng.randrange(60_000))
    # Joined segments find no room either.
    with mock.patch("tempfile.tempdir", str(folder)):
        try:
            index.add(contents)
        except Exception as error:
            _refused(error)
            assert answers(index) == old, "a failed add changed the index"
        index.search("pump")
    (folder / "filler").unlink()
    index.add(contents)
    assert answers(index) == answers(index_of(contents, llm=model))


def check_opened(rng: Random, folder: Path) -> None:
    """An index that was opened from a full volume is read and changed in memory as ever."""
    path = folder / "index"
    index_of(documents(range(4))).save(path)
    fill(folder, rng.choice((0, 4096, rng.randrange(60_000))))
    index = load(path)
    with mock.patch("tempfile.tempdir", str(folder)):
        for number in range(20, 40):
            index.add([document(number)])
            index.search("pump")
        for number in range(20, 40):
            index.delete(f"d{number}")
        index.add([document(9)])
        index.delete("d0")
        index.search("pump")
    assert [hit.chunk.doc_id for hit in index.search("Item 9", 1, route="bm25")] == [
        "d9"
    ]
    fresh = index_of([*documents(range(1, 4)), document(9)])
    assert answers(index)[0] == answers(fresh)[0]


def check_limit(rng: Random, folder: Path) -> None:
    """The same where a limit of the process refuses to let a file grow."""
    path = folder / "index"
    index = index_of(documents(range(3)))
    index.save(path)
    old = answers(index)
    index.add(documents(range(3, 30)))
    before = files_of(folder)
    most = rng.choice((0, rng.randrange(40_000)))

    def work(say: Say) -> None:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            index.save(path)
        except Exception as error:
            assert isinstance(error, StructragError | OSError), (
                f"{type(error).__name__}: {error}"
            )
            say("refused")
        else:
            say("saved")

    lines = start(work).join()
    if lines == ["refused"]:
        assert files_of(folder) == before, "something is left behind, or was changed"
        assert answers(load(path)) == old
    else:
        assert answers(load(path)) == answers(index)


def check_denied(rng: Random, folder: Path) -> None:
    """The same where an ordinary user may read, and not write. Who only asks is answered."""
    path = folder / "index"
    index = index_of(documents(range(3)))
    index.save(path)
    old = answers(load(path))
    index.add(documents(range(3, 6)))
    new = answers(index)
    denied = rng.choice((folder, path, path / "segments"))
    target = folder / "new" if denied == folder else path
    before = files_of(folder)

    def work(say: Say) -> None:
        if os.getuid() == 0:  # whom no mode keeps from anything
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for write in (
            lambda: index.save(target),
            lambda: Cache(denied / "cache.sqlite"),
        ):
            try:
                write()
            except StructragError as error:
                # SQLite's own words for it are the second.
                assert any(w in str(error) for w in ("denied", "unable to open")), error
                say("refused")
        assert answers(index) == new, "a failed save changed the index in memory"
        assert answers(load(path)) == old, "what may be read is not answered"

    for place in (folder, *folder.rglob("*")):
        if place.is_dir():
            os.chown(place, NOBODY, NOBODY) if os.getuid() == 0 else None
            place.chmod(0o555 if place == denied else 0o755)
    try:
        said = start(work).join()
    finally:
        denied.chmod(0o755)
    assert said == ["refused"] * 2, f"{said} at {denied.relative_to(folder.parent)}"
    assert files_of(folder) == before, "something is left behind, or was changed"


CHECKS = (check_save, check_save, check_cache, check_add, check_opened)


def case(number: int) -> None:
    """One full volume, or one limit."""
    rng = random_of("full_volume", number)
    if number % 6 == 5:
        with (
            small_segments(rng),
            tempfile.TemporaryDirectory(prefix="torture-") as name,
        ):
            (check_limit if number % 12 == 5 else check_denied)(rng, Path(name))
        return
    with small_segments(rng), small_volume(rng.choice((400_000, 800_000))) as folder:
        CHECKS[number % 6](rng, folder)


PROMISE = Promise(
    "full_volume",
    "no room, or no permission to write: a clear error, the old state whole, nothing left",
    case,
    cases=600,
    short=12,
    share=2,
)
