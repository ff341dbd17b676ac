"""Saved indexes whose files were changed, cut, taken away or swapped: nothing silent."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from structrag.errors import IndexDamaged
from torture.indexes import answers, documents, index_of, load
from torture.promise import Promise, random_of

PAGE = 4096
# From this case on, every fourth index has files above the block of a checksum.
LARGE = 60
KINDS = ("small", "lsa", "changed")


def _texts_of(kind: str, variant: int) -> list[Any]:
    if kind == "large":  # files of above a megabyte
        return documents(range(variant * 1000, variant * 1000 + 60), words=1_400)
    return documents(range(variant * 1000, variant * 1000 + 5))


@cache
def saved(kind: str, variant: int) -> tuple[Path, list[Any]]:
    """A saved index and its answers. Variants have files of about the same sizes."""
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    options = _options(kind)
    contents = _texts_of(kind, variant)
    index = index_of(contents, **options)
    index.save(folder / "index")
    # Saved again after changes: what was deleted may lie in the files still.
    if kind == "changed":
        index = load(folder / "index", **options)
        index.delete(contents[1].id)
        index.add(documents([variant * 1000 + 9]))
        index.save(folder / "index")
    return folder / "index", answers(load(folder / "index", **options))


def _options(kind: str) -> dict[str, Any]:
    if kind == "large":
        return {"dimensions": 512, "views": ("raw",)}
    return {"lsa": kind == "lsa"}


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


# -- what is done to a file


def _flip(rng: Random, path: Path, file: Path) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        if data:
            at = rng.choice(
                (rng.randrange(len(data)), min(len(data) - 1, rng.randrange(150)))
            )
            data[at] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def _truncate(rng: Random, path: Path, file: Path) -> None:
    size = file.stat().st_size
    with open(file, "r+b") as handle:
        handle.truncate(rng.choice((0, rng.randrange(size + 1), max(0, size - 1))))


def _extend(rng: Random, path: Path, file: Path) -> None:
    with open(file, "ab") as handle:
        handle.write(
            rng.choice((b"\0", b"\n", b" ", b"}", rng.randbytes(rng.randrange(1, 99))))
        )


def _remove(rng: Random, path: Path, file: Path) -> None:
    file.unlink()


def _remove_folder(rng: Random, path: Path, file: Path) -> None:
    shutil.rmtree(file.parent)


def _zero(rng: Random, path: Path, file: Path) -> None:
    data = bytearray(file.read_bytes())
    start = rng.randrange(len(data) + 1)
    length = min(len(data) - start, rng.choice((8, 64, PAGE)))
    data[start : start + length] = bytes(length)
    file.write_bytes(data)


def _swap_pages(rng: Random, path: Path, file: Path) -> None:
    data = bytearray(file.read_bytes())
    size = PAGE if len(data) >= 2 * PAGE else rng.choice((1, 8, 64))
    a, b = (rng.randrange(len(data) // size + 1) * size for _ in range(2))
    if a != b and max(a, b) + size <= len(data):
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    file.write_bytes(data)


def _drop_line(rng: Random, path: Path, file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    at = rng.randrange(len(lines) + 1)
    file.write_bytes(
        b"".join(lines[:at] + lines[at + 1 :] + rng.choice(([], lines[at : at + 1])))
    )


def _swap_files(rng: Random, path: Path, file: Path) -> None:
    other = rng.choice(files_of(path))
    if other != file:
        aside = file.with_name(file.name + ".aside")
        file.rename(aside)
        other.rename(file)
        aside.rename(other)


def _other_index(rng: Random, path: Path, file: Path) -> None:
    """A file, or all but the manifest, of another index of the same kind."""
    donor = Path((path / ".donor").read_text())
    files = [file] if rng.random() < 0.6 else files_of(path)[: rng.randrange(1, 6)]
    for name in files:
        source = donor / name.relative_to(path)
        if source.is_file():
            shutil.copyfile(source, name)


def _folder_instead(rng: Random, path: Path, file: Path) -> None:
    file.unlink()
    file.mkdir()


def _foreign(rng: Random, path: Path, file: Path) -> None:
    """What is valid of its kind, and not ours."""
    file.write_bytes(
        rng.choice(
            (
                b"{}",
                b"[]",
                b"null",
                b"[" * 100_000,
                b"{" * 99,
                b'"' * 9,
                b"\x93NUMPY",
                b"1",
            )
        )
    )


CHANGES = (
    *(
        _flip,
        _flip,
        _flip,
        _truncate,
        _extend,
        _remove,
        _remove_folder,
        _zero,
        _swap_pages,
    ),
    *(_drop_line, _swap_files, _other_index, _folder_instead, _foreign),
)


def case(number: int) -> None:
    """One index, changed once or twice, opened and read whole."""
    rng = random_of("tampering", number)
    kind = "large" if number >= LARGE and number % 4 == 0 else rng.choice(KINDS)
    source, expected = saved(kind, 0)
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        path = Path(name) / "index"
        shutil.copytree(source, path)
        donor, _ = saved(kind, 1)
        done = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            files = files_of(path)
            if not files:
                break
            file = rng.choice(files)
            change = rng.choice(CHANGES)
            done.append(f"{change.__name__[1:]} {file.relative_to(path)}")
            if change is _other_index:
                (path / ".donor").write_text(str(donor))
            change(rng, path, file)
            (path / ".donor").unlink(missing_ok=True)
        try:
            index = load(path, verify=rng.random() < 0.3, **_options(kind))
            seen = answers(index)
        except IndexDamaged:
            return
        except Exception as error:
            raise AssertionError(
                f"{kind}, {done}: {type(error).__name__}: {error}"
            ) from error
        assert seen == expected, f"{kind}, {done}: other answers, and nobody was told"


PROMISE = Promise(
    "tampering",
    "bytes, pages, files changed in a saved index: IndexDamaged, or the same answers",
    case,
    cases=1_000,
    short=60,
    share=4,
)
