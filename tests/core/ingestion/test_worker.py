"""What a worker makes of a task, in the process of the test."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

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
from structrag.ingestion.tasks import Setup, Stopped, Task
from structrag.ingestion.worker import Preparer, _portable
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
