"""What a worker makes of a task, in the process of the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ingestion_makers as makers
import pytest
from doubles import HostStore

from structrag import Index, read_file
from structrag.errors import InvalidParameter, MissingExtra, ModelFailed
from structrag.ingestion.tasks import Setup, Task
from structrag.ingestion.worker import Preparer
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
    assert (done.number, [entry.document.id for entry in done.entries]) == (7, list(paths))
    assert {entry.document.text for entry in done.entries} == {""}
    assert (done.chunks, done.errors, done.is_settled) == (2, {}, True)
    assert done.usage["embedded"] > 0
    present = {paths[0]: done.entries[0].fingerprint, paths[1]: "of another text"}
    again = preparer.done(Task(8, paths, present, {}))
    assert again.unchanged == [paths[0]]
    assert [entry.document.id for entry in again.entries] == [paths[1]]


def test_what_the_first_documents_decide_is_taken_over(tmp_path: Path) -> None:
    """The rotation of token vectors is the same in all workers."""
    paths = files(tmp_path, "# A\n\nOne pump.", "# B\n\nTwo cats sleep.")
    first = Preparer(Setup(makers.evidence, {})).done(Task(0, paths[:1], {}, {}))
    second = Preparer(Setup(makers.evidence, {})).done(Task(1, paths[1:], {}, first.shared))
    assert first.is_settled and second.is_settled
    assert (second.shared["rotation"] == first.shared["rotation"]).all()
    empty = Preparer(Setup(makers.evidence, {})).done(Task(0, files(tmp_path, ""), {}, {}))
    assert not empty.is_settled


def test_a_bad_file_and_a_fault_of_ours_are_errors_of_their_files(tmp_path: Path) -> None:
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


def test_a_model_that_fails_is_raised(tmp_path: Path) -> None:
    preparer = Preparer(Setup(makers.broken, {}))
    with pytest.raises(ModelFailed, match="no server"):
        preparer.done(Task(0, files(tmp_path, "# A\n\nDOWN"), {}, {}))


def test_a_host_store_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="without a dense_store"):
        Preparer(Setup(host_index, {}))
