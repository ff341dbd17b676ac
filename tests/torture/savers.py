"""Writers at one folder, and loaders beside a saver: no document is lost without an error, and
always a whole index."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doubles import HashEmbedder

from structrag.errors import SaveFailed
from structrag.index.index import Index
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from torture.children import PATIENCE, start
from torture.indexes import answers, document, documents, index_of, load, small_segments
from torture.promise import Promise, random_of

CHANGES = 3  # of each writer
WRITERS = 2
ADDED = {f"d{number}" for number in range(WRITERS * CHANGES)}
LOADERS = (2, 16)


def _index(name: int) -> Any:
    return index_of(documents(range(name * 10, name * 10 + 3 + name)))


class _Kind:
    """A class of index, as it is opened at a folder and saved."""

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, path: Path) -> Any:
        embedder = HashEmbedder(16)
        if self.name == "lancedb":
            return Index(embedder=embedder, store=f"lancedb:{path}")
        if self.name == "d3":
            return D3Index(embedder=embedder, store=path)
        if self.name == "store":
            return Index(embedder=embedder, store=path)
        if not path.exists():
            return (
                EvidenceRetriever(embedder)
                if self.name == "evidence"
                else Index(embedder=embedder)
            )
        if self.name == "evidence":
            return EvidenceRetriever.load(path, embedder)
        return Index.load(path, embedder=embedder)

    def change(self, path: Path, index: Any, number: int) -> None:
        """Add a document, delete one that was added for that, and save."""
        spare = 1000 + number
        index.add([document(number), document(spare)])
        index.delete(f"d{spare}")
        if self.name in ("evidence", "index"):
            index.save(path)

    def ids(self, path: Path) -> set[str]:
        """The documents that are there. LanceDB is used in children only."""

        def work(say: Callable[[str], None]) -> None:
            for name in self.open(path).document_ids:
                say(name)

        return set(start(work).join())


KINDS = [_Kind(name) for name in ("store", "d3", "evidence", "index", "lancedb")]


def _write_often(say: Callable[[str], None], kind: _Kind, path: Path, who: int) -> None:
    """Change the index at a folder; open it again whenever another has changed it."""
    index = kind.open(path)
    for number in range(who * CHANGES, (who + 1) * CHANGES):
        end = time.monotonic() + 20
        while True:
            try:
                kind.change(path, index, number)
                break
            except SaveFailed:
                assert time.monotonic() < end, "a writer never had its turn"
                index = kind.open(path)
        say(f"d{number}")


def _read_often(say: Callable[[str], None], kind: _Kind, path: Path) -> None:
    """Open an index again and again while others write it, until all that they add is there: every
    document in it is whole, also in what was opened long before."""
    opened: list[Any] = []
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        opened = [*opened[:1], kind.open(path)]
        for index in opened:
            reader = index.store.reader()
            texts: dict[str, str] = dict.fromkeys(reader.document_ids, "")
            for chunk in reader.chunks():
                number = int(chunk.doc_id.removeprefix("d"))
                assert document(number).text[chunk.start : chunk.end] == chunk.text
                texts[chunk.doc_id] += chunk.text
            assert all(texts.values()), "a document without its text"
            index.store.reader().search_lexical("raw", "pump", 5)
        if set(texts) >= ADDED:
            return
    raise AssertionError("a reader never saw what was added")


def _load_often(say: Callable[[str], None], path: Path, whole: list[Any]) -> None:
    """Load while others save; each time the whole of one of the indexes."""
    say("ready")
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        assert answers(load(path)) in whole, "a loader saw half an index"


def check_writers(path: Path, kind: _Kind, *, threads: bool) -> None:
    """Writers, processes or threads, at a folder that is new or holds an index."""
    before = kind.ids(path)
    if threads:
        errors: list[BaseException] = []

        def write(who: int) -> None:
            try:
                _write_often(lambda _: None, kind, path, who)
            except BaseException as error:
                errors.append(error)

        writers = [
            threading.Thread(target=write, args=(who,)) for who in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        if errors:
            raise errors[0]
    else:
        children = [
            start(lambda say, who=who: _write_often(say, kind, path, who))
            for who in range(WRITERS)
        ]
        if path.exists():
            children.append(start(lambda say: _read_often(say, kind, path)))
        for child in children:
            child.join()
    assert kind.ids(path) == ADDED | before, "a document is lost"
    left = [file.name for file in path.parent.iterdir() if file != path]
    assert not left, f"left behind: {left}"


def check_loaders(path: Path, loading: int) -> None:
    """Loaders beside a saver that writes two indexes in turn, each made after the other."""
    whole = [answers(_index(number)) for number in (1, 2)]
    _index(1).save(path)
    loaders = [start(lambda say: _load_often(say, path, whole)) for _ in range(loading)]
    for loader in loaders:
        loader.wait_for_line()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        for number in (1, 2):
            _index(number).save(path)
    for loader in loaders:
        loader.join()
    assert answers(load(path)) == whole[1]


def check_readers(path: Path) -> None:
    """Who has opened an index goes on reading it while another is saved over it, and cannot save
    over that one."""
    first = _index(1)
    first.save(path)
    opened = [load(path) for _ in range(3)]
    for number in (2, 1, 2):
        _index(number).save(path)
    for reader in opened:
        assert answers(reader) == answers(first), "a reader lost what it had opened"
        try:
            reader.save(path)
        except SaveFailed:
            continue
        raise AssertionError("an outdated index replaced another")
    assert answers(load(path)) == answers(_index(2))


def case(number: int) -> None:
    """One meeting of writers, or of a saver and loaders."""
    rng = random_of("savers", number)
    with small_segments(rng), tempfile.TemporaryDirectory(prefix="torture-") as name:
        path = Path(name) / "index"
        part = number % 4
        if part in (0, 1):
            # LanceDB is used in children only.
            kind = rng.choice(KINDS[: -1 if part else None])
            if kind.name == "lancedb":
                import lancedb  # noqa: F401 - once, before the forks
            if rng.random() < 0.7:
                start(lambda _: kind.change(path, kind.open(path), 100)).join()
            check_writers(path, kind, threads=part == 1)
        elif part == 2:
            check_loaders(path, rng.choice(LOADERS))
        else:
            check_readers(path)


PROMISE = Promise(
    "savers",
    "writers and readers of one folder: no document lost without an error, always a whole index",
    case,
    cases=500,
    short=12,
    share=3,
)
