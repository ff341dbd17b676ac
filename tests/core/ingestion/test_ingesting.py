"""`ingest`: what is in the index afterwards, whatever happened meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import ingestion_makers as makers
import pytest
from engine_making import ENGINES, address_in
from ingestion_making import LONG_AGO, content, start, wait_for, write_files

import structrag
from structrag.errors import InvalidParameter, ModelFailed, SaveFailed
from structrag.index.entries import Entry
from structrag.index.store import Store
from structrag.ingestion import Progress, ingest

BIN_MD = b"\x89PNG\r\n\x1a\n\x00\x00\x00"


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        makers.lsa_index,
        pytest.param(makers.evidence, marks=pytest.mark.long),
        makers.d3,
    ],
)
def test_it_gives_what_one_process_gives(
    tmp_path: Path, make: Callable[[], Any]
) -> None:
    files = write_files(tmp_path / "files", 30 if make is makers.evidence else 70)
    seen: list[Progress] = []
    report = ingest(
        tmp_path / "files",
        tmp_path / "many.index",
        make=make,
        workers=2,
        progress=seen.append,
    )
    alone = make()
    alone.add([structrag.read_file(file) for file in files])
    alone.save(tmp_path / "alone.index")
    assert content(tmp_path / "many.index") == content(tmp_path / "alone.index")
    assert (report.added, report.errors, report.bytes) == (
        len(files),
        {},
        sum(file.stat().st_size for file in files),
    )
    assert [step.files for step in seen] == sorted(step.files for step in seen)
    assert (seen[-1].files, seen[-1].total, seen[-1].chunks) == (
        len(files),
        len(files),
        report.chunks,
    )


@pytest.mark.slow
def test_its_index_is_searched_by_the_class_that_made_it(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 3)
    ingest(tmp_path / "files", tmp_path / "index", make=makers.multiview, workers=1)
    index = structrag.Index.load(tmp_path / "index", embedder=makers.index().embedder)
    (hit,) = structrag.MultiViewRetriever(index, k=1).search("number 2")
    assert hit.chunk.doc_id.endswith("002.md")
    ingest(tmp_path / "files", tmp_path / "evidence")  # LSA, by default
    (hit,) = structrag.EvidenceRetriever.load(tmp_path / "evidence").search(
        "Title 2", k=1
    )
    assert hit.chunk.doc_id.endswith("002.md")


@pytest.mark.slow
def test_what_has_not_changed_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path / "files", 5)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    run()
    files[1].write_text("# Other\n\nNow it is another text.")
    files[2].touch()  # read again, and found to be as it was
    files[3].unlink()
    again = run()
    assert (again.added, again.replaced, again.unchanged, again.removed) == (0, 1, 3, 0)
    assert again.bytes == files[1].stat().st_size + files[2].stat().st_size
    assert "number 3" in str(content(tmp_path / "index")["chunks"])
    assert run(remove_missing=True).removed == 1
    assert content(tmp_path / "index")["ids"] == [str(files[i]) for i in (0, 1, 2, 4)]
    (tmp_path / "index.ingested.json").write_text("{")  # it decides nothing
    assert run().unchanged == 4


@pytest.mark.slow
def test_all_workers_get_some_of_few_files(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 4)
    (tmp_path / "at work").mkdir()
    make = partial(makers.gather, str(tmp_path / "at work"))
    report = ingest(tmp_path / "files", tmp_path / "index", make=make, workers=2)
    assert (report.added, report.errors) == (4, {})


@pytest.mark.slow
def test_groups_get_smaller_where_workers_share_the_last_files(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 70)

    def groups(workers: int) -> list[int]:
        done = [0]
        ingest(
            tmp_path / "files",
            tmp_path / f"{workers}.index",
            make=makers.index,
            workers=workers,
            progress=lambda step: done.append(step.files),
        )
        return [after - before for before, after in pairwise(done)]

    assert groups(1) == [32, 32, 6]
    shared = groups(2)
    assert shared[0] <= 70 // 4 + 1 and shared[-1] == 1
    assert sum(shared) == 70 and shared == sorted(shared, reverse=True)


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 3)
    files[1].write_bytes(BIN_MD)
    (tmp_path / "files" / "loop").symlink_to(tmp_path / "files")
    os.mkfifo(tmp_path / "files" / "pipe.md")
    (tmp_path / "files" / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "files" / "itself.md").symlink_to("itself.md")
    pipe, paths = str(tmp_path / "pipe.md"), [tmp_path / "files", "/dev/zero"]
    os.mkfifo(pipe)
    report = ingest([*paths, pipe], tmp_path / "index", make=makers.index, workers=1)
    assert report.added == 2
    assert list(report.errors) == [str(files[1]), "/dev/zero", pipe]
    assert "NUL" in report.errors[str(files[1])]
    assert (
        "'/dev/zero': it is a pipe, a device or a socket" in report.errors["/dev/zero"]
    )
    summary = json.loads((tmp_path / "index.ingested.json").read_text())
    assert summary["errors"] == report.errors
    files[1].write_text("# Mended\n\nNow it is a text.")
    mended = ingest(
        tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert (mended.added, mended.errors) == (1, {})


@pytest.mark.slow
def test_what_the_system_refuses_is_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "files", 2)
    write_files(tmp_path / "files" / "secret", 1)
    outside = tmp_path / "outside.md"
    outside.write_text("# Other\n\nIt is elsewhere.")
    (tmp_path / "files" / "out.md").symlink_to(outside)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert run().added == 3
    listed = os.scandir

    def scandir(place: Any) -> Any:
        if str(place).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(place))
        return listed(place)

    monkeypatch.setattr("os.scandir", scandir)
    seen: list[Progress] = []
    report = run(remove_missing=True, progress=seen.append)
    secret, link = (str(tmp_path / "files" / name) for name in ("secret", "out.md"))
    assert (report.unchanged, report.removed) == (2, 0)  # it may be there the next time
    assert sorted(report.errors) == [link, secret]
    assert (
        report.errors[secret]
        == f"The folder {secret!r} was skipped: Permission denied."
    )
    assert "is a link to a file outside the folder" in report.errors[link]
    assert (seen[-1].errors, seen[-1].files, seen[-1].total) == (2, 2, 2)
    assert (
        json.loads((tmp_path / "index.ingested.json").read_text())["errors"]
        == report.errors
    )


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no such file here")
def test_a_file_that_cannot_be_read_though_it_is_regular(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    memory = tmp_path / "files" / "memory.md"
    memory.symlink_to("/proc/self/mem")  # whose first byte nobody may read
    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.index,
        workers=1,
        follow_links=True,
    )
    assert (report.added, list(report.errors)) == (1, [str(memory)])
    assert report.errors[str(memory)].startswith(f"Cannot read {str(memory)!r}: ")


@pytest.mark.slow
def test_names_that_are_no_utf8_and_files_too_large(tmp_path: Path) -> None:
    (file,) = write_files(tmp_path / "files", 1)
    with open(tmp_path / "files" / "huge.md", "wb") as huge:
        huge.truncate(2 * 10**9)  # it takes no room
    try:
        latin = Path(os.fsdecode(bytes(tmp_path / "files") + b"/caf\xe9.md"))
        latin.write_text("# Coffee\n\nIt is hot.")
    except OSError:  # a system that refuses such names
        pytest.skip("file names must be UTF-8 here")
    os.utime(latin, ns=(LONG_AGO, LONG_AGO))
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    report = run()
    assert report.added == 2
    (sentence,) = report.errors.values()
    assert "2,000,000,000 bytes" in sentence and "Split the file" in sentence
    assert content(tmp_path / "index")["ids"] == [str(file), str(latin)]
    assert (run().unchanged, run().added) == (2, 0)


def test_a_file_that_goes_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.ingestion.ingesting.BATCH_FILES", 1)
    files = write_files(tmp_path / "files", 12)
    last = files[-1]

    def go(progress: Progress) -> None:
        last.unlink(missing_ok=True)

    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.index,
        workers=1,
        progress=go,
    )
    assert report.added == 11
    assert report.errors == {
        str(last): f"Cannot read {str(last)!r}: No such file or directory."
    }


@pytest.mark.slow
def test_a_place_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = write_files(tmp_path / "files", 1)
    with pytest.raises(
        SaveFailed, match=r"cannot be written: .*exists.*choose another store"
    ):
        ingest(file, file / "index", make=makers.index, workers=1)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("structrag.ingestion.ingesting.write_summary", full)
    with pytest.raises(
        SaveFailed, match=r"ingested\.json' cannot be written: No space left"
    ):
        ingest(file, tmp_path / "index", make=makers.index, workers=1)
    assert content(tmp_path / "index")["ids"] == [str(file)]
    monkeypatch.undo()
    report = ingest(file, tmp_path / "index", make=makers.index, workers=1)
    assert (report.added, report.unchanged) == (0, 1)


@pytest.mark.slow
def test_documents_stay_whose_files_cannot_be_looked_at(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    (there,) = write_files(tmp_path / "files" / "share", 1)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert run().added == 2
    there.parent.rename(tmp_path / "away")
    there.parent.symlink_to("share")  # a circle, as a share that does not answer
    assert run(remove_missing=True).removed == 0
    assert str(there) in content(tmp_path / "index")["ids"]
    there.parent.unlink()
    assert run(remove_missing=True).removed == 1


@pytest.mark.slow
def test_only_errors_of_this_run_are_reported(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 3)
    files[1].write_bytes(BIN_MD)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert list(run().errors) == [str(files[1])]
    assert list(run().errors) == [str(files[1])]
    files[1].unlink()
    assert run().errors == {}
    assert json.loads((tmp_path / "index.ingested.json").read_text())["errors"] == {}


@pytest.mark.slow
def test_files_are_read_again_for_another_reading_and_while_they_are_young(
    tmp_path: Path,
) -> None:
    files = write_files(tmp_path / "files", 3)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert run().added == 3
    assert run().bytes == 0
    as_text = run(format="text")
    assert (as_text.replaced, as_text.bytes) == (
        3,
        sum(file.stat().st_size for file in files),
    )
    size, state = files[0].stat().st_size, files[0].stat()
    os.utime(files[0])  # now, as by a change of equal length within the clock's step
    run(format="text")
    files[0].write_text(files[0].read_text().replace("number 0", "number 9"))
    assert files[0].stat().st_size == size != 0 and state.st_mtime_ns == LONG_AGO
    assert run(format="text").replaced == 1


def test_a_document_that_was_stored_stays_when_its_file_breaks(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 2)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    run()
    before = content(tmp_path / "index")
    files[0].write_bytes(BIN_MD)
    assert list(run().errors) == [str(files[0])]
    assert content(tmp_path / "index") == before


@pytest.mark.slow
def test_a_file_that_kills_or_raises_does_not_stop_the_others(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 8)
    for number, word in ((1, "KILL"), (6, "RAISE")):
        files[number].write_text(f"# Bad\n\n{word} {number}")
    report = ingest(
        tmp_path / "files", tmp_path / "index", make=makers.moody, workers=2
    )
    assert sorted(report.errors) == [str(files[number]) for number in (1, 6)]
    assert (
        "2 processes died while they prepared it, the last one by signal 9"
        in report.errors[str(files[1])]
    )
    assert report.errors[str(files[6])] == "ZeroDivisionError: a fault of ours"
    assert content(tmp_path / "index")["ids"] == [
        str(files[i]) for i in (0, 2, 3, 4, 5, 7)
    ]


@pytest.mark.slow
def test_a_file_that_takes_too_long_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.ingestion.ingesting.BATCH_FILES", 1)
    monkeypatch.setattr("structrag.ingestion.ingesting.DEATHS", 1)
    files = write_files(tmp_path / "files", 3)
    files[1].write_text("# Bad\n\nSLEEP")
    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.moody,
        workers=1,
        max_seconds=8,
    )
    assert list(report.errors) == [str(files[1])]
    assert "more than 8 seconds" in report.errors[str(files[1])]
    assert content(tmp_path / "index")["ids"] == [str(files[i]) for i in (0, 2)]


def test_a_file_that_a_model_refuses_is_left_out_and_tried_again(
    tmp_path: Path,
) -> None:
    files = write_files(tmp_path / "files", 40)
    for file in (files[3], files[-1]):
        file.write_text("# Bad\n\nThis is REFUSED.")
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", make=makers.broken, workers=2
    )
    report = run()
    assert (report.added, sorted(report.errors)) == (
        38,
        [str(files[3]), str(files[-1])],
    )
    assert (
        "ValueError: not this text. The model accepts other texts."
        in report.errors[str(files[3])]
    )
    files[3].write_text("# Good\n\nIt is taken.")
    report = run()  # of the two files one is refused again
    assert (report.added, report.unchanged, list(report.errors)) == (
        1,
        38,
        [str(files[-1])],
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (makers.number, "make must return an EvidenceRetriever, an Index, .* got int"),
        (
            makers.raising,
            "make must return a retriever; it raised OSError: no weights here",
        ),
        (lambda: None, "make must be something that pickle can send"),
    ],
)
def test_a_make_that_gives_no_retriever(
    tmp_path: Path, make: Any, sentence: str
) -> None:
    write_files(tmp_path / "files", 1)
    with pytest.raises(InvalidParameter, match=sentence):
        ingest(tmp_path / "files", tmp_path / "index", make=make, workers=1)
    assert not (tmp_path / "index").exists()


def test_processes_that_never_get_ready(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    with pytest.raises(
        ModelFailed, match="3 worker processes in a row ended by signal 9"
    ):
        ingest(tmp_path / "files", tmp_path / "index", make=makers.dying, workers=1)


def test_a_process_that_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "files", 1)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("subprocess.Popen", full)
    with pytest.raises(
        ModelFailed, match=r"started: Cannot allocate memory\. Use fewer workers"
    ):
        ingest(tmp_path / "files", tmp_path / "index", make=makers.index, workers=1)


def test_other_arguments(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    run = partial(ingest, tmp_path / "files", tmp_path / "index")
    with pytest.raises(InvalidParameter, match="embedding and make cannot"):
        run("model", make=makers.index)
    with pytest.raises(InvalidParameter, match="progress must be a function"):
        run(make=makers.index, progress="bar")
    with pytest.raises(InvalidParameter, match="workers must be"):
        run(make=makers.index, workers=0)
    for name in ("runner", "format", "reader"):
        with pytest.raises(
            InvalidParameter, match=f"{name} must be one of .*; got 'word'"
        ):
            run(make=makers.index, **{name: "word"})
    assert not (tmp_path / "index").exists()
    run(make=makers.index, workers=1)
    with pytest.raises(InvalidParameter, match="embedder must match the index"):
        run(make=makers.lsa_index, workers=1)
    with pytest.raises(InvalidParameter, match="holds something else"):
        ingest(tmp_path / "files", tmp_path / "files", make=makers.index, workers=1)


def children(pid: int) -> list[int]:
    listing = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listing.split()]


linux = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="no /proc on this system"
)


@pytest.mark.slow
@linux
def test_two_at_once_into_one_index(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 60)
    first = start(tmp_path, "slow", workers=1)
    wait_for((tmp_path / "index").exists)
    with pytest.raises(InvalidParameter, match="another ingestion is writing to"):
        ingest(tmp_path / "files", tmp_path / "index", make=makers.slow, workers=1)
    assert first.wait(60) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "files",
        "index",
        "index.ingested.json",
    ]
    assert (
        ingest(tmp_path / "files", tmp_path / "index", make=makers.slow).unchanged == 60
    )


@pytest.mark.slow
@linux
def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 200)
    driver = start(tmp_path, "slow", workers=2)
    wait_for(lambda: len(children(driver.pid)) == 2)
    workers = children(driver.pid)
    driver.kill()
    driver.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_in_an_engine_is_filled_too(tmp_path: Path, engine: str) -> None:
    with address_in(engine, tmp_path) as store:
        files = write_files(tmp_path / "files", 5)
        report = ingest(tmp_path / "files", store, make=makers.index, workers=1)
        assert (report.added, report.errors) == (5, {})
        alone = makers.index()
        alone.add([structrag.read_file(file) for file in files])
        opened = structrag.Index.load(store, embedder=alone.embedder)
        assert opened.chunks() == alone.chunks() and opened.config() == alone.config()
        files[4].unlink()
        report = ingest(
            tmp_path / "files", store, make=makers.index, workers=1, remove_missing=True
        )
        assert (report.unchanged, report.removed) == (4, 1)
        assert opened.document_ids == [str(file) for file in files[:4]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "embedding must be a model for a store in an engine"),
        (
            {"make": makers.d3},
            "make must return an EvidenceRetriever, an Index or a Multi",
        ),
    ],
)
def test_what_an_engine_cannot_keep_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    (file,) = write_files(tmp_path / "files", 1)
    with pytest.raises(InvalidParameter, match=message):
        ingest(file, f"lancedb:{tmp_path / 'corpus'}", workers=1, **options)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize(
    ("files", "seconds", "left", "line"),
    [
        (50, 30, 30.0, "50 of 100 files, 900 chunks, 2.6 MB, 1 error, 0:30 left"),
        (40, 90, 135.0, "40 of 100 files, 900 chunks, 2.6 MB, 1 error, 2:15 left"),
        (0, 30, float("inf"), "0 of 100 files, 900 chunks, 2.6 MB, 1 error"),
        (100, 30, 0.0, "100 of 100 files, 900 chunks, 2.6 MB, 1 error"),
    ],
)
def test_the_time_that_is_left_follows_from_the_files_that_are(
    files: int, seconds: float, left: float, line: str
) -> None:
    progress = Progress(files, 100, 900, 2_600_000, 1, seconds)
    assert (progress.seconds_left, str(progress)) == (left, line)


@pytest.mark.slow
def test_what_is_stored_is_saved_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.ingestion.ingesting.BATCH_FILES", 1)
    write_files(tmp_path / "files", 4)

    counts: list[int] = []  # documents on the disk when each file is done
    index = tmp_path / "index"
    ingest(
        tmp_path / "files",
        index,
        make=makers.index,
        workers=1,
        save_every=0,
        progress=lambda _: counts.append(len(Store.load(index).document_ids)),
    )
    assert counts == [0, 1, 2, 3]


@pytest.mark.slow
def test_documents_that_the_store_refuses_are_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path / "files", 3)
    really = Store.put_all

    def refuse(store: Store, entries: Sequence[Entry]) -> None:
        names = [Path(entry.document.id).name for entry in entries]
        if type(store) is Store and "001.md" in names:  # the driver's, no worker's
            raise InvalidParameter("metadata must be JSON.")
        really(store, entries)

    monkeypatch.setattr(Store, "put_all", refuse)
    report = ingest(
        tmp_path / "files", tmp_path / "index", make=makers.index, workers=1
    )
    assert (report.added, report.errors) == (
        2,
        {str(files[1]): "metadata must be JSON."},
    )
    assert content(tmp_path / "index")["ids"] == [str(files[0]), str(files[2])]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_of_an_ingestion_that_ends_at_this_moment_is_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_replaced: bool,
) -> None:
    lock = tmp_path / ".index.ingesting"

    def take(_: int) -> None:
        """The other one removes the file; a third may have made its own."""
        lock.rename(tmp_path / "removed")
        if is_replaced:
            lock.touch()

    monkeypatch.setattr("structrag.ingestion.ingesting.take_lock", take)
    run = partial(ingest, [], tmp_path / "index", make=makers.index)
    with pytest.raises(InvalidParameter, match="another ingestion is writing to"):
        run()
    monkeypatch.undo()
