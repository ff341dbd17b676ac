"""The store: changes equal a fresh one, what is saved comes back, what is damaged is refused."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import IndexDamaged, InvalidAnswer, InvalidParameter
from structrag.index.entries import Entry, Vectors
from structrag.index.storage import VERSION, manifest_config
from structrag.index.store import Store
from structrag.records import Chunk, Document
from structrag.text.terms import Tokenizer

VIEWS = ("raw", "keywords")
WORDS = ["apple", "banana", "cherry", "plum", "pear", "fig"]


def chunk(doc_id: str, start: int, text: str, **fields: object) -> Chunk:
    end = start + len(text)
    return Chunk(f"{doc_id}:{start}-{end}", doc_id, f"{doc_id}#0", start, end, text, **fields)  # type: ignore[arg-type]


def vector_of(text: str, dimension: int = 3) -> list[float]:
    return [
        1.0 + sum((i + 1) * (ord(char) % (3 + j)) for i, char in enumerate(text))
        for j in range(dimension)
    ]


def entry(
    doc_id: str, texts: list[str], meta: dict[str, object] | None = None, *, windows: bool = False
) -> Entry:
    """One chunk per text; keywords for every second chunk; one vector per chunk, or two with
    `windows`."""
    starts = np.cumsum([0, *map(len, texts)])[:-1].tolist()
    chunks = tuple(
        chunk(doc_id, start, text, path=("Title",))
        for start, text in zip(starts, texts, strict=True)
    )
    owner = [i for i in range(len(texts)) for _ in range(2 if windows else 1)]
    matrix = [
        vector_of(texts[i][::-1] if at % 2 and windows else texts[i]) for at, i in enumerate(owner)
    ]
    keywords = tuple(
        text.split()[0] if i % 2 == 0 and text.split() else None for i, text in enumerate(texts)
    )
    vectors = {"raw": Vectors(matrix, owner)} if texts else {}
    return Entry(
        Document("", id=doc_id, title=doc_id.upper(), meta=meta or {}),
        f"print of {doc_id}",
        chunks,
        {"raw": tuple(texts), "keywords": keywords},
        vectors,
        degraded=len(texts),
    )


def small_store(**options: object) -> Store:
    store = Store(VIEWS, **options)  # type: ignore[arg-type]
    store.put(
        entry("a", ["apple banana", "cherry apple apple"], {"year": 2020, "tags": ["x", "y"]})
    )
    store.put(entry("b", ["plum", "apple plum", "fig"], {"year": 2021}, windows=True))
    store.put(entry("c", ["pear fig"], {"year": 2021, "lang": "en"}))
    return store


def answers(store: Store) -> list[object]:
    """Everything a user can see of a store."""
    rows = range(len(store))
    searches: list[object] = []
    for view in store.views:
        for word in [*WORDS, "apple plum fig", "nothing"]:
            searches.append(store.search_lexical(view, word, 50))
            searches.append(store.search_lexical(view, word, 1))
    for word in WORDS:
        searches.append(store.search_dense("raw", vector_of(word), 50))
        searches.append(store.search_dense("raw", vector_of(word), 2))
    chunks = [
        (store.chunk(row), [store.view_text(row, view) for view in store.views]) for row in rows
    ]
    facts = [
        (store.document(i), store.fingerprint(i), store.degraded(i)) for i in store.document_ids
    ]
    places = [store.select({"doc_id": i}) for i in store.document_ids]
    return [searches, chunks, facts, places, [store.row_of(store.chunk(row).id) for row in rows]]


def test_rows_follow_documents_and_chunk_starts() -> None:
    store = small_store()
    assert store.document_ids == ["a", "b", "c"]
    assert len(store) == 6
    assert [chunk.id for chunk in store.chunks()] == [
        "a:0-12",
        "a:12-30",
        "b:0-4",
        "b:4-14",
        "b:14-17",
        "c:0-8",
    ]
    assert [store.view_text(row, "keywords") for row in range(3)] == ["apple", None, "plum"]
    assert [row for row, _ in store.search_lexical("raw", "apple", 9)] == [1, 0, 3]
    assert [row for row, _ in store.search_lexical("keywords", "apple", 9)] == [0]
    assert store.search_dense("keywords", [1.0], 9) == []
    assert (store.fingerprint("b"), store.degraded("b"), "b" in store) == ("print of b", 3, True)
    assert (store.fingerprint("z"), store.degraded("z"), "z" in store) == (None, 0, False)
    assert store.document("a") == Document(
        "", id="a", title="A", meta={"year": 2020, "tags": ["x", "y"]}
    )


def test_chunks_come_in_any_order_with_their_vectors_and_texts() -> None:
    tidy = entry("a", ["apple", "banana plum", "cherry"], windows=True)
    order = [2, 0, 1]
    matrix, owner = np.array(tidy.vectors["raw"].matrix), np.array(tidy.vectors["raw"].owner)
    mixed = replace(
        tidy,
        chunks=tuple(tidy.chunks[i] for i in order),
        views={view: tuple(texts[i] for i in order) for view, texts in tidy.views.items()},
        vectors={
            "raw": Vectors(np.concatenate([matrix[owner == i] for i in order]), [0, 0, 1, 1, 2, 2])
        },
    )
    stores = [Store(VIEWS), Store(VIEWS)]
    for store, given_entry in zip(stores, (tidy, mixed), strict=True):
        store.put(given_entry)
    assert answers(stores[0]) == answers(stores[1])


def test_a_replaced_document_keeps_its_place_and_a_deleted_one_is_gone() -> None:
    store = small_store()
    store.put(entry("a", ["cherry"]))
    assert store.document_ids == ["a", "b", "c"]
    assert store.search_lexical("raw", "banana", 9) == []
    assert [row for row, _ in store.search_lexical("raw", "cherry", 9)] == [0]
    assert store.delete("b") is True
    assert store.delete("b") is False
    assert [chunk.doc_id for chunk in store.chunks()] == ["a", "c"]
    assert store.search_lexical("raw", "plum", 9) == []
    assert {store.chunk(row).doc_id for row, _ in store.search_dense("raw", [1, 1, 1], 9)} == {
        "a",
        "c",
    }
    assert store.row_of("b:0-4") is None


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), TEXTS, st.booleans()),
        st.tuples(st.just("delete"), st.sampled_from("abcd")),
        st.tuples(st.just("search")),
        st.tuples(st.just("reload")),
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=60)
@given(
    steps=STEPS,
    lexical=st.sampled_from(["lucene", "okapi"]),
    dtype=st.sampled_from(["float32", "float16"]),
)
def test_any_history_equals_a_fresh_store(
    steps: list, lexical: str, dtype: str, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def, type-arg]
    folder = tmp_path_factory.mktemp("history")
    store = Store(VIEWS, lexical=lexical, dtype=dtype)
    wanted: dict[str, Entry] = {}
    for step in steps:
        if step[0] == "put":
            wanted[step[1]] = entry(step[1], step[2], {"size": len(step[2])}, windows=step[3])
            store.put(wanted[step[1]])
        elif step[0] == "delete":
            assert store.delete(step[1]) == (wanted.pop(step[1], None) is not None)
        elif step[0] == "search":
            store.search_lexical("raw", "apple", 3)
        else:
            store.save(folder / "index")
            store = Store.load(folder / "index", verify=True)
    fresh = Store(VIEWS, lexical=lexical, dtype=dtype)
    for doc in wanted.values():
        fresh.put(doc)
    assert answers(store) == answers(fresh)
    store.save(folder / "one")
    fresh.save(folder / "two")
    assert (folder / "one" / "manifest.json").read_bytes() == (
        folder / "two" / "manifest.json"
    ).read_bytes()
    shutil.rmtree(folder)


def test_words_of_deleted_documents_leave_the_mean_idf_of_okapi() -> None:
    store, fresh = Store(VIEWS, lexical="okapi"), Store(VIEWS, lexical="okapi")
    store.put(entry("z", ["guava melon papaya", "lime"]))
    for target in (store, fresh):
        target.put(entry("a", ["apple apple", "apple plum", "pear"]))
    store.delete("z")
    # apple is in two of three chunks: its idf is negative, so the mean stands in for it
    assert store.search_lexical("raw", "apple", 9) == fresh.search_lexical("raw", "apple", 9)


@given(st.permutations(["a", "b", "c"]))
def test_insertion_order_changes_nothing_but_ties(order: list[str]) -> None:
    texts = {
        "a": ["apple", "apple banana pear"],
        "b": ["apple plum"],
        "c": ["apple fig fig", "cherry"],
    }
    store = Store(VIEWS)
    for name in order:
        store.put(entry(name, texts[name]))
    found = [(store.chunk(row).id, score) for row, score in store.search_lexical("raw", "apple", 9)]
    assert [name for name, _ in found[:1]] == ["a:0-5"]
    ties = [name for name, score in found if score == found[1][1]]
    assert [name.partition(":")[0] for name in ties] == [
        name for name in order if f"{name}:" in "".join(ties)
    ]
    assert sorted(found) == sorted(set(found))


def test_select() -> None:
    store = small_store()
    assert store.select(None) is None
    assert store.select({"doc_id": "b"}) == slice(2, 5)
    assert store.select({"doc_id": ["c", "b"]}) == slice(2, 6)
    assert store.select({"doc_id": "unknown"}) == slice(0, 0)
    assert store.select({"year": 2021}) == slice(2, 6)
    assert store.select({"year": [2020, 2021], "doc_id": "a"}) == slice(0, 2)
    assert store.select({"lang": "en"}) == slice(5, 6)
    assert store.select({"tags": ["y", "z"]}) == slice(0, 2)
    assert store.select({}) == slice(0, 6)
    mask = store.select(lambda facts: facts["doc_id"] != "b")
    assert isinstance(mask, np.ndarray)
    assert mask.tolist() == [True, True, False, False, False, True]
    for where in (
        {"year": 2021},
        lambda facts: facts["year"] == 2021,
        slice(2, 6),
        store.select({"year": 2021}),
    ):
        assert {row for row, _ in store.search_lexical("raw", "apple fig", 9, where)} == {3, 4, 5}
        assert {row for row, _ in store.search_dense("raw", [1, 2, 3], 9, where)} == {2, 3, 4, 5}
    assert {row for row, _ in store.search_lexical("raw", "apple fig", 9, mask)} == {0, 1, 5}


def test_select_refuses() -> None:
    store = small_store()
    with pytest.raises(
        InvalidParameter,
        match=r"where must use keys .*: 'doc_id', 'lang', 'tags', 'year'; got 'yaer'",
    ):
        store.select({"yaer": 2020})
    with pytest.raises(InvalidParameter, match="where must be None, a dict"):
        store.select("b")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="one value for each of the 6 rows"):
        store.search_lexical("raw", "apple", 3, np.array([True]))
    with pytest.raises(InvalidParameter, match="without a step"):
        store.select(slice(0, 6, 2))
    assert Store(VIEWS).select({"year": 2020}) == slice(0, 0)


def bad_entries() -> dict[str, tuple[Entry, type[Exception], str]]:
    good = entry("a", ["apple", "plum"])
    first, second = good.chunks
    raw = {"raw": good.views["raw"]}
    document = good.document
    return {
        "same id": (replace(good, chunks=(first, first)), InvalidParameter, "'a:0-5' twice"),
        "other document": (
            replace(good, chunks=(first, replace(second, doc_id="z"))),
            InvalidParameter,
            "belongs to document 'z'",
        ),
        "view missing": (
            replace(good, views=raw),
            InvalidParameter,
            "views must be 'raw', 'keywords'",
        ),
        "unknown vectors": (
            replace(good, vectors={"x": Vectors([], [])}),
            InvalidParameter,
            "vectors for \\['x'\\]",
        ),
        "short view": (
            replace(good, views={**good.views, "raw": ("x",)}),
            InvalidParameter,
            "2 chunks and 1 texts",
        ),
        "meta": (
            replace(good, document=replace(document, meta={"day": {1, 2}})),
            InvalidParameter,
            r"meta of document 'a'\['day'\] must be .* of type set",
        ),
        "meta key": (
            replace(good, document=replace(document, meta={1: "x"})),
            InvalidParameter,
            "got the key 1",
        ),
        "extras": (
            replace(good, chunks=(first, replace(second, extras={"x": math.nan}))),
            InvalidParameter,
            "chunk 'a:5-9'.*finite",
        ),
        "nan": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3], [math.nan, 1, 2]], [0, 1])}),
            InvalidAnswer,
            "view 'raw, document a' contain NaN or infinity, first at position 1",
        ),
        "owner": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3]], [2])}),
            InvalidAnswer,
            "from 0 to 1",
        ),
        "dimension": (
            replace(good, vectors={"raw": Vectors([[1.0, 2.0]], [0])}),
            InvalidAnswer,
            "must have 3 dimensions like the store's; document 'a' brings 2",
        ),
    }


@pytest.mark.parametrize("case", bad_entries())
def test_a_bad_entry_is_refused_before_anything_changes(case: str) -> None:
    store = small_store()
    before = answers(store)
    bad, error, sentence = bad_entries()[case]
    with pytest.raises(error, match=sentence):
        store.put(bad)
    assert answers(store) == before


def test_the_only_document_may_change_its_dimension() -> None:
    store = Store(VIEWS)
    store.put(entry("a", ["apple"]))
    store.put(replace(entry("a", ["apple"]), vectors={"raw": Vectors([[1.0, 0.0]], [0])}))
    assert store.search_dense("raw", [2.0, 0.0], 1) == [(0, 1.0)]


def test_refitted_vectors_replace_a_view() -> None:
    store = small_store()
    store.replace_vectors("raw", np.eye(6, 4), np.arange(6))
    store.replace_vectors("keywords", [[1.0, 0.0]], [5])
    assert [row for row, _ in store.search_dense("raw", [0, 0, 1, 0], 1)] == [2]
    assert store.search_dense("keywords", [1.0, 1.0], 9) == [(5, pytest.approx(0.5**0.5))]
    with pytest.raises(InvalidAnswer, match="from 0 to 5"):
        store.replace_vectors("raw", [[1.0]], [6])
    with pytest.raises(InvalidAnswer, match="must have 2 dimensions"):
        store.put(replace(entry("d", ["pear"]), vectors={"keywords": Vectors([[1.0]], [0])}))
    store.delete("a")
    assert store.search_dense("keywords", [1.0, 1.0], 9) == [(3, pytest.approx(0.5**0.5))]
    store.delete("c")
    store.put(replace(entry("d", ["pear"]), vectors={"keywords": Vectors([[1.0]], [0])}))
    assert store.search_dense("keywords", [1.0], 9) == [(3, 1.0)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda store: store.search_lexical("x", "apple", 1),
            "view must be one of 'keywords', 'raw'; got 'x'",
        ),
        (
            lambda store: store.search_dense("raw", [1, 1, 1], -1),
            "n must be a number of at least 0; got -1",
        ),
        (lambda store: store.chunk(6), "row must be from 0 to 5; got 6"),
        (lambda store: store.chunk(-1), "row must be from 0 to 5; got -1"),
        (lambda store: store.document("z"), "doc_id must be a document of the store; 'z' is not"),
        (lambda store: Store(()), "views must be one or more different names"),
        (lambda store: Store("raw"), "views must be one or more different names"),
        (lambda store: Store(("a", "a")), "views must be one or more different names"),
        (lambda store: Store(("raw",), config={"x": object()}), "config\\['x'\\] must be"),
    ],
)
def test_bad_arguments(call, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=sentence):
        call(small_store())


def test_an_empty_store_is_valid(tmp_path: Path) -> None:
    store = Store(VIEWS)
    store.put(entry("hollow", []))
    for _ in range(2):
        assert len(store) == 0
        assert "hollow" in store
        assert store.search_lexical("raw", "apple", 3) == store.search_dense("raw", [1.0], 3) == []
        assert store.row_of("hollow:0-1") is None
        store.save(tmp_path / "index")
        store = Store.load(tmp_path / "index", verify=True)


def test_chunk_ids_of_another_form_are_found() -> None:
    odd = entry("a", ["apple", "plum"])
    store = small_store()
    store.put(
        replace(odd, chunks=(replace(odd.chunks[0], id="one"), replace(odd.chunks[1], id="b:zzz")))
    )
    assert [store.row_of(name) for name in ("one", "b:zzz", "b:0-4", "none")] == [0, 1, 2, None]


SEARCH = """
import json, sys
from structrag.index.store import Store
store = Store.load(sys.argv[1])
print(json.dumps([store.search_lexical("raw", "apple plum", 9), store.search_dense("raw", [1, 2, 3], 9)]))
print(sorted(name for name in ("scipy", "sklearn") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "tokenizer",
    [None, Tokenizer(stopwords=()), Tokenizer("german"), Tokenizer(stopwords=("plum",))],
)
@pytest.mark.parametrize(
    "options", [{}, {"lexical": "okapi", "dtype": "float16", "k1": 0.9, "b": 0.4}]
)
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
    assert loaded.config == manifest_config(tmp_path / "index") == {"model": "m"}


def test_a_loaded_store_is_mapped_and_can_be_changed_and_saved_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "index"
    small_store().save(path)
    loaded = Store.load(path)
    dense, postings = loaded._tables.dense["raw"], loaded._tables.lexical["raw"].postings
    for array in (
        dense.matrix,
        dense.owner,
        postings.rows,
        postings.counts,
        postings.indptr,
        postings.lengths,
    ):
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    before = answers(loaded)
    loaded.save(path)
    assert answers(loaded) == answers(Store.load(path)) == before
    loaded.put(entry("a", ["pear pear"]))
    loaded.delete("c")
    loaded.save(path, config={"x": 1})
    again = Store.load(path, verify=True)
    assert answers(again) == answers(loaded)
    assert again.document_ids == ["a", "b"]
    assert sorted(entry.name for entry in path.iterdir()) == ["data-1", "manifest.json"]
    assert "banana" not in json.loads((path / "data-1" / "terms.json").read_text())


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
        assert held.chunk(0) == replace(odd.chunks[0], extras={"note": [text, 1, 2.5, None, True]})
        assert held.view_text(0, "raw") == text + "!"
        assert held.document(odd.document.id) == odd.document
        assert held.fingerprint(odd.document.id) == text


def saved(tmp_path: Path) -> Path:
    small_store().save(tmp_path / "index")
    return tmp_path / "index"


FILES = [
    "documents.jsonl",
    "chunks.jsonl",
    "chunks.npy",
    "terms.json",
    "lexical-0-rows.npy",
    "dense-0-matrix.npy",
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["truncate", "extend", "flip", "remove", "folder"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, harm: str) -> None:
    path = saved(tmp_path)
    file = path / "data-1" / name
    content = bytearray(file.read_bytes())
    if harm == "truncate":
        file.write_bytes(content[:-1])
    elif harm == "extend":
        file.write_bytes(content + b" ")
    elif harm == "flip":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    else:
        file.unlink()
        if harm == "folder":
            file.mkdir()
    with pytest.raises(IndexDamaged, match=f"{name}.*build it again"):
        Store.load(path)


def test_a_large_file_is_checked_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.storage.SMALL_FILE", 0)
    path = saved(tmp_path)
    file = path / "data-1" / "dense-0-matrix.npy"
    content = bytearray(file.read_bytes())
    content[-2] ^= 64
    file.write_bytes(content)
    Store.load(path)
    with pytest.raises(IndexDamaged, match=r"the content of dense-0-matrix\.npy has changed"):
        Store.load(path, verify=True)
    content[0] ^= 1  # now not even an array
    file.write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"dense-0-matrix\.npy is not readable"):
        Store.load(path)


@pytest.mark.parametrize("at", range(20, 3000, 149))
def test_a_changed_manifest_is_refused_or_means_the_same(tmp_path: Path, at: int) -> None:
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
        with pytest.raises(IndexDamaged, match=r"There is no saved index at .*Check the path"):
            Store.load(place)
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexDamaged, match="no saved index"):
        Store.load(tmp_path / "file")
    path = saved(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    for version, remedy in ((VERSION + 1, "Update structrag, or build"), (VERSION - 1, "Build")):
        (path / "manifest.json").write_text(json.dumps({**manifest, "version": version}))
        with pytest.raises(
            IndexDamaged,
            match=rf"format version {version}, this release reads {VERSION}\. {remedy}",
        ):
            Store.load(path)
    (path / "manifest.json").write_text(json.dumps({"format": "faiss"}))
    with pytest.raises(IndexDamaged, match="not an index of structrag"):
        manifest_config(path)
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
    "stage", ["structrag.index.saved._write_lines", "structrag.index.storage._write_manifest"]
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


def test_a_killed_save_leaves_the_old_index_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (path / "data-2").mkdir()
    (path / "data-2" / "chunks.jsonl").write_text("half a line")
    assert answers(Store.load(path, verify=True)) == answers(small_store())
    Store.load(path).save(path)
    assert sorted(entry.name for entry in path.iterdir()) == ["data-3", "manifest.json"]
    assert answers(Store.load(path, verify=True)) == answers(small_store())


def test_a_selection_sees_the_store_as_it_was_when_it_began() -> None:
    store = small_store()

    def meddle(facts: dict[str, object]) -> bool:
        store.put(entry(f"from {facts['doc_id']}", ["plum"]))
        return facts["doc_id"] != "b"

    mask = store.select(meddle)
    assert isinstance(mask, np.ndarray)
    assert mask.tolist() == [True, True, False, False, False, True]
    assert store.document_ids == ["a", "b", "c", "from a", "from b", "from c"]


def test_searches_in_threads_while_documents_come_and_go() -> None:
    store = small_store()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(60):
                hits = store.search_lexical("raw", "apple", 50, {"doc_id": ["a", "b"]})
                assert {row for row, _ in hits} == {0, 1, 3}
                assert store.search_dense("raw", [1, 2, 3], 5)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        store.put(entry(f"new {i}", ["pear", "fig"]))
        store.delete(f"new {i - 3}")
    for thread in threads:
        thread.join()
    assert failures == []
