"""Two savers at one path, and loaders beside a saver: always a whole index, the last one wins."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torture.children import start
from torture.indexes import answers, documents, index_of, load, small_segments
from torture.promise import Promise, random_of

SAVES = 3  # of each saver
LOADERS = 2


def _index(name: int) -> Any:
    return index_of(documents(range(name * 10, name * 10 + 3 + name)))


def _save_often(say: Callable[[str], None], index: Any, path: Path) -> None:
    for _ in range(SAVES):
        began = time.monotonic()
        index.save(path)
        say(f"{began} {time.monotonic()}")


def _load_often(say: Callable[[str], None], path: Path, whole: list[Any]) -> None:
    """Load while others save; each time the whole of one of the indexes."""
    say("ready")
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        assert answers(load(path)) in whole, "a loader saw half an index"


def _spans(lines: list[str]) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in (line.split() for line in lines)]


def check_savers(path: Path, *, threads: bool) -> None:
    """Two savers, processes or threads, at a path that is new or holds an index."""
    indexes = [_index(1), _index(2)]
    whole = [answers(index) for index in indexes]
    if threads:
        said: list[list[str]] = [[], []]
        errors: list[BaseException] = []

        def save(number: int) -> None:
            try:
                _save_often(said[number].append, indexes[number], path)
            except BaseException as error:
                errors.append(error)

        savers = [threading.Thread(target=save, args=(number,)) for number in range(2)]
        for saver in savers:
            saver.start()
        for saver in savers:
            saver.join()
        if errors:
            raise errors[0]
    else:
        children = [
            start(lambda say, index=index: _save_often(say, index, path))
            for index in indexes
        ]
        said = [child.join() for child in children]
    last = [_spans(lines)[-1] for lines in said]
    index = load(path)
    assert answers(index) in whole, "the index is neither the one nor the other"
    for number in range(2):
        if last[number][0] > last[1 - number][1]:  # began when the other had ended
            assert answers(index) == whole[number], "the last saver did not win"
    left = [file.name for file in path.parent.iterdir() if file != path]
    assert not left, f"left behind: {left}"


def check_loaders(path: Path) -> None:
    """Loaders beside a saver that writes two indexes in turn."""
    indexes = [_index(1), _index(2)]
    whole = [answers(index) for index in indexes]
    indexes[0].save(path)
    loaders = [start(lambda say: _load_often(say, path, whole)) for _ in range(LOADERS)]
    for loader in loaders:
        loader.wait_for_line()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        for index in indexes:
            index.save(path)
    for loader in loaders:
        loader.join()
    assert answers(load(path)) == whole[1]


def check_readers(path: Path) -> None:
    """Who has opened an index goes on reading it while another is saved over it."""
    indexes = [_index(1), _index(2)]
    indexes[0].save(path)
    opened = [load(path) for _ in range(3)]
    for index in (indexes[1], indexes[0], indexes[1]):
        index.save(path)
    for reader in opened:
        assert answers(reader) == answers(indexes[0]), (
            "a reader lost what it had opened"
        )


def case(number: int) -> None:
    """One meeting of savers, or of a saver and loaders."""
    rng = random_of("savers", number)
    with small_segments(rng), tempfile.TemporaryDirectory(prefix="torture-") as name:
        path = Path(name) / "index"
        kind = number % 4
        if kind in (0, 1):
            if rng.random() < 0.7:
                _index(0).save(path)
            check_savers(path, threads=kind == 1)
        elif kind == 2:
            check_loaders(path)
        else:
            check_readers(path)


PROMISE = Promise(
    "savers",
    "two savers at one path, a saver and loaders: a whole index, the last saver's",
    case,
    cases=500,
    short=12,
    share=3,
)
