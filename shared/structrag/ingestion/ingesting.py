"""The driver of an ingestion. Files are found, given to workers, stored in order, saved."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from structrag.errors import (
    InvalidAnswer,
    InvalidParameter,
    ModelFailed,
    SaveFailed,
    check_at_least,
    check_choice,
    check_optional,
)
from structrag.index.corpus import CorpusStore
from structrag.index.document_index import (
    Address,
    absolute,
    check_same_config,
    engine_of,
    open_store,
)
from structrag.index.entries import Entry
from structrag.index.storage import MANIFEST, take_lock
from structrag.index.store import Store
from structrag.ingestion.summary import (
    FileState,
    FolderSummary,
    file_state,
    is_gone,
    read_summary,
    summary_path,
    tell_of_new_rules,
    write_summary,
)
from structrag.ingestion.tasks import (
    BATCH_SIZE,
    Ready,
    Setup,
    Stopped,
    Task,
    TaskResult,
    while_preparing,
)
from structrag.ingestion.workers import (
    ProcessRunner,
    Replies,
    Worker,
    WorkerPool,
    packed,
)
from structrag.model_calls.naming import setting_name
from structrag.model_calls.settings import ProgressLine
from structrag.reading.files import find_files
from structrag.reading.formats import check_format
from structrag.reading.limits import Limits
from structrag.reading.opening import check_reader, path_of, shown
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.text.numbers import pluralise

RUNNERS = ("process", "ray")
BATCH_FILES = 32  # most files that a worker prepares together
LOOKED_UP = 512  # files that the store is asked for at once
BATCH_BYTES = 1 << 18
AHEAD = 4  # batches for each worker that may be done before an earlier one is
DEATHS = 2  # of workers with one file, after which the file is left out
STARTS = 3  # workers in a row that may die before they are ready
_LOOK = 0.5  # seconds between looks at the clock


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingestion is.

    Example:
        >>> half = Progress(files=50, total=100, chunks=900, bytes=10**6, errors=1, seconds=30)
        >>> print(half)
        50 of 100 files, 900 chunks, 1.0 MB, 1 error, 0:30 left
    """

    files: int  # done with, those that had not changed included
    total: int
    chunks: int  # of documents added and replaced
    bytes: int  # of files read
    errors: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """By the files that are left; infinite before the first one."""
        if not self.files:
            return float("inf")
        return self.seconds / self.files * (self.total - self.files)

    def __str__(self) -> str:
        line = (
            f"{self.files:,} of {pluralise(self.total, 'file')}, "
            f"{pluralise(self.chunks, 'chunk')}, "
            f"{self.bytes / 1e6:,.1f} MB, {pluralise(self.errors, 'error')}"
        )
        if self.files == self.total or not self.files:
            return line
        minutes, seconds = divmod(round(self.seconds_left), 60)
        return f"{line}, {minutes}:{seconds:02} left"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did.

    Example:
        >>> errors = {"scan.pdf": "It has no text."}
        >>> report = IngestReport(2, 0, 1, 0, chunks=40, bytes=9000, seconds=1.5, errors=errors)
        >>> print(report)
        2 documents added, 0 replaced, 1 unchanged, 0 removed, 1 left out; 40 chunks; 1.5 s
    """

    added: int
    replaced: int
    unchanged: int
    removed: int
    chunks: int  # of the added and replaced documents
    bytes: int  # of files read
    seconds: float
    errors: Mapping[str, str]  # path of a file or folder -> why it was left out
    # Calls, texts, tokens of all workers.
    usage: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{pluralise(self.added, 'document')} added, {self.replaced:,} replaced, "
            f"{self.unchanged:,} unchanged, {self.removed:,} removed, {len(self.errors):,} left "
            f"out; {pluralise(self.chunks, 'chunk')}; {self.seconds:,.1f} s"
        )


def ingest(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    store: str | os.PathLike[str],
    embedding: Any = None,
    *,
    make: Callable[..., Any] | None = None,
    workers: int | None = None,
    shared_model: bool = False,
    runner: str = "process",
    format: str = "auto",
    reader: Any = "layout",
    isolated: bool = True,
    limits: Limits | None = None,
    follow_links: bool = False,
    remove_missing: bool = False,
    save_every: float = 60.0,
    max_seconds: float = 600.0,
    progress: Callable[[Progress], None] | bool = False,
) -> IngestReport:
    """Put files and folders into a saved index, with several processes.

    Example::

        model = "sentence-transformers/all-MiniLM-L6-v2"
        report = structrag.ingest("manuals/", "manuals.index", model)
        retriever = EvidenceRetriever.load("manuals.index", model)

    Each process loads its own models, reads files, splits and embeds them. The calling process
    stores the results in the order of the files, and saves from time to time. After an
    interruption, run it again: it continues where it stopped. Files with the same size and time are
    not read again, and unchanged documents are not embedded again. The report names what was
    skipped: a file that cannot be read, that the model refuses while it accepts others, or that
    kills two processes; a folder that cannot be listed; a link out of a folder. A document is
    stored whole or not at all; a stored document whose file can no longer be read stays unchanged.

    `STORE.ingested.json` beside the index holds the report, the errors, and the size and time of
    each file.

    Args:
        paths: Files and folders, as for `find_files`. A document's id is its path as given.
        store: The folder of the index, "lancedb:" and a folder or bucket, or "milvus:" and a file
            or server; it is created or extended.
        embedding: The embedder of an `EvidenceRetriever`: the name or folder of a model, or a
            picklable embedder. None: LSA, for a folder only.
        make: A module-level function that creates an empty `EvidenceRetriever`, `Index`, `D3Index`
            or `MultiViewRetriever` with its models, instead of `embedding`. Its class loads the
            index afterwards. With `shared_model` it receives the embedder.
        workers: The number of processes; None: one per core. Each holds the models, unless
            `shared_model` is set.
        shared_model: Whether the calling process embeds for all workers, for example on a GPU.
            `embedding` may then be anything that `as_embedder` accepts.
        runner: "process": workers are processes on this machine. "ray" (extra `ray`): workers are
            actors of the Ray cluster at RAY_ADDRESS, or of a local one, with one core each; with
            `shared_model` the model runs in actors too, one per free GPU. All machines need the
            same packages, and the files and folders under the same paths. The calling process
            writes the index.
        format, reader, isolated, limits: As for `read_file`. With the reader "docling" no file is
            isolated.
        follow_links: As for `find_files`.
        remove_missing: Whether to remove documents whose files no longer exist. Documents whose
            files cannot be examined stay.
        save_every: The seconds between two saves.
        max_seconds: The time limit in seconds for one file, or for a group of up to 32 small ones.
            A slower process is killed, and each file of its group is tried alone.
        progress: Called with a `Progress` after each group of files; True: a line on standard
            error.

    Raises:
        InvalidParameter: a setting is not allowed; `make` cannot be sent to a process or returns
            something else; the index was built with other models or settings; another ingestion is
            writing to it.
        MissingExtra: `runner` is "ray", and Ray is not installed.
        ModelFailed, InvalidAnswer: a model failed, or returned nothing usable, for a file and then
            for a short text too; BudgetExceeded: the call limit is reached. The error names the
            files. Finished documents are saved.
        SaveFailed: the system refuses to write; earlier saves are intact.
        IndexDamaged: the index cannot be opened.
    """
    if make is not None and embedding is not None and not shared_model:
        raise InvalidParameter(
            "embedding and make cannot be combined, because make creates its own models. Pass "
            "one of them."
        )
    check_optional("workers", workers, 1)
    check_choice("runner", runner, RUNNERS)
    check_format(format)
    check_reader(reader)
    check_at_least("save_every", save_every, 0)
    check_at_least("max_seconds", max_seconds, 0.001)
    reading = {
        "format": format,
        "reader": reader,
        "isolated": isolated and reader != "docling",
        "limits": limits,
    }
    if make is None:
        make = partial(EvidenceRetriever, embedding)
        if shared_model:  # the worker gives the model
            make = partial(EvidenceRetriever, batch_size=BATCH_SIZE)
    setup = Setup(make, reading)
    packed(setup)  # what cannot be sent is refused before a model is loaded
    report = _reporter(progress)
    left_out: dict[str, str] = {}
    files = _files(paths, follow_links, left_out)
    place = _local_place(store)
    with ExitStack() as stack:
        if place is not None:
            stack.enter_context(_only_one(place))
        there = _runner(runner, embedding, shared_model)
        stack.callback(there.close)
        setup = replace(setup, model=there.model)
        how = setting_name(reading)
        address = absolute(store if engine_of(store) else path_of(store))
        ingestion = _Ingestion(
            address, place, packed(setup), how, there, workers, max_seconds, report
        )
        stack.callback(ingestion.close)
        ingestion.open()
        ingestion.summary.errors.update(left_out)
        ingestion.counts["errors"] = len(left_out)
        ingestion.work(files, save_every)
        if remove_missing:
            ingestion.remove_missing()
    return ingestion.report()


def _runner(name: str, embedding: Any, shared_model: bool) -> WorkerPool:
    if name == "process":
        return ProcessRunner(embedding, shared_model)
    from structrag.ingestion.ray_workers import RayRunner

    return RayRunner(embedding, shared_model)


def _local_place(store: Address) -> Path | None:
    """Where a store lies on this machine. Its summary lies beside it. None for a bucket."""
    engine = engine_of(store)
    if engine is None:
        return path_of(store)
    return None if "://" in engine[1] else Path(engine[1])


def _files(paths: Any, follow_links: bool, left_out: dict[str, str]) -> list[str]:
    """Every file once, in the order of the paths. Folders that cannot be listed, and links out of a
    folder, are added to what is left out."""

    def report(place: Path, sentence: str) -> None:
        left_out[str(place)] = sentence

    if isinstance(paths, str | bytes | os.PathLike):
        paths = [paths]
    files: dict[Path, str] = {}
    for path in paths:
        for file in find_files(path, follow_links=follow_links, left_out=report):
            files.setdefault(file.resolve(), str(file))
    return list(files.values())


def _reporter(
    progress: Callable[[Progress], None] | bool,
) -> Callable[[Progress], None]:
    if callable(progress):
        return progress
    if not isinstance(progress, bool):
        raise InvalidParameter(
            "progress must be a function of one Progress, True or False; got "
            f"{type(progress).__name__}."
        )
    return partial(show_files, ProgressLine()) if progress else lambda _: None


def show_files(line: ProgressLine, progress: Progress) -> None:
    """Show how far an ingestion is on a line."""
    line.show(str(progress), "files", is_last=progress.files == progress.total)


@dataclass(slots=True)
class _Batch:
    """Files that a worker gets together. After a death they are given one by one."""

    number: int
    states: dict[str, FileState]  # by path, in order
    waiting: deque[tuple[str, ...]]
    done: list[TaskResult] = field(default_factory=list)
    at_work: int = 0

    @property
    def is_done(self) -> bool:
        return not self.waiting and not self.at_work


class _Ingestion:
    """One run: its workers, what they sent, and what is stored."""

    def __init__(
        self,
        address: Address,
        place: Path | None,
        setup: bytes,
        reading: str,
        runner: WorkerPool,
        workers: int | None,
        max_seconds: float,
        report: Callable[[Progress], None],
    ) -> None:
        self.runner = runner
        self.reading = reading  # how files are read, as a name
        self.address, self.place = address, place
        self.setup, self.n_workers = setup, workers or runner.cores
        self.max_seconds, self.on_progress = max_seconds, report
        self.n_told: int | None = None  # the files of the last report
        self.began = time.monotonic()
        self.workers: list[Worker] = []
        self.replies: Replies = Queue()
        self._store: CorpusStore | None = None
        self.config: Mapping[str, Any] = {}
        self.summary = FolderSummary()
        self.is_settled = False  # whether what all vectors share is there
        self.batches: dict[int, _Batch] = {}  # given out or to be, and not stored yet
        self.n_batches = 0  # made so far
        self.n_stored = 0
        self.deaths: Counter[str] = Counter()  # of workers, by path
        self.failed_starts = 0
        self.counts: Counter[str] = Counter()
        self.usage: Counter[str] = Counter()
        self.n_files = self.total = 0
        self.changes_saved = 0

    # -- the index

    @property
    def store(self) -> CorpusStore:
        """The index's store, once it is open."""
        assert self._store is not None  # noqa: S101
        return self._store

    def open(self) -> None:
        """Start a worker, and open or make its retriever's index."""
        worker = self._start()
        ready = None
        while ready is None:
            _, reply = self.replies.get()
            if isinstance(reply, Stopped):
                raise reply.error
            if reply is None:
                self._failed_start(worker)
                worker = self._start()
            elif isinstance(reply, Ready):
                ready, worker.is_ready = reply, True
        self.failed_starts = 0
        self.config, self.is_settled = ready.config, ready.is_settled
        self._store = self._opened(ready)
        made_from = {**self.config, "reading": self.reading}
        if self.place is not None:
            summary = read_summary(summary_path(self.place))
            if summary.made_from == made_from:
                self.summary = summary
        self.summary.made_from = made_from
        self.summary.errors = {}  # those files are tried again
        self.changes_saved = self.store.changes

    def _opened(self, ready: Ready) -> CorpusStore:
        """The store at the address, or a new one."""
        if engine_of(self.address) is not None:
            self._check_for_engine(ready)
            store = open_store(self.address, ready.settings, self.config)
            self._check_config(store.config)
        elif (Path(self.address) / MANIFEST).exists():
            store = Store.load(self.address)
            self._check_config(store.config)
        else:
            store = open_store(self.address, ready.settings, self.config)
            # So that a place that cannot be written to is told of now.
            store.save(self.address)
        return store

    def _check_for_engine(self, ready: Ready) -> None:
        """Refuse what an engine cannot keep."""
        if len(ready.settings.levels) > 1:
            raise InvalidParameter(
                "make must return an EvidenceRetriever, an Index or a MultiViewRetriever for a "
                "store in an engine; it returned another index. Leave make out, or name a folder "
                "as store."
            )
        if ready.is_fitted:
            raise InvalidParameter(
                "embedding must be a model for a store in an engine; LSA's vectors change with "
                "every document. Pass embedding=..., or name a folder as store."
            )

    def _check_config(self, saved: Mapping[str, Any]) -> None:
        check_same_config(self.address, saved, self.config, "ingest into a new folder")

    def _save(self) -> None:
        self.store.save(self.address, config=self.config)
        self.summary.report = self._counts()
        if self.place is not None:
            with _writing(summary_path(self.place)):
                write_summary(summary_path(self.place), self.summary)
        self.changes_saved = self.store.changes

    # -- files

    def work(self, files: Iterable[str], save_every: float) -> None:
        """Have all files prepared, and store what comes."""
        files = list(files)
        self.total = len(files)
        batches = self._batches(files)
        is_last = False
        saved = time.monotonic()
        while True:
            while not is_last and len(self.batches) < AHEAD * self.n_workers:
                batch = next(batches, None)
                if batch is None:
                    is_last = True
                else:
                    self.batches[batch.number] = batch
            if is_last and not self.batches:
                break
            self._give_out()
            self._listen()
            self._store_finished()
            if time.monotonic() - saved >= save_every:
                if self.store.changes != self.changes_saved:
                    self._save()
                saved = time.monotonic()
        self._tell()

    def _batches(self, files: Sequence[str]) -> Iterator[_Batch]:
        """The files that may have changed, in groups."""
        changed = list(self._changed(files))
        left = sum(state.size for _, state in changed)
        states: dict[str, FileState] = {}
        size = 0
        for path, state in changed:
            if states and (
                len(states) >= BATCH_FILES or size + state.size > self._most(left)
            ):
                yield self._batch(states)
                left -= size
                states, size = {}, 0
            states[path] = state
            size += state.size
        if states:
            yield self._batch(states)

    def _most(self, left: int) -> int:
        """Bytes of a group while so many are left. They get fewer, so that no worker waits long for
        another at the end."""
        is_shared = self.n_workers > 1 and (self.is_settled or self.n_batches > 0)
        return (
            min(BATCH_BYTES, left // (2 * self.n_workers)) if is_shared else BATCH_BYTES
        )

    def _changed(self, files: Sequence[str]) -> Iterator[tuple[str, FileState]]:
        """The files that may have changed since, with their states."""
        for start in range(0, len(files), LOOKED_UP):
            states = self._states(files[start : start + LOOKED_UP])
            tell_of_new_rules(states, self.summary.files)
            same = [
                path
                for path, state in states.items()
                if state.is_same(self.summary.files.get(path))
            ]
            there = self.store.fingerprints(same)
            self.n_files += len(there)
            self.counts["unchanged"] += len(there)
            yield from (item for item in states.items() if item[0] not in there)

    def _states(self, files: Sequence[str]) -> dict[str, FileState]:
        """The states of the files that can be read."""
        states = {}
        for path in files:
            try:
                states[path] = file_state(path)
            except OSError as error:
                self._left_out(
                    path, f"Cannot read {shown(Path(path))}: {error.strerror}."
                )
        return states

    def _batch(self, states: dict[str, FileState]) -> _Batch:
        self.n_batches += 1
        return _Batch(self.n_batches - 1, states, deque([tuple(states)]))

    # -- workers

    def _start(self) -> Worker:
        try:
            worker = self.runner.start(self.setup, self.replies, self.n_workers)
        except OSError as error:
            raise ModelFailed(
                f"No worker process could be started: {error.strerror}. Use fewer workers or free "
                "memory, then run the same ingestion again: it continues where it stopped."
            ) from error
        self.workers.append(worker)
        return worker

    def _gone(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.close()

    def _failed_start(self, worker: Worker) -> None:
        self._gone(worker)
        self.failed_starts += 1
        if self.failed_starts >= STARTS:
            raise ModelFailed(
                f"{STARTS} worker processes in a row ended {worker.ending()} before they had "
                "built their retriever. Read what they printed, or use fewer workers if memory "
                "is short."
            )

    def _give_out(self) -> None:
        """Give tasks to idle workers. More workers are started while there are tasks."""
        for worker in self.workers:
            if worker.is_ready and worker.task is None:
                waiting = self._waiting()
                if not waiting:
                    return
                worker.give(self._task(waiting[0]))
        starting = sum(not worker.is_ready for worker in self.workers)
        free = self.n_workers - len(self.workers)
        for _ in range(min(len(self._waiting()) - starting, free)):
            self._start()

    def _waiting(self) -> list[_Batch]:
        """Batches with files to be given out now, in their order."""
        waiting = [batch for batch in self.batches.values() if batch.waiting]
        if self.is_settled:
            return waiting
        # What all vectors share comes from the first documents, so these are prepared alone.
        is_at_work = any(batch.at_work for batch in self.batches.values())
        return [] if is_at_work else waiting[:1]

    def _task(self, batch: _Batch) -> Task:
        paths = batch.waiting.popleft()
        batch.at_work += 1
        present = self.store.fingerprints(paths)
        return Task(batch.number, paths, present, self.store.shared)

    def _listen(self) -> None:
        """Take all replies, after waiting for the first. A worker that takes too long is killed."""
        timeout = _LOOK
        while True:
            try:
                worker, reply = self.replies.get(timeout=timeout)
            except Empty:
                break
            self._take(worker, reply)
            timeout = 0
        for worker in self.workers:
            if (
                worker.task is not None
                and time.monotonic() - worker.since > self.max_seconds
            ):
                worker.kill()  # its end is a reply

    def _take(self, worker: Worker, reply: Ready | TaskResult | Stopped | None) -> None:
        if isinstance(reply, Stopped):
            raise while_preparing(reply.error, reply.paths)
        if isinstance(reply, Ready):
            worker.is_ready, self.failed_starts = True, 0
        elif isinstance(reply, TaskResult):
            worker.task = None
            batch = self.batches[reply.number]
            batch.at_work -= 1
            batch.done.append(reply)
            self.is_settled = self.is_settled or reply.is_settled
            if reply.shared:
                self.store.shared.update(reply.shared)
        elif not worker.is_ready:
            self._failed_start(worker)
        else:
            self._died(worker)

    def _died(self, worker: Worker) -> None:
        """Have a dead worker's files prepared one by one. So the one that kills is known."""
        self._gone(worker)
        task = worker.task
        if task is None:
            return
        batch = self.batches[task.number]
        batch.at_work -= 1
        if len(task.paths) > 1:
            batch.waiting.extend((path,) for path in task.paths)
            return
        (path,) = task.paths
        self.deaths[path] += 1
        if self.deaths[path] < DEATHS:
            batch.waiting.append(task.paths)
            return
        sentence = (
            f"{shown(Path(path))} was skipped: {DEATHS} processes died while they prepared it, "
            f"the last one {worker.ending()}. The file needs more memory or more than "
            f"{self.max_seconds:g} seconds, or it is damaged."
        )
        batch.done.append(TaskResult(batch.number, errors={path: sentence}))

    # -- what was prepared

    def _store_finished(self) -> None:
        """Store batches in their order, as far as they are done."""
        while self.n_stored in self.batches and self.batches[self.n_stored].is_done:
            self._put(self.batches.pop(self.n_stored))
            self.n_stored += 1
            self._tell()

    def _put(self, batch: _Batch) -> None:
        prepared: dict[str, Entry] = {}
        errors: dict[str, str] = {}
        for done in batch.done:
            prepared |= {entry.document.id: entry for entry in done.entries}
            errors |= done.errors
            self.counts["chunks"] += done.chunks
            self.usage.update(done.usage)
        ready = [
            path for path in batch.states if path in prepared and path not in errors
        ]
        entries = {path: prepared[path] for path in ready}  # in the order of the files
        changes = {
            path: "replaced" if path in self.store else "added" for path in entries
        }
        errors |= self._put_all(entries)
        for path, state in batch.states.items():
            if path in errors:
                self._left_out(path, errors[path])
                continue
            self.counts[changes.get(path, "unchanged")] += 1
            self.counts["bytes"] += state.size
            self.summary.files[path] = state
            self.summary.errors.pop(path, None)
            self.n_files += 1

    def _put_all(self, entries: Mapping[str, Entry]) -> dict[str, str]:
        """Store entries together, and give errors by path. Where one cannot be kept, they are
        stored one by one."""
        try:
            self.store.put_all(list(entries.values()))
        # Such as metadata that cannot be kept.
        except (InvalidParameter, InvalidAnswer) as error:
            if len(entries) == 1:
                return dict.fromkeys(entries, str(error))
            errors: dict[str, str] = {}
            for path, entry in entries.items():
                errors |= self._put_all({path: entry})
            return errors
        return {}

    def _left_out(self, path: str, sentence: str) -> None:
        self.n_files += 1
        self.counts["errors"] += 1
        self.summary.errors[path] = sentence
        self.summary.files.pop(path, None)

    def remove_missing(self) -> None:
        """Delete documents whose files are gone."""
        for path in list(self.summary.files):
            if is_gone(path):
                self.counts["removed"] += self.store.delete(path)
                del self.summary.files[path]

    # -- the end

    def close(self) -> None:
        """End the workers, and save what is stored."""
        try:
            for worker in self.workers:
                worker.close()
        finally:
            if self._store is not None:
                self._save()

    def _tell(self) -> None:
        """Tell how far it is, once for each number of files."""
        if self.n_files == self.n_told:
            return
        self.n_told = self.n_files
        counts, seconds = self.counts, time.monotonic() - self.began
        numbers = (counts["chunks"], counts["bytes"], counts["errors"])
        self.on_progress(Progress(self.n_files, self.total, *numbers, seconds))

    def _counts(self) -> dict[str, Any]:
        names = ("added", "replaced", "unchanged", "removed", "chunks", "bytes")
        seconds = round(time.monotonic() - self.began, 3)
        counts = {name: self.counts[name] for name in names}
        return {**counts, "seconds": seconds, "usage": dict(self.usage)}

    def report(self) -> IngestReport:
        return IngestReport(**self._counts(), errors=dict(self.summary.errors))


@contextmanager
def _only_one(place: Path) -> Iterator[None]:
    """Refuse a second ingestion of one index. The system gives the lock back when its holder ends,
    however that happens."""
    lock = place.with_name(f".{place.name}.ingesting")
    busy = InvalidParameter(
        f"store is in use: another ingestion is writing to {shown(place)}. Wait until it finishes."
    )
    with _writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        file = open(lock, "ab")  # noqa: SIM115 - it is closed below
    with file:
        try:
            take_lock(file.fileno())
        except OSError:
            raise busy from None
        if not lock.exists() or not os.path.samestat(
            os.fstat(file.fileno()), lock.stat()
        ):
            raise busy  # that one has ended at this moment
        try:
            yield
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                lock.unlink()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say in a sentence that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise SaveFailed(
            f"{shown(path)} cannot be written: {error.strerror}. Everything saved before is "
            "intact. Free some space or choose another store, then run the ingestion again."
        ) from error
