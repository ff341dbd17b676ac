"""What every engine keeps as the embedded store does, and what all refuse."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from engine_making import ENGINES, address_in, opened
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, entry, small_store

from structrag import (
    D3Index,
    D3Retriever,
    EvidenceRetriever,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.errors import (
    InvalidAnswer,
    InvalidParameter,
    NoIndex,
    UnknownArgument,
)
from structrag.index.document_index import open_store
from structrag.index.store import Store

WORDS = ["apple", "banana", "cherry", "plum"]


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with address_in(request.param, tmp_path) as place:
        yield place


def contents(store: Any) -> list[Any]:
    """Everything of every document, in order."""
    return [
        (store.document(doc_id), store.fingerprints([doc_id]), store.chunks(doc_id))
        for doc_id in store.document_ids
    ]


def test_a_store_gives_back_what_the_embedded_one_does(address: str) -> None:
    with pytest.raises(NoIndex, match="There is no structrag store"):
        open_store(address)
    store, own = opened(address, Store(VIEWS).settings, made="here"), small_store()
    for doc_id in own.document_ids:
        assert doc_id not in store
    entries = [
        entry("b", ["fig", "plum pear"], {"year": 2021}),
        entry("it's", ["apple"]),
    ]
    store.put_all(entries)
    own = Store(VIEWS)
    own.put_all(entries)
    assert contents(store) == contents(own) and store.chunks() == own.chunks()
    assert (
        len(store) == 3
        and store.unchanged_ids(entries[:1]) == {"b"}
        and "it's" in store
    )
    assert not store.unchanged_ids([entry("b", ["fig", "plum pea"], {"year": 2021})])
    other = opened(address)  # as another process
    assert contents(other) == contents(own) and other.config == {"made": "here"}
    with pytest.raises(InvalidParameter, match="got 'x'"):
        store.document("x")
    with pytest.raises(InvalidParameter, match="must match the store at"):
        open_store(address, Store(["raw"]).settings)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=5)
@given(
    changes=st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(WORDS), max_size=3)),
        max_size=6,
    ),
)
def test_every_history_is_that_of_the_embedded_store(
    engine: str, changes: list[tuple[str, list[str]]]
) -> None:
    """A document without text deletes."""
    with TemporaryDirectory() as folder, address_in(engine, Path(folder)) as address:
        own = Store(VIEWS)
        store = opened(address, own.settings)
        for doc_id, texts in changes:
            if texts:
                given_entry = entry(
                    doc_id, texts, {"n": len(texts)}, windows=len(texts) == 2
                )
                store.put(given_entry)
                own.put(given_entry)
            else:
                assert store.delete(doc_id) == own.delete(doc_id)
        assert contents(store) == contents(own) and len(store) == len(own)
        query = np.array([1.0, 2.0, 3.0])
        near = own.reader()
        found = [near.chunk(row).id for row, _ in near.search_dense("raw", query, 9)]
        rows = [row for row, _ in store.reader().search_dense("raw", query, 9)]
        assert [chunk.id for chunk in store.reader().chunks_at(rows)] == found
        store.save(address)
        for word in WORDS:
            right = [score for _, score in own.reader().search_lexical("raw", word, 9)]
            scores = [
                score for _, score in store.reader().search_lexical("raw", word, 9)
            ]
            assert scores == pytest.approx(right, rel=0.02)


def test_a_replaced_document_keeps_its_place_and_readers_what_they_have_opened(
    address: str,
) -> None:
    store = opened(address, Store(VIEWS).settings)
    store.put_all(
        [entry("a", ["apple", "fig", "plum"], windows=True), entry("b", ["pear"])]
    )
    before = store.reader()
    store.put(entry("a", ["cherry"]))
    assert store.document_ids == ["a", "b"]
    assert [chunk.text for chunk in store.chunks()] == ["cherry", "pear"]
    assert [chunk.text for chunk in before.chunks("a")] == ["apple", "fig", "plum"]
    assert len(before.search_dense("raw", [1.0, 2.0, 3.0], 9)) == 4
    assert store.delete("a") and not store.delete("a") and store.document_ids == ["b"]


def test_a_group_is_refused_whole(address: str) -> None:
    store = opened(address, Store(VIEWS).settings)
    store.put(entry("a", ["apple"]))
    bad = entry("b", ["fig"])
    bad.vectors["raw"].matrix[0].append(1.0)  # type: ignore[index, union-attr]
    with pytest.raises(
        InvalidAnswer, match="must have 3 dimensions, as in the store; document"
    ):
        store.put_all([entry("c", ["plum"]), bad])
    assert store.document_ids == ["a"]
    store.put_all([])
    assert store.document_ids == ["a"]
    store.put_all([entry("b", ["plum"]), entry("b", ["pear"])])  # the last counts
    assert [chunk.text for chunk in store.chunks("b")] == ["pear"]


def test_the_configuration_is_saved_in_place(address: str, tmp_path: Path) -> None:
    store = opened(address, Store(VIEWS).settings, made="here")
    store.save(store.uri, config={"made": "there"})
    store.save(address.partition(":")[2])
    assert opened(address).config == {"made": "there"}
    with pytest.raises(InvalidParameter, match=f"path must be '{address}'"):
        store.save(tmp_path / "elsewhere")


def test_strings_of_any_kind_and_length_come_back(address: str) -> None:
    """Ids, metadata and texts that no language of filters could quote, and one above any limit."""
    text = " ".join(f"w{i * i}" for i in range(30_000))
    odd = "it's \\ \" \u00e9 \U0001f600 \ud800"
    entries = [
        entry(odd, [text, "fig"], {odd: odd, "long": "x" * 3000}),
        entry("b", ["plum"]),
    ]
    store, own = opened(address, Store(VIEWS).settings), Store(VIEWS)
    for each in (store, own):
        each.put_all(entries)
    assert contents(store) == contents(own)
    for where in ({odd: odd}, {"long": "x" * 3000}, {"doc_id": odd}):
        assert len(store.reader().search_dense("raw", [1.0, 2.0, 3.0], 9, where)) == 2
    (best, *_) = store.reader().search_lexical("raw", "w899940001", 9)
    assert store.reader().chunk(best[0]).text == text


def test_tenants_at_one_place_know_nothing_of_each_other(address: str) -> None:
    texts = {
        "": ["pear"],
        "?tenant=acme": ["apple fig", "apple"],
        "?tenant=acme_2": ["apple plum"],
    }
    stores = {}
    for tenant, of_tenant in texts.items():
        stores[tenant] = opened(
            f"{address}{tenant}", Store(VIEWS).settings, made=tenant
        )
        stores[tenant].put(entry("a", of_tenant, {"for": tenant}))
        stores[tenant].save(f"{address}{tenant}")
    stores["?tenant=acme"].put(entry("b", ["fig"]))
    stores["?tenant=acme"].save(f"{address}?tenant=acme")
    texts["?tenant=acme"].append("fig")
    for tenant, of_tenant in texts.items():
        far, own = opened(f"{address}{tenant}"), Store(VIEWS)  # as another process
        own.put(entry("a", of_tenant[:2]))
        if len(of_tenant) > 2:
            own.put(entry("b", of_tenant[2:]))
        assert [chunk.text for chunk in far.chunks()] == of_tenant and far.config == {
            "made": tenant
        }
        for word in ("apple", "fig", "pear"):  # by statistics of their own
            right = [score for _, score in own.reader().search_lexical("raw", word, 9)]
            scores = [score for _, score in far.reader().search_lexical("raw", word, 9)]
            assert scores == pytest.approx(right, rel=1e-4)
    with pytest.raises(
        InvalidParameter, match=f"path must be '{re.escape(stores[''].uri)}'"
    ):
        stores[""].save(f"{address}?tenant=acme")
    with pytest.raises(NoIndex):
        open_store(f"{address}?tenant=other")
    for name in ("", "Acme", "a/b", "..", "x" * 65):
        with pytest.raises(
            InvalidParameter, match="store must name a tenant of 1 to 64"
        ):
            open_store(f"{address}?tenant={name}", Store(VIEWS).settings)


FULL = """
import resource, signal, sys
sys.path.insert(0, {tests!r})
from store_making import VIEWS, entry
from structrag.errors import ModelFailed
from structrag.index.document_index import open_store
from structrag.index.store import Store
store = open_store({address!r}, Store(VIEWS).settings)
store.put(entry("a", ["apple fig"]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))
try:
    store.put(entry("b", [f"word{{i}} " * 50 for i in range(2000)]))
except ModelFailed as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    store.put(entry("c", ["plum"]))
    print("c")
except ModelFailed as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_volume_is_a_sentence_and_what_was_finished_stays(address: str) -> None:
    """A process whose files may have 20,000 bytes stands for it."""
    pytest.importorskip("resource", reason="Windows has no such limits")
    code = FULL.format(tests=str(Path(__file__).parents[2]), address=address)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    outcome = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    refused, then = outcome.stdout.splitlines()
    assert "File too large" in refused and "kept whole" in refused
    store, expected = opened(address), {"a": ["apple fig"]}
    if then == "c":
        expected["c"] = ["plum"]
    else:  # Milvus Lite would lose it
        assert "open it in a new process" in then
    store.put(entry("d", ["pear"]))
    expected["d"] = ["pear"]
    store = opened(address)
    assert {
        name: [chunk.text for chunk in store.chunks(name)]
        for name in store.document_ids
    } == expected


def test_a_search_among_some_rows_compares_all_their_windows(address: str) -> None:
    store, own = opened(address, Store(VIEWS).settings), Store(VIEWS)
    for doc_id in ("a", "b", "c"):
        some = entry(doc_id, [f"{word} {doc_id}" for word in WORDS], windows=True)
        store.put(some)
        own.put(some)
    far, near = store.reader(), own.reader()
    # A model failed.
    assert far.fingerprints() == near.fingerprints() == dict.fromkeys("abc")
    assert [*far.with_chunks(["c", "a"])] == [*near.with_chunks(["c", "a"])]
    numbers = far.row_numbers
    assert near.row_numbers is None and len(numbers) == len(near)
    everything = range(len(near))
    assert far.view_texts_at(numbers.tolist(), "keywords") == near.view_texts_at(
        everything, "keywords"
    )
    assert far.view_texts_at([], "raw") == []
    for some in ([0], [3, 7], [1, 2, 10], everything):
        rows = np.array(some)
        for n in (1, 2, 12):
            found = far.search_dense("raw", [3.0, 1, 2], n, far.among(numbers[rows]))
            expected = near.search_dense("raw", [3.0, 1, 2], n, near.among(rows))
            assert [row for row, _ in found] == [
                int(numbers[row]) for row, _ in expected
            ]
            assert [score for _, score in found] == pytest.approx(
                [score for _, score in expected], abs=1e-5
            )
        found = far.search_lexical("raw", "plum apple", 12, far.among(numbers[rows]))
        assert {row for row, _ in found} == {
            int(numbers[row])
            for row, _ in near.search_lexical("raw", "plum apple", 12, near.among(rows))
        }
    assert far.search_dense("raw", [3.0, 1, 2], 5, far.among(numbers[:0])) == []


# -- an index over it


def test_an_index_is_the_same_in_all(address: str, embedder: HashEmbedder) -> None:
    texts = [
        f"# Pump {i}\n\nThe pump {i} leaks.\n\n## Valve\n\nValve {i}." for i in range(9)
    ]
    documents = [read_text(text, id=f"d{i}") for i, text in enumerate(texts)]
    own, far = Index(embedder=embedder), Index(embedder=embedder, store=address)
    assert own.add(documents).chunks == far.add(documents).chunks == 18
    assert far.add(documents).unchanged == 9
    for index in (own, far):
        index.delete("d3")
    ours, theirs = (MultiViewRetriever(index, k=10) for index in (own, far))
    for query in ("Which pump leaks?", "valve 5", "unheardof"):
        hits, others = ours.search(query), theirs.search(query)
        assert [hit.chunk for hit in hits] == [hit.chunk for hit in others]
        assert [hit.score for hit in hits] == pytest.approx(
            [hit.score for hit in others], abs=1e-4
        )
    (hit,) = far.search("valve 5", 1, route="bm25")
    assert hit.chunk == own.search("valve 5", 1, route="bm25")[0].chunk
    reopened = Index.load(address, embedder=embedder)
    assert reopened.chunks() == own.chunks() and reopened.views == own.views
    with pytest.raises(InvalidParameter, match="embedder must be the one"):
        Index.load(address, embedder=HashEmbedder(name="other"))


@examples
def test_what_an_engine_cannot_do_is_refused(
    address: str, embedder: HashEmbedder, options: dict[str, Any], message: str
) -> None:
    class Host:
        wants_vectors = True

    if "dense_store" in options:
        options = {"dense_store": Host()}
    with pytest.raises(InvalidParameter, match=message):
        Index(**{"embedder": embedder, **options}, store=address)
    assert not Path(address.partition(":")[2]).exists()


def test_what_no_engine_keeps_is_refused_in_one_sentence(
    address: str, embedder: HashEmbedder
) -> None:
    document = read_text("The pump leaks.", id="a")
    folder = Path(address.partition(":")[2]).parent
    for own in (
        Index(embedder=embedder),
        D3Index(embedder=embedder),
        EvidenceRetriever(embedder),
    ):
        own.add([document])
        with pytest.raises(
            InvalidParameter, match=rf"path must be a folder here; got '{address}'"
        ):
            own.save(address)
    with pytest.raises(InvalidParameter, match="a folder for D3Index"):
        D3Index.load(address)
    with pytest.raises(UnknownArgument, match="Index, D3Index and EvidenceRetriever"):
        D3Retriever(D3Index(), store=address)
    with pytest.raises(InvalidParameter, match="got LSA, whose vectors change"):
        EvidenceRetriever(store=address)
    assert not list(folder.iterdir())
