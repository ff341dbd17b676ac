"""What a worker makes of a task, in the process of the test."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import ingestion_makers as makers
import numpy as np
import pytest
from doubles import HashEmbedder, HostStore

from structrag import Index, read_file
from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    MissingExtra,
    ModelFailed,
)
from structrag.ingestion.shared_model import ModelFacts
from structrag.ingestion.tasks import Ready, Setup, Stopped, Task, TaskResult
from structrag.ingestion.worker import Preparer, _portable, main, started
from structrag.records import Document


def host_index() -> Index:
    return Index(dense_store=HostStore(wants_vectors=False))


def files(folder: Path, *texts: str) -> tuple[str, ...]:
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.md"
        path.write_text(text)
        paths.append(str(path))
    return tuple(paths)


def test_documents_are_prepared_and_not_kept(tmp_path: Path) -> None:
    preparer = Preparer(Setup(makers.index, {}))
    paths = files(tmp_path, "# A\n\nOne.", "# B\n\nTwo.")
    done = preparer.done(Task(7, paths, {}, {}))
    assert (done.number, [entry.document.id for entry in done.entries]) == (
        7,
        list(paths),
    )
    assert {entry.document.text for entry in done.entries} == {""}
    assert (done.chunks, done.errors, done.is_settled) == (2, {}, True)
    assert done.usage["embedded"] > 0
    present = {paths[0]: done.entries[0].fingerprint, paths[1]: "of another text"}
    again = preparer.done(Task(8, paths, present, {}))
    assert again.unchanged == [paths[0]]
    assert [entry.document.id for entry in again.entries] == [paths[1]]


def test_a_bad_file_and_a_fault_of_ours_are_errors_of_their_files(
    tmp_path: Path,
) -> None:
    preparer = Preparer(Setup(makers.moody, {}))
    paths = files(tmp_path, "# A\n\nOne.", "# B\n\nRAISE", "# C\n\nThree.")
    done = preparer.done(Task(0, (*paths, str(tmp_path / "none.md")), {}, {}))
    assert [entry.document.id for entry in done.entries] == [paths[0], paths[2]]
    assert done.errors[paths[1]] == "ZeroDivisionError: a fault of ours"
    assert set(done.errors) == {paths[1], str(tmp_path / "none.md")}


def test_a_reader_that_is_not_installed_leaves_out_its_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, **options: Any) -> Document:
        if path.endswith("1.md"):
            raise MissingExtra("PDF files need pypdfium2.")
        return read_file(path, **options)

    monkeypatch.setattr("structrag.ingestion.worker.read_file", read)
    paths = files(tmp_path, "# A\n\nOne.", "# B\n\nTwo.")
    done = Preparer(Setup(makers.index, {})).done(Task(0, paths, {}, {}))
    assert [entry.document.id for entry in done.entries] == [paths[0]]
    assert done.errors == {paths[1]: "PDF files need pypdfium2."}


def test_a_model_that_goes_down_after_others_passed_names_one_file(
    tmp_path: Path,
) -> None:
    preparer = Preparer(Setup(makers.broken, {}))
    paths = files(
        tmp_path, "# A\n\nREFUSED", "# B\n\nTwo.", "# C\n\nThree.", "# D\n\nDOWN"
    )
    stopped = preparer.done(Task(0, paths, {}, {}))
    assert isinstance(stopped, Stopped)
    assert stopped.paths == paths[3:]


def test_a_budget_that_is_used_up_names_all_files_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preparer = Preparer(Setup(makers.index, {}))

    def add(documents: Any) -> Any:
        raise BudgetExceeded("It needs more calls.")

    monkeypatch.setattr(preparer.retriever, "add", add)
    paths = files(tmp_path, "# A\n\nOne.", "# B\n\nTwo.")
    stopped = preparer.done(Task(0, paths, {}, {}))
    assert isinstance(stopped, Stopped) and stopped.paths == paths
    assert isinstance(stopped.error, BudgetExceeded)


def test_an_error_that_cannot_be_sent_is_told(tmp_path: Path) -> None:
    error = _portable(makers.TooMany(3, 2))
    assert type(error) is ModelFailed and str(error) == "3 calls of 2"
    assert type(_portable(BudgetExceeded("It is."))) is BudgetExceeded


def test_a_host_store_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="without a dense_store"):
        Preparer(Setup(host_index, {}))


@pytest.mark.parametrize(
    ("make", "is_fitted", "is_settled"),
    [
        (makers.index, False, True),
        (makers.lsa_index, True, True),
        (makers.multiview, False, True),
        (makers.d3, False, True),
    ],
)
def test_the_first_words_say_what_vectors_wait_for(
    make: Any, is_fitted: bool, is_settled: bool
) -> None:
    ready = Preparer(Setup(make, {})).ready()
    assert (ready.is_fitted, ready.is_settled) == (is_fitted, is_settled)
    assert "kind" not in ready.config
    assert Preparer(Setup(makers.evidence, {})).ready().config["kind"]


def test_paragraphs_are_the_chunks_of_d3(tmp_path: Path) -> None:
    preparer = Preparer(Setup(makers.d3, {}))
    done = preparer.done(Task(0, files(tmp_path, "# A\n\nOne.\n\nTwo."), {}, {}))
    assert isinstance(done, TaskResult)
    (entry,) = done.entries
    assert done.chunks == 2 and entry.document.text == ""


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (makers.number, InvalidParameter, "got int. Add documents to other"),
        (makers.raising, InvalidParameter, "it raised OSError: no weights here"),
    ],
)
def test_what_cannot_begin_says_why(
    monkeypatch: pytest.MonkeyPatch, make: Any, kind: type[Exception], sentence: str
) -> None:
    monkeypatch.setattr("structrag.ingestion.worker.gc", MagicMock())
    preparer, words = started(lambda: Setup(make, {}), None)
    assert preparer is None and isinstance(words, Stopped) and words.paths == ()
    assert isinstance(words.error, kind) and sentence in str(words.error)


class System:
    """The system as `main` uses it, with replies that a test can read."""

    def __init__(self, replies: BytesIO) -> None:
        self.replies = replies
        self.calls: list[tuple[Any, ...]] = []

    def dup(self, descriptor: int) -> int:
        self.calls.append(("dup", descriptor))
        return 10 + descriptor

    def fdopen(self, descriptor: int, mode: str) -> BytesIO:
        self.calls.append(("fdopen", descriptor, mode))
        return self.replies

    def dup2(self, source: int, target: int) -> None:
        self.calls.append(("dup2", source, target))

    def _exit(self, code: int) -> None:
        raise SystemExit(code)


class Broken(BytesIO):
    def write(self, _: Any) -> int:
        raise BrokenPipeError


@pytest.fixture
def run_main(monkeypatch: pytest.MonkeyPatch) -> Callable[..., System]:
    """Runs a worker over requests, until these end."""

    def run(*requests: Any, replies: BytesIO | None = None) -> System:
        system = System(replies or BytesIO())
        pickled = BytesIO(b"".join(map(pickle.dumps, requests)))
        monkeypatch.setattr("structrag.ingestion.worker.gc", MagicMock())
        monkeypatch.setattr("structrag.ingestion.worker.os", system)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=pickled))
        main()
        return system

    return run


def replies_of(system: System) -> list[Any]:
    system.replies.seek(0)
    replies = []
    while True:
        try:
            replies.append(pickle.load(system.replies))
        except EOFError:
            return replies


def test_a_worker_answers_tasks_until_its_input_ends(
    run_main: Callable[..., System], tmp_path: Path
) -> None:
    paths = files(tmp_path, "# A\n\nOne.", "# B\n\nTwo.")
    tasks = [Task(number, (path,), {}, {}) for number, path in enumerate(paths)]
    system = run_main(Setup(makers.index, {}), *tasks)
    ready, *done = replies_of(system)
    assert isinstance(ready, Ready) and [reply.number for reply in done] == [0, 1]
    # Replies go where standard output went; what prints goes to standard error.
    assert system.calls == [("dup", 1), ("fdopen", 11, "wb"), ("dup2", 2, 1)]


def test_a_worker_that_cannot_begin_says_so_and_ends(
    run_main: Callable[..., System],
) -> None:
    (words,) = replies_of(run_main(Setup(makers.raising, {}), Task(0, (), {}, {})))
    assert isinstance(words, Stopped)


def test_a_worker_without_a_driver_ends(
    run_main: Callable[..., System], tmp_path: Path
) -> None:
    facts = ModelFacts("shared", None, counts_tokens=False, gives_tokens=False)
    task = Task(0, files(tmp_path, "# A\n\nOne."), {}, {})
    with pytest.raises(SystemExit) as ended:  # while it waits for vectors
        run_main(Setup(makers.index_with, {}, facts), task)
    assert ended.value.code == 1
    with pytest.raises(SystemExit) as ended:
        run_main(Setup(makers.index, {}), replies=Broken())
    assert ended.value.code == 1


class Nan(HashEmbedder):
    """An embedder that gives no numbers."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return super().embed(texts, query=query) * np.nan


def test_vectors_that_are_none_stop_it(tmp_path: Path) -> None:
    preparer = Preparer(Setup(partial(makers.index_with, Nan()), {}))
    stopped = preparer.done(
        Task(0, files(tmp_path, "# A\n\nOne.", "# B\n\nTwo."), {}, {})
    )
    assert isinstance(stopped, Stopped) and isinstance(stopped.error, InvalidAnswer)
