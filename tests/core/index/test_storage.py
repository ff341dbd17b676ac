"""Files of a store."""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from store_making import VIEWS, answers, entry, small_store

from structrag.errors import IndexDamaged, InvalidParameter, SaveFailed
from structrag.index.segments import open_segment
from structrag.index.storage import (
    ENGINES,
    VERSION,
    TemporaryFolder,
    _checksum,
    read_manifest,
)
from structrag.index.store import Store
from structrag.text.terms import RULE, Tokenizer

SEARCH = """
import json, sys
from structrag.index.store import Store
store = Store.load(sys.argv[1])
lexical = store.reader().search_lexical("raw", "apple plum", 9)
print(json.dumps([lexical, store.reader().search_dense("raw", [1, 2, 3], 9)]))
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


@pytest.mark.slow
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
        store.reader().search_lexical("raw", "apple plum", 9),
        store.reader().search_dense("raw", [1, 2, 3], 9),
    ]
    assert json.loads(found) == [[list(hit) for hit in hits] for hits in expected]
    # Nothing was rebuilt, no stop words were looked up.
    assert modules == "[]"
    loaded = Store.load(tmp_path / "index", verify=True)
    assert answers(loaded) == answers(store)
    assert loaded.config == {"model": "m"}


def saved(tmp_path: Path) -> Path:
    small_store().save(tmp_path / "index")
    return tmp_path / "index"


def segment_file(path: Path) -> Path:
    (file,) = (path / "segments").iterdir()
    return file


@pytest.mark.parametrize("seed", range(20))
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, seed: int) -> None:
    path = saved(tmp_path)
    file = segment_file(path)
    content = bytearray(file.read_bytes())
    content[len(content) * seed // 20] ^= 1 << seed % 8
    file.write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"seg.* is damaged"):
        answers(Store.load(path))
    with pytest.raises(IndexDamaged, match=r"seg.* is damaged"):
        Store.load(path, verify=True)


@pytest.mark.parametrize(
    "cut", [lambda content: content[:-1], lambda content: b"", lambda content: None]
)
def test_a_cut_or_missing_file_is_noticed(tmp_path: Path, cut: Any) -> None:
    path = saved(tmp_path)
    file = segment_file(path)
    content = cut(file.read_bytes())
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(IndexDamaged):
        Store.load(path)


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
        (VERSION + 1, "Update structrag, or rebuild"),
        (VERSION - 1, "Rebuild"),
    ):
        (path / "manifest.json").write_text(
            json.dumps({**manifest, "version": version})
        )
        with pytest.raises(
            IndexDamaged,
            match=rf"format version {version}; this release reads {VERSION}\. {remedy}",
        ):
            Store.load(path)
    for rule, remedy in ((None, "Rebuild"), (RULE + 1, "Update structrag, or rebuild")):
        altered = json.loads(json.dumps(manifest))
        altered["store"]["tokenizer"] = {} if rule is None else {"rule": rule}
        altered["checksum"] = _checksum(altered)
        (path / "manifest.json").write_text(json.dumps(altered))
        with pytest.raises(IndexDamaged, match=rf"tokenised by rule .*\. {remedy}"):
            Store.load(path)
    (path / "manifest.json").write_text(json.dumps({"format": "faiss"}))
    with pytest.raises(IndexDamaged, match="not a structrag index"):
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
    assert [row for row, _ in store.reader().search_lexical("raw", "apple", 9)] == [0]
    del store
    for folder in (mine, other):
        folder.close()
    gc.collect()
    assert list(tmp_path.iterdir()) == [young]


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


@pytest.mark.parametrize("content", ["[", "[]", "3", '{"format": 3}'])
def test_a_manifest_that_is_not_ours_is_not_replaced(
    content: str, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InvalidParameter, match="nothing in it was changed"):
        small_store().save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == content


def test_a_loader_notices_that_equal_content_was_saved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    once = [True]
    opened = open_segment
    another = Store.load(path)

    def gone_for_a_moment(*arguments: object, **options: object) -> object:
        if once.pop() if once else False:
            # Another saver had removed the file, this one brings it back.
            another.save(path)
            raise IndexDamaged("it is missing")
        return opened(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("structrag.index.storage.open_segment", gone_for_a_moment)
    assert answers(Store.load(path)) == answers(small_store())
