"""Files of a store."""

from __future__ import annotations

import errno
import gc
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from store_making import VIEWS, answers, chunk, entry, small_store

from structrag.errors import IndexDamaged, InvalidParameter, SaveFailed, TimedOut
from structrag.index.entries import Entry
from structrag.index.segments import open_segment
from structrag.index.storage import (
    ENGINES,
    FORMAT,
    MANIFEST,
    VERSION,
    Saved,
    TemporaryFolder,
    _checksum,
    _write,
    one_saver,
    read_manifest,
)
from structrag.index.store import Store
from structrag.records import Document
from structrag.text.terms import Tokenizer

SEARCH = """
import json, sys
from structrag.index.store import Store
store = Store.load(sys.argv[1])
lexical = store.search_lexical("raw", "apple plum", 9)
print(json.dumps([lexical, store.search_dense("raw", [1, 2, 3], 9)]))
print(sorted(name for name in ("scipy", "sklearn") if name in sys.modules))
"""


def test_addresses_of_engines_are_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in (f"{engine}:corpus" for engine in ENGINES):
        for use in (small_store().save, Store.load):
            with pytest.raises(
                InvalidParameter, match=f"must be a folder here; got '{address}'"
            ):
                use(address)  # type: ignore[operator]
    assert not list(tmp_path.iterdir())
    small_store().save("lancedbs")
    small_store().save(Path("lancedb:corpus"))  # a Path is a folder whatever its name
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lancedb:corpus",
        "lancedbs",
    ]


@pytest.mark.parametrize(
    "tokenizer",
    [
        None,
        Tokenizer(stopwords=()),
        Tokenizer("german"),
        Tokenizer(stopwords=("plum",)),
    ],
)
@examples
def test_results_are_equal_after_loading_in_a_new_process(
    tmp_path: Path, tokenizer: Tokenizer | None, options: dict[str, object]
) -> None:
    store = small_store(tokenizer=tokenizer, config={"model": "m"}, **options)
    store.save(tmp_path / "index")
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(tmp_path / "index")],
        capture_output=True,
        text=True,
        check=True,
    )
    found, modules = done.stdout.splitlines()
    expected = [
        store.search_lexical("raw", "apple plum", 9),
        store.search_dense("raw", [1, 2, 3], 9),
    ]
    assert json.loads(found) == [[list(hit) for hit in hits] for hits in expected]
    assert modules == "[]"  # nothing was rebuilt, no stop words were looked up
    loaded = Store.load(tmp_path / "index", verify=True)
    assert answers(loaded) == answers(store)
    assert loaded.config == {"model": "m"}


def test_a_loaded_store_is_mapped_and_can_be_changed_and_saved_over_itself(
    tmp_path: Path,
) -> None:
    path = tmp_path / "index"
    small_store().save(path)
    loaded = Store.load(path)
    reader = loaded.reader()
    table, postings = (
        reader.dense("raw").parts[0].table,
        reader.lexical("raw").parts[0].postings,
    )
    for column in (
        table.matrix,
        table.owner,
        postings.rows,
        postings.counts,
        postings.lengths,
    ):
        assert not column.values.flags.writeable and not column.values.flags.owndata
    before = answers(loaded)
    loaded.save(path)
    assert answers(loaded) == answers(Store.load(path)) == before
    loaded.put(entry("a", ["pear pear"]))
    loaded.delete("c")
    loaded.save(path, config={"x": 1})
    again = Store.load(path, verify=True)
    assert answers(again) == answers(loaded)
    assert again.document_ids == ["a", "b"]
    assert sorted(entry.name for entry in path.iterdir()) == [
        "manifest.json",
        "segments",
    ]
    again.compact()
    again.save(path)
    (file,) = (path / "segments").iterdir()
    assert b"banana" not in file.read_bytes()


def test_any_character_survives(tmp_path: Path) -> None:
    text = "lone \ud800 \udc00 pair \ud83d\ude00 \x00 \u2028 \r\n \U0001f600 end"
    odd = Entry(
        Document("", id="do\ud800c:/\n", title=text, meta={text: text}),
        text,
        (chunk("do\ud800c:/\n", 0, text, extras={"note": (text, 1, 2.5, None, True)}),),
        {"raw": (text + "!",)},
        {},
    )
    store = Store(("raw",))
    store.put(odd)
    store.save(tmp_path / "index")
    for held in (store, Store.load(tmp_path / "index")):
        assert held.chunk(0) == replace(
            odd.chunks[0], extras={"note": [text, 1, 2.5, None, True]}
        )
        assert held.view_text(0, "raw") == text + "!"
        assert held.document(odd.document.id) == odd.document
        assert held.fingerprint(odd.document.id) == text


def saved(tmp_path: Path) -> Path:
    small_store().save(tmp_path / "index")
    return tmp_path / "index"


def segment_file(path: Path) -> Path:
    (file,) = (path / "segments").iterdir()
    return file


@pytest.mark.parametrize(
    "harm", ["truncate", "extend", "flip the end", "remove", "folder", "empty"]
)
def test_a_damaged_file_is_refused(tmp_path: Path, harm: str) -> None:
    path = saved(tmp_path)
    file = segment_file(path)
    content = bytearray(file.read_bytes())
    if harm == "truncate":
        file.write_bytes(content[:-1])
    elif harm == "empty":
        file.write_bytes(b"")
    elif harm == "extend":
        file.write_bytes(content + b" ")
    elif harm == "flip the end":
        content[-40] ^= 1
        file.write_bytes(content)
    else:
        file.unlink()
        if harm == "folder":
            file.mkdir()
    with pytest.raises(IndexDamaged, match=f"{file.name}.*build it again"):
        Store.load(path)


@pytest.mark.parametrize("seed", range(60))
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, seed: int) -> None:
    path = saved(tmp_path)
    file = segment_file(path)
    content = bytearray(file.read_bytes())
    content[len(content) * seed // 60] ^= 1 << seed % 8
    file.write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"seg.* is damaged"):
        answers(Store.load(path))
    with pytest.raises(IndexDamaged, match=r"seg.* is damaged"):
        Store.load(path, verify=True)


def test_a_sealed_manifest_that_makes_no_sense(tmp_path: Path) -> None:
    path = saved(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    for key, value in [
        ("store", {}),
        ("segments", [{}]),
        ("segments", 3),
        ("segments", [{**manifest["segments"][0], "dead": [99]}]),
        ("segments", [{**manifest["segments"][0], "size": 1}]),
        ("version", "3"),
        ("version", None),
        ("store", {**manifest["store"], "levels": {"chunks": ["raw"]}}),
        ("store", {**manifest["store"], "dtype": 5, "bm25": {"method": "x"}}),
    ]:
        altered = {**manifest, key: value}
        altered["checksum"] = _checksum(altered)
        (path / "manifest.json").write_text(json.dumps(altered))
        with pytest.raises(IndexDamaged, match=r"manifest\.json"):
            Store.load(path)
    (path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(IndexDamaged, match=r"manifest\.json is not readable"):
        Store.load(path)


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    path = tmp_path / "index"
    store = small_store()
    store.save(path)
    first = segment_file(path)
    before = first.stat().st_mtime_ns
    store.put(entry("d", ["fig fig"]))
    store.delete("a")
    store.save(path)
    assert len(list((path / "segments").iterdir())) == 2
    assert first.stat().st_mtime_ns == before
    assert answers(Store.load(path, verify=True)) == answers(store)
    elsewhere = tmp_path / "elsewhere"
    Store.load(path).save(elsewhere)
    assert answers(Store.load(elsewhere, verify=True)) == answers(store)
    shutil.rmtree(path)  # what is mapped can be saved although its files are gone
    loaded = Store.load(elsewhere)
    shutil.rmtree(elsewhere)
    loaded.save(path)
    assert answers(Store.load(path, verify=True)) == answers(store)


def test_arrays_of_all_documents_are_saved_with_them(tmp_path: Path) -> None:
    path = tmp_path / "index"
    store = small_store()
    store.shared["rotation"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    store.save(path)
    store.save(path)
    assert len(list((path / "segments").iterdir())) == 2
    loaded = Store.load(path)
    assert loaded.shared["rotation"].tolist() == [[0, 1, 2], [3, 4, 5]]
    loaded.save(path)
    assert Store.load(path, verify=True).shared.keys() == {"rotation"}
    loaded.shared.clear()
    loaded.save(path)
    assert len(list((path / "segments").iterdir())) == 1 and not Store.load(path).shared


def test_a_reader_goes_on_while_the_index_is_replaced(tmp_path: Path) -> None:
    path = saved(tmp_path)
    reader = Store.load(path)
    other = Store(VIEWS)
    other.put(entry("z", ["apple"]))
    other.save(path)
    assert answers(reader) == answers(small_store())
    assert Store.load(path).document_ids == ["z"]


def test_a_refused_write_changes_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    store = Store.load(path)
    store.put(entry("d", ["fig"]))
    before = sorted(tmp_path.rglob("*"))

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for stage in ("_write_manifest", "_put_file"):
        with monkeypatch.context() as patch:
            patch.setattr(f"structrag.index.storage.{stage}", full)
            with pytest.raises(
                SaveFailed, match=r"No space left on device.*save again"
            ):
                store.save(path)
    assert sorted(tmp_path.rglob("*")) == before
    assert answers(Store.load(path, verify=True)) == answers(small_store())
    store.save(path)
    assert answers(Store.load(path)) == answers(store)


@pytest.mark.parametrize("at", range(20, 3000, 149))
def test_a_changed_manifest_is_refused_or_means_the_same(
    tmp_path: Path, at: int
) -> None:
    path = saved(tmp_path)
    file = path / "manifest.json"
    content = bytearray(file.read_bytes())
    at = min(at, len(content) - 2)
    content[at] ^= 2
    file.write_bytes(content)
    original = small_store()
    try:
        assert answers(Store.load(path)) == answers(original)
    except IndexDamaged as error:
        assert str(path) in str(error)


def test_foreign_missing_and_newer_indexes(tmp_path: Path) -> None:
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(
            IndexDamaged, match=r"There is no saved index at .*Check the path"
        ):
            Store.load(place)
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexDamaged, match="no saved index"):
        Store.load(tmp_path / "file")
    path = saved(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    for version, remedy in (
        (VERSION + 1, "Update structrag, or build"),
        (VERSION - 1, "Build"),
    ):
        (path / "manifest.json").write_text(
            json.dumps({**manifest, "version": version})
        )
        with pytest.raises(
            IndexDamaged,
            match=rf"format version {version}, this release reads {VERSION}\. {remedy}",
        ):
            Store.load(path)
    (path / "manifest.json").write_text(json.dumps({"format": "faiss"}))
    with pytest.raises(IndexDamaged, match="not an index of structrag"):
        read_manifest(path)
    (path / "manifest.json").write_text("{")
    with pytest.raises(IndexDamaged, match=r"manifest\.json is not readable"):
        Store.load(path)


def test_saving_refuses_a_place_that_holds_something_else(tmp_path: Path) -> None:
    store = small_store()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidParameter, match="nothing in it was changed"):
        store.save(tmp_path)
    with pytest.raises(InvalidParameter, match="is a file"):
        store.save(tmp_path / "notes.txt")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "manifest.json").write_text('{"format": "other"}')
    with pytest.raises(InvalidParameter, match="holds something else"):
        store.save(foreign)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "foreign",
        "manifest.json",
        "notes.txt",
    ]
    (tmp_path / "empty").mkdir()
    store.save(tmp_path / "empty")
    store.save(tmp_path / "new" / "deep")
    assert (
        answers(Store.load(tmp_path / "empty"))
        == answers(Store.load(tmp_path / "new" / "deep"))
        == answers(store)
    )


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(
    "stage",
    [
        "structrag.index.blocks._write_array",
        "structrag.index.storage._write_manifest",
        "os.replace",
    ],
)
def test_an_interrupted_save_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool, stage: str
) -> None:
    path = tmp_path / "index"
    old = small_store()
    if exists:
        old.save(path)
    before = sorted(tmp_path.rglob("*"))

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stage, crash)
    new = Store(VIEWS)
    new.put(entry("z", ["apple"]))
    with pytest.raises(KeyboardInterrupt):
        new.save(path)
    assert sorted(tmp_path.rglob("*")) == before
    if exists:
        assert answers(Store.load(path, verify=True)) == answers(old)


def test_what_killed_saves_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (path / "segments" / "part-1").write_text("half a file")
    (path / "segments" / "0123.seg").write_text("not named by the manifest")
    abandoned = tmp_path / f".index-{'0' * 32}"
    abandoned.mkdir()
    os.utime(abandoned, (0, 0))
    (tmp_path / f".index-{'1' * 32}").mkdir()  # a saver that has just begun
    (tmp_path / ".index-mine").mkdir()
    assert answers(Store.load(path, verify=True)) == answers(small_store())
    Store.load(path).save(path)
    assert len(list((path / "segments").iterdir())) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        f".index-{'1' * 32}",
        ".index-mine",
        "index",
    ]
    assert answers(Store.load(path, verify=True)) == answers(small_store())


@pytest.mark.slow
def test_temporary_folders_go_with_their_store_and_those_of_killed_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, young = tmp_path / "structrag-index-dead", tmp_path / "structrag-index-young"
    for folder in (dead, young):
        folder.mkdir()
    os.utime(dead, (0, 0))
    mine, other = TemporaryFolder(), None
    os.utime(mine.path, (0, 0))
    other = TemporaryFolder()
    assert (
        mine.path.exists()
        and other.path.exists()
        and young.exists()
        and not dead.exists()
    )
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 0)
    store = Store(VIEWS)
    store.put(entry("a", ["apple"]))
    assert len(list(tmp_path.glob("*/*.seg"))) == 1
    assert [row for row, _ in store.search_lexical("raw", "apple", 9)] == [0]
    del store
    for folder in (mine, other):
        folder.close()
    gc.collect()
    assert list(tmp_path.iterdir()) == [young]


def test_two_savers_and_several_loaders_at_one_path(tmp_path: Path) -> None:
    path = tmp_path / "index"
    stores = []
    for name in ("one", "two", "three"):
        stores.append(Store(VIEWS))
        stores[-1].put(entry(name, ["apple"]))
    failures: list[BaseException] = []

    def work(step: Callable[[], object]) -> None:
        try:
            for _ in range(15):
                step()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    def load() -> None:
        assert Store.load(path, verify=True).document_ids[0] in ("one", "two", "three")

    stores[0].save(path)
    steps = [lambda: stores[1].save(path), lambda: stores[2].save(path), load, load]
    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    load()
    assert len(list((path / "segments").iterdir())) == 1


def test_a_saver_that_hangs_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small_store()
    store.save(tmp_path / "index")
    store.put(entry("late", ["plum"]))
    monkeypatch.setattr("structrag.index.storage.PATIENCE", 0.2)
    sentence = (
        r"^Another process has been writing to '.*index' for 0\.2 seconds, .*end it if"
    )
    with one_saver(tmp_path / "index"), pytest.raises(SaveFailed, match=sentence):
        store.save(tmp_path / "index")
    assert "late" not in Store.load(tmp_path / "index")
    store.save(tmp_path / "index")  # who gave up holds nothing
    assert "late" in Store.load(tmp_path / "index")


def test_a_loader_notices_that_equal_content_was_saved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    once = [True]
    opened = open_segment

    def gone_for_a_moment(*arguments: object, **options: object) -> object:
        if once.pop() if once else False:
            # Another saver had removed the file, this one brings it back.
            small_store().save(path)
            raise IndexDamaged("it is missing")
        return opened(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("structrag.index.storage.open_segment", gone_for_a_moment)
    assert answers(Store.load(path)) == answers(small_store())


def test_first_savers_at_one_path(tmp_path: Path) -> None:
    stores = [Store(VIEWS) for _ in range(4)]
    for number, store in enumerate(stores):
        store.put(entry(f"d{number}", ["apple"]))
    for attempt in range(10):
        path = tmp_path / f"index-{attempt}"
        threads = [
            threading.Thread(target=store.save, args=(path,)) for store in stores
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(Store.load(path, verify=True).document_ids) == 1
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_a_manifest_says_what_it_is() -> None:
    """Files that were made before must go on being read."""
    assert (FORMAT, VERSION, MANIFEST) == ("structrag-index", 3, "manifest.json")


def test_a_folder_is_abandoned_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, young = (tmp_path / f".index-{digit * 32}" for digit in "ab")
    for folder, changed in ((old, 1_000_000), (young, 1_000_001)):
        folder.mkdir()
        (folder / "part").write_text("half a file")
        os.utime(folder, (changed, changed))
    with monkeypatch.context() as patch:
        patch.setattr("structrag.index.storage.time.time", lambda: 1_000_060.0)
        small_store().save(tmp_path / "index")
    assert sorted(path.name for path in tmp_path.iterdir()) == [young.name, "index"]


def test_a_loader_that_always_comes_too_late_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    saves, tried = itertools.count(), []

    def read_another(place: Path) -> dict[str, Any]:
        """The manifest as if somebody had saved since the last look."""
        return {**read_manifest(place), "save": next(saves)}

    def gone(*arguments: object, **options: object) -> object:
        tried.append(arguments)
        raise IndexDamaged("it is missing")

    monkeypatch.setattr("structrag.index.storage.read_manifest", read_another)
    monkeypatch.setattr("structrag.index.storage.open_segment", gone)
    with pytest.raises(IndexDamaged, match="it is missing"):
        Store.load(path)
    assert len(tried) == 20


def test_another_writer_is_waited_for_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)

    def waited(seconds: float, *work: object) -> None:
        raise TimedOut(f"{seconds} seconds")

    monkeypatch.setattr("structrag.index.storage.within", waited)
    with one_saver(path), pytest.raises(SaveFailed, match="for 600 seconds"):
        small_store().save(path)


def test_a_file_of_another_length_is_written_again(tmp_path: Path) -> None:
    path = saved(tmp_path)
    store = Store.load(path)
    store.save(tmp_path / "copy")
    file = segment_file(tmp_path / "copy")
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[:-1])
    store.save(tmp_path / "copy")
    assert file.read_bytes() == content
    file.unlink()
    file.write_bytes(content)
    kept = file.stat().st_ino
    store.save(tmp_path / "copy")
    assert file.stat().st_ino == kept  # it is left as it is


def test_segments_of_a_saved_index_keep_what_is_deleted_in_them(tmp_path: Path) -> None:
    path = tmp_path / "index"
    store = small_store()
    store.save(path)
    store.put_all([entry(name, [f"plum {name}"]) for name in "defg"])
    store.save(path)
    store.delete("b")
    store.delete("g")
    store.save(path)
    segments = read_manifest(path)["segments"]
    assert [segment["dead"] for segment in segments] == [[1], [3]]
    assert answers(Store.load(path, verify=True)) == answers(store)
    assert Store.load(path).document_ids == list("acdef")


def test_who_comes_second_to_a_new_place_replaces_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index"
    first, second = small_store(), Store(VIEWS)
    second.put(entry("z", ["apple"]))
    waiting = [first]

    def write(place: Path, saved: Saved) -> str | None:
        name = _write(place, saved)
        if waiting:  # another is quicker
            waiting.pop().save(path)
        return name

    monkeypatch.setattr("structrag.index.storage._write", write)
    second.save(path)
    assert Store.load(path, verify=True).document_ids == ["z"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("content", ["[", "[]", "3", '{"format": 3}'])
def test_a_manifest_that_is_not_ours_is_not_replaced(
    content: str, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InvalidParameter, match="nothing in it was changed"):
        small_store().save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == content


def test_folders_above_a_new_index_are_made(tmp_path: Path) -> None:
    small_store().save(tmp_path / "new" / "and" / "deep")
    assert len(Store.load(tmp_path / "new" / "and" / "deep")) == 6
