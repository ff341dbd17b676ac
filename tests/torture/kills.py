"""Processes killed while they add, save, merge and fill caches: the old state or the new."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from doubles import HashEmbedder, ScriptedModel

from structrag.errors import IndexDamaged
from structrag.model_calls.cache import Cache
from torture.children import MARK, start, stop_in_a_write
from torture.indexes import (
    answers,
    document,
    documents,
    index_of,
    load,
    searches,
    small_segments,
)
from torture.promise import Promise, random_of

ROUNDS = 12  # of what a child does, unless it is killed before
# Vectors of one put: about a megabyte, so that most kills fall into a write.
BATCH = 300
STEPS = 140  # about so many steps of writing in a folder are all rounds
FIRST_STEPS = 14  # those of a first save
SECONDS = 0.002  # most of a step
LANCE_SECONDS = 0.06  # of a change in LanceDB
Say = Callable[[str], None]


def _sleep(rng: Random, seconds: float) -> None:
    """Up to so many seconds, short ones more often."""
    time.sleep(seconds * rng.random() ** 2)


# -- saving


def contents_after(rounds: int) -> list[Any]:
    """The documents that are there after so many rounds of adding, changing and deleting."""
    present: dict[int, Any] = {number: document(number) for number in range(3)}
    for number in range(3, 3 + rounds):
        _turn(number, present.__setitem__, lambda gone: present.pop(gone, None))
    return list(present.values())


def _turn(
    number: int, put: Callable[[int, Any], Any], drop: Callable[[int], Any]
) -> None:
    """What happens in a round: a document comes, at times one changes and one goes."""
    put(number, document(number))
    if number % 3 == 0:
        put(number - 2, document(number - 2, version=1))
    if number % 4 == 0:
        drop(number - 4)


def _save_rounds(say: Say, path: Path, *, lsa: bool, reopen: bool) -> None:
    """Save after every round, each time from the file again, or always the one index."""
    index = load(path, lsa=lsa)
    for number in range(3, 3 + ROUNDS):
        if reopen:
            index = load(path, lsa=lsa)
        _turn_of(index, number)
        index.save(path)
        say(str(number - 2))


def _turn_of(index: Any, number: int) -> None:
    _turn(
        number, lambda _, new: index.add([new]), lambda gone: index.delete(f"d{gone}")
    )


def kill_saver(rng: Random, folder: Path) -> None:
    """A saver over an index: one of its states is there, and none that it had left behind."""
    path = folder / "index"
    lsa = rng.random() < 0.3
    index_of(documents(range(3)), lsa=lsa).save(path)
    reopen, step, dies = rng.random() < 0.5, rng.randint(1, STEPS), rng.random() < 0.5

    def work(say: Say) -> None:
        stop_in_a_write(say, folder, step, dies=dies)
        _save_rounds(say, path, lsa=lsa, reopen=reopen)

    said = start(work).kill_at_mark(SECONDS * rng.random() ** 2)
    done = max(map(int, said), default=0)
    index = load(path, lsa=lsa, verify=rng.random() < 0.5)
    for rounds in (done, done + 1):
        expected = contents_after(rounds)
        if sorted(d.id for d in expected) == sorted(index.document_ids):
            fresh = index_of(expected, lsa=lsa)
            if sorted(map(repr, fresh.chunks())) == sorted(map(repr, index.chunks())):
                break
    else:
        raise AssertionError(
            f"the index holds {index.document_ids} after {done} rounds"
        )
    if not lsa:  # of LSA, signs and ties depend on the order of the rows
        assert searches(index) == searches(fresh), (
            "other answers than those of a new index"
        )
    index.add([document(99)])
    index.save(path)  # what the killed one left behind is in nobody's way
    assert "d99" in load(path, lsa=lsa).document_ids
    left = [file.name for file in folder.iterdir() if file.name != "index"]
    assert len(left) <= 1, f"left behind: {left}"


def kill_first_saver(rng: Random, folder: Path) -> None:
    """The first save at a path: nothing, or the whole index."""
    path = folder / "index"
    index = index_of(documents(range(3)))
    step, dies = rng.randint(1, FIRST_STEPS), rng.random() < 0.5

    def work(say: Say) -> None:
        stop_in_a_write(say, folder, step, dies=dies)
        index.save(path)
        say("saved")

    said = start(work).kill_at_mark(SECONDS * rng.random() ** 2)
    last = index
    try:
        last = load(path)  # what the child saved may not be overwritten unseen
        assert answers(last) == answers(index), "half an index was opened"
    except IndexDamaged as error:
        assert not said, "a finished save is lost"
        assert "no saved index" in str(error) and not path.exists(), str(error)
    last.save(path)
    assert answers(load(path)) == answers(index)


# -- LanceDB


def _whole(index: Any, contents: Sequence[Any]) -> bool:
    """Whether an index holds these documents, each with its whole text."""
    held = {
        name: "".join(c.text for c in index.chunks(name)) for name in index.document_ids
    }
    return held == {one.id: one.text for one in contents}


def kill_lance(rng: Random, folder: Path) -> None:
    """A writer to LanceDB: all changes that had ended are there, the last one is or is not, and
    another writer goes on."""
    import lancedb  # noqa: F401 - once, before the forks; its own threads work in children only

    changes: list[Callable[[Any], None]] = []
    states: list[list[Any]] = [[]]
    present: dict[int, Any] = {}

    def put(number: int, new: Any) -> None:
        present[number] = new
        changes.append(lambda index: index.add([new]))
        states.append(list(present.values()))

    def drop(gone: int) -> None:
        del present[gone]
        changes.append(lambda index: index.delete(f"d{gone}"))
        states.append(list(present.values()))

    for number in range(3):
        put(number, document(number))
    for number in range(3, ROUNDS):
        _turn(number, put, drop)
    killed = rng.randint(-1, len(changes) - 1)  # in this change; -1: when it is opened

    def opened() -> Any:
        return index_of(store=f"lancedb:{folder / 'store'}")

    def work(say: Say) -> None:
        if killed < 0:
            say(MARK)
        index = opened()
        for number, change in enumerate(changes):
            if number == killed:
                say(MARK)
            change(index)
            say(str(number + 1))

    said = start(work).kill_at_mark(LANCE_SECONDS * rng.random())
    done = max(map(int, said), default=0)

    def check(_: Say) -> None:
        index = opened()
        assert any(_whole(index, state) for state in states[done : done + 2]), (
            f"it holds {index.document_ids} after {done} changes"
        )
        index.add([document(99)])
        again = opened()
        assert "d99" in again.document_ids
        assert again.search("Item 99", 1, route="bm25")[0].chunk.doc_id == "d99"

    start(check).join()


# -- caches


def _value(number: int) -> dict[str, str]:
    return {"answer": f"answer {number} " * (number % 50)}


def _vector(number: int) -> Any:
    return np.full(1024, number, dtype=np.float32)


def kill_cache(rng: Random, folder: Path) -> None:
    """A cache: every value that was put is there and whole, and no other."""
    path = folder / "cache.sqlite"

    def work(say: Say) -> None:
        cache = Cache(path)
        say("ready")
        for number in range(100_000):
            cache.put(f"value {number}", _value(number))
            cache.put_vectors(
                {f"vector {number} {i}": _vector(number) for i in range(BATCH)}
            )
            say(str(number))

    child = start(work)
    child.wait_for_line()
    _sleep(rng, 0.05)
    done = max(map(int, child.kill()), default=-1)
    cache = Cache(path)
    for number in range(done + 3):
        value = cache.get(f"value {number}")
        vectors = [cache.get_vector(f"vector {number} {i}") for i in range(BATCH)]
        if number <= done:
            assert value is not None and vectors[0] is not None, (
                f"{number} of {done} is lost"
            )
        assert value in (None, _value(number)), "half a value"
        there = [vector is not None for vector in vectors]
        assert all(there) or not any(there), "some vectors of one put"
        assert not any(there) or all(
            np.array_equal(v, _vector(number)) for v in vectors
        )
    cache.put("more", 1)
    assert cache.get("more") == 1
    cache.close()


def _summary(prompt: str) -> str:
    return f"Summary of {len(prompt)} characters."


def kill_adder(rng: Random, folder: Path) -> None:
    """Adding with a cache: what was answered is not asked again, and the index is the same."""
    contents = documents(range(6))
    path = folder / "cache.sqlite"

    def index_with(answer: Callable[[str], str]) -> Any:
        return index_of(
            contents, llm=ScriptedModel(answer, name="m"), cache=Cache(path)
        )

    def work(say: Say) -> None:
        say("ready")

        def answered(prompt: str) -> str:
            say("asked")
            return _summary(prompt)

        index_with(answered)
        say("done")

    child = start(work)
    child.wait_for_line()
    _sleep(rng, 0.1)
    before = child.kill()
    asked: list[str] = []

    def counted(prompt: str) -> str:
        asked.append(prompt)
        return _summary(prompt)

    resumed = index_with(counted)
    path = folder / "another.sqlite"
    once: list[str] = []
    clean = index_with(lambda prompt: once.append(prompt) or _summary(prompt))
    assert answers(resumed) == answers(clean), (
        "the index differs from one never broken off"
    )
    at_once = resumed.runner.call_settings.max_concurrency
    again = before.count("asked") + len(asked) - len(once)
    assert again <= at_once, f"{again} calls were asked twice"
    assert "done" not in before or not asked, "all was answered, and asked again"


KINDS = (
    kill_saver,
    kill_lance,
    kill_saver,
    kill_first_saver,
    kill_saver,
    kill_lance,
    kill_cache,
    kill_adder,
)


def case(number: int) -> None:
    """One kill."""
    rng = random_of("kills", number)
    HashEmbedder()  # what children need is loaded before them
    with small_segments(rng), tempfile.TemporaryDirectory(prefix="torture-") as name:
        KINDS[number % len(KINDS)](rng, Path(name))


PROMISE = Promise(
    "kills",
    "kill -9 in a write of add, save, merge, LanceDB or cache: the old or the new state, whole",
    case,
    cases=2_000,
    short=36,
    share=8,
)
