"""The index a user holds: what changes it, what it costs, what it keeps when something fails, and
saving."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, HostStore, ScriptedModel
from fixture_cases import examples
from index_making import QUERIES, document, state

from structrag import (
    Cache,
    Chunk,
    ContentAwareSplitter,
    Document,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.errors import (
    IndexDamaged,
    InvalidAnswer,
    InvalidParameter,
    ModelFailed,
)
from structrag.index import add_batch as adding
from structrag.index.store import Store

KEYWORDS = '["pump", "valve"]'


def group_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "GROUP", 1)


# -- adding, updating, deleting


def test_chunks_are_those_of_the_splitter_in_reading_order(
    embedder: HashEmbedder, tmp_path: Path
) -> None:
    index = Index(embedder=embedder)
    index.add([document(2), document(1), read_text(" ", id="blank")])
    split = {
        f"doc{number}": ContentAwareSplitter().split(document(number))
        for number in (1, 2)
    }
    assert index.chunks("doc1") == split["doc1"] and index.chunks("blank") == []
    assert index.chunks() == split["doc2"] + split["doc1"]
    index.save(tmp_path / "index")
    assert (
        Index.load(tmp_path / "index", embedder=embedder).chunks("doc2")
        == split["doc2"]
    )
    index.delete("doc2")
    assert index.chunks() == split["doc1"]
    with pytest.raises(
        InvalidParameter,
        match=r"doc_id must be .* got 'doc2'\. `document_ids` lists them",
    ):
        index.chunks("doc2")


def test_short_sections_are_embedded_once(embedder: HashEmbedder) -> None:
    Index(embedder=embedder, views=("raw", "summary")).add([document(1)])
    assert len(embedder.texts) == len(set(embedder.texts)) == 4


def test_what_is_unchanged_costs_nothing(embedder: HashEmbedder) -> None:
    llm = ScriptedModel(KEYWORDS)
    index = Index(embedder=embedder, llm=llm)
    index.add([document(1), document(2)])
    embedded, asked, before = len(embedder.texts), len(llm.prompts), state(index)
    report = index.add([document(2), document(1)])
    assert (report.added, report.replaced, report.unchanged, report.chunks) == (
        0,
        0,
        2,
        0,
    )
    assert report.usage["calls"] == report.usage["embedded"] == 0
    assert (len(embedder.texts), len(llm.prompts), state(index)) == (
        embedded,
        asked,
        before,
    )


def test_a_changed_document_is_made_again_alone(embedder: HashEmbedder) -> None:
    llm = ScriptedModel(KEYWORDS)
    index = Index(embedder=embedder, llm=llm)
    index.add([document(1), document(2), document(3)])
    embedder.texts.clear(), llm.prompts.clear()
    report = index.add([document(1), document(2, "Now with a turbine."), document(3)])
    assert (report.added, report.replaced, report.unchanged) == (0, 1, 2)
    assert len(llm.prompts) == 1 and "turbine" in llm.prompts[0]
    assert embedder.texts and all(
        "turbine" in text or "Pump 2" in text for text in embedder.texts
    )
    embedded = len(embedder.texts)
    assert f"{embedded} of {embedded + report.reused} texts embedded" in str(report)
    fresh = Index(embedder=HashEmbedder(), llm=ScriptedModel(KEYWORDS))
    fresh.add([document(1), document(2, "Now with a turbine."), document(3)])
    assert state(index) == state(fresh)


def test_other_models_reuse_nothing(tmp_path: Path) -> None:
    changed = document(2, "Now with a turbine.")
    index = Index(embedder=HashEmbedder(), llm=ScriptedModel(KEYWORDS))
    index.add([document(2)])
    index.save(tmp_path / "index")
    other = ScriptedModel(KEYWORDS, name="other")
    opened = Index.load(tmp_path / "index", embedder=HashEmbedder(), llm=other)
    assert opened.add([changed]).reused == 0
    assert len(other.prompts) == 4


def test_with_a_cache_a_changed_section_costs_its_own_calls_only(
    embedder: HashEmbedder,
) -> None:
    llm = ScriptedModel(KEYWORDS)
    index = Index(embedder=embedder, llm=llm, cache=Cache(":memory:"))
    index.add([document(1)])
    llm.prompts.clear(), embedder.texts.clear()
    index.add([document(1, "Now with a turbine.")])
    assert len(llm.prompts) == 1 and "turbine" in llm.prompts[0]
    assert embedder.texts and all("turbine" in text for text in embedder.texts)


def test_update_and_delete(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add([document(1), document(2)])
    before = state(index)
    with pytest.raises(
        InvalidParameter,
        match="document 'doc3' is not in the index, so it cannot be updated; use add",
    ):
        index.update([document(1, "Changed."), document(3)])
    assert state(index) == before
    assert index.update([document(1, "Changed.")]).replaced == 1
    assert (
        index.delete("doc1") and not index.delete("doc1") and not index.delete("doc9")
    )
    fresh = Index(embedder=HashEmbedder())
    fresh.add([document(2)])
    assert state(index) == state(fresh) and len(index) == 4


@pytest.mark.parametrize("wrong", [None, ["doc1", None], [1]])
def test_what_is_no_id_deletes_nothing(embedder: HashEmbedder, wrong: Any) -> None:
    index = Index(embedder=embedder)
    index.add([document(1)])
    with pytest.raises(
        InvalidParameter, match="doc_id must be a document id or a list of them"
    ):
        index.delete(wrong)
    assert index.document_ids == ["doc1"]


def test_documents_are_checked_before_anything_changes(
    embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    group_of_one(monkeypatch)
    index = Index(embedder=embedder)
    bad: list[tuple[Any, str]] = [
        (document(1, "Again."), "Two documents of one call have the id 'doc1'"),
        ("a text", "documents must be structrag Documents; got str"),
        (
            document(4, meta={"when": object()}),
            "meta of document 'doc4'\\['when'\\] must be",
        ),
        (
            document(4, meta={"score": float("nan")}),
            "meta of document 'doc4'\\['score'\\] must be",
        ),
    ]
    for value, sentence in bad:
        with pytest.raises(InvalidParameter, match=sentence):
            index.add([document(1), document(2), value])
    with pytest.raises(
        InvalidParameter, match="documents must be a list of Documents; got one, 'doc1'"
    ):
        index.add(document(1))  # type: ignore[arg-type]
    assert len(index) == 0 and embedder.texts == []


def test_documents_may_come_from_a_generator(embedder: HashEmbedder) -> None:
    assert Index(embedder=embedder).add(document(i) for i in range(3)).added == 3


@pytest.mark.parametrize("text", ["", " \n\t ", "\n\n"])
def test_a_blank_document_is_in_the_index_without_chunks(
    text: str, embedder: HashEmbedder
) -> None:
    index = Index(embedder=embedder)
    assert index.add([Document(text, id="blank")]).added == 1
    assert index.add([Document(text, id="blank")]).unchanged == 1
    assert index.document_ids == ["blank"] and len(index) == 0
    assert (
        index.search("anything") == []
        and MultiViewRetriever(index).search("anything") == []
    )


# -- models that fail


def test_vectors_of_another_dimension_are_refused(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add([document(1)])
    before = state(index)
    index.runner.embedder = HashEmbedder(dimensions=8)
    for changed, text in ((1, "Now with a turbine."), (2, "")):
        with pytest.raises(
            InvalidAnswer,
            match=f"must have 64 dimensions, as in the store; document 'doc{changed}' has 8",
        ):
            index.add([document(changed, text)])
    index.runner.embedder = embedder
    assert state(index) == before


class Splitting(ContentAwareSplitter):
    def split(self, document: Document) -> list[Chunk]:
        raise ZeroDivisionError("a bug")


def broken_step(*arguments: Any) -> Any:
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize("where", ["views", "store", "splitter", "progress"])
@pytest.mark.parametrize("on_loop", [False, True])
def test_an_error_of_our_own_code_or_of_a_callable_is_not_called_the_embedders(
    where: str, on_loop: bool, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {}
    if where == "splitter":
        options["splitter"] = Splitting()
    elif where == "progress":
        options["progress"] = broken_step
    index = Index(embedder=embedder, **options)
    if where == "views":
        monkeypatch.setattr("structrag.index.add_batch.view_flow", broken_step)
    elif where == "store":
        monkeypatch.setattr(index.store, "put", broken_step)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        if on_loop:
            asyncio.run(index.aadd([document(1)]))
        else:
            index.add([document(1)])
    assert not index.document_ids


def test_progress_tells_of_documents_and_not_of_a_query(embedder: HashEmbedder) -> None:
    told: list[tuple[str, int, int]] = []
    index = Index(
        embedder=embedder,
        llm=ScriptedModel(KEYWORDS),
        progress=lambda *args: told.append(args),
        batch_size=2,
        invented_keywords=True,
    )
    index.add([document(1)])
    assert ("asking the language model", 4, 4) in told
    assert told[-1] == (
        "embedding chunks",
        5,
        5,
    )  # four different texts, and one for the keywords that are all the same
    told.clear()
    index.search("pump")
    MultiViewRetriever(index).search("pump")
    assert told == []


# -- async


async def test_async_equals_sync_and_the_loop_keeps_running() -> None:
    documents = [
        document(i, "Sentences about pumps and valves. " * 400) for i in range(6)
    ]
    sync = Index()
    sync.add(documents)
    index = Index()
    gaps: list[float] = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.002)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    begin = time.perf_counter()
    report = await index.aadd(documents)
    hits = await MultiViewRetriever(index).asearch("pump pressure", 9)
    spent = time.perf_counter() - begin
    ticker.cancel()
    assert len(gaps) > 5 and max(gaps) < max(0.6 * spent, 0.3)
    assert report.added == 6 and state(index) == state(sync)
    assert hits == MultiViewRetriever(sync).search("pump pressure", 9)
    assert await index.asearch("pump", 4) == sync.search("pump", 4)
    assert (await index.aupdate([document(1)])).replaced == 1


@pytest.mark.slow
async def test_a_cancelled_add_leaves_whole_documents_only(
    embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    group_of_one(monkeypatch)

    class Slow(HashEmbedder):
        async def aembed(self, texts: Any, *, query: bool = False) -> Any:
            await asyncio.sleep(0.05)
            return self.embed(texts, query=query)

    index = Index(embedder=Slow(), batch_size=4)
    task = asyncio.create_task(index.aadd([document(i) for i in range(20)]))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 0 < len(index.document_ids) < 20 and len(index) == 4 * len(
        index.document_ids
    )
    await index.aadd([document(i) for i in range(20)])
    assert len(index) == 80


# -- saving


def test_float16_takes_half_the_room_and_finds_the_same(tmp_path: Path) -> None:
    sizes, best = {}, {}
    for dtype in ("float32", "float16"):
        index = Index(embedder=HashEmbedder(), dtype=dtype)
        index.add([document(i) for i in range(5)])
        index.save(tmp_path / dtype)
        reader = Index.load(tmp_path / dtype, embedder=HashEmbedder()).reader()
        (part,) = reader.dense("raw").parts
        sizes[dtype] = part.table.matrix.values.nbytes
        best[dtype] = [index.search(query, 1)[0].chunk.id for query in QUERIES]
    assert (
        sizes["float16"] * 2 == sizes["float32"] == 4 * 64 * len(index)
        and best["float16"] == best["float32"]
    )


# -- conditions, windows


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda index: index.search("a", 0), "k must be a number of at least 1; got 0"),
        (lambda index: index.search("a", 1.5), "k must be a whole number; got 1.5"),
        (lambda index: index.search(3), "query must be a string; got int"),
        (lambda index: index.search("a", view="title"), "view must be one of"),
        (lambda index: index.search("a", route="sparse"), "route must be one of"),
        (lambda index: Index(preset="best"), "preset must be one of"),
        (lambda index: Index(views=()), "views must be some of"),
        (
            lambda index: Index(window_tokens=3),
            "window_tokens must be a number of at least 16",
        ),
        (lambda index: Index(embedder=3), "embedder must be None"),
        (lambda index: Index(llm=3), "llm must be None"),
        (lambda index: Index(dtype="int8"), "dtype must be one of"),
        (lambda index: Index(batch_size=0), "batch_size must be"),
    ],
)
def test_bad_arguments(call: Any, sentence: str) -> None:
    index = Index(embedder=HashEmbedder())
    with pytest.raises(InvalidParameter, match=sentence):
        call(index)


# -- a host's vector store


@pytest.mark.parametrize("wants_vectors", [True, False])
def test_a_host_store_takes_the_place_of_our_vectors(wants_vectors: bool) -> None:
    host, embedder = HostStore(wants_vectors=wants_vectors), HashEmbedder()
    index = Index(embedder=embedder, dense_store=host)
    index.add([document(1), document(2)])
    own = Index(embedder=HashEmbedder())
    own.add([document(1), document(2)])
    assert bool(embedder.texts) is wants_vectors
    assert state(index) == state(own)
    assert [
        h.chunk.id for h in MultiViewRetriever(index).search("pump pressure 2")
    ] == [h.chunk.id for h in MultiViewRetriever(own).search("pump pressure 2")]
    assert bool(embedder.queries) is wants_vectors
    assert index.store.reader().search_dense("raw", embedder.vector("pump"), 5) == [], (
        "our own store keeps no vectors beside the host's"
    )


@pytest.mark.parametrize("wants_vectors", [True, False])
def test_changes_and_deletions_reach_the_host(wants_vectors: bool) -> None:
    host = HostStore(wants_vectors=wants_vectors)
    index = Index(embedder=HashEmbedder(), dense_store=host)
    index.add([document(1), document(2)])
    index.add([document(1, "Longer than it was before.")])
    ids = {hit.chunk.id for hit in index.search("pump", 50)}
    assert {chunk_id for chunk_id, _ in host.entries} == ids and len(ids) == 8
    index.delete("doc1")
    assert {chunk_id.partition(":")[0] for chunk_id, _ in host.entries} == {"doc2"}
    calls = len(host.calls)
    assert not index.delete("doc1") and index.add([document(2)]).unchanged == 1
    assert len(host.calls) == calls


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_host_that_fails_leaves_no_document_half_in(method: str) -> None:
    host = HostStore(wants_vectors=True)
    index = Index(embedder=HashEmbedder(), dense_store=host)
    index.add([document(1), document(2)])
    host.fails = {method}
    with pytest.raises(ModelFailed, match="vector store HostStore raised OSError"):
        index.add([document(1, "Longer than it was before.")])
    assert index.document_ids == ["doc2"]
    assert {hit.chunk.doc_id for hit in index.search("pump", 50)} == {"doc2"}
    host.fails = set()
    assert index.add([document(1), document(2)]).added == 1
    assert {chunk_id for chunk_id, _ in host.entries} == {
        hit.chunk.id for hit in index.search("pump", 50)
    }
    assert len(host.entries) == 24


def test_a_store_that_wants_vectors_needs_an_embedder() -> None:
    with pytest.raises(
        InvalidParameter,
        match="embedder must be a model for a dense_store that takes vectors; got 'LSA",
    ):
        Index(dense_store=HostStore(wants_vectors=True))


def test_text_without_markup_has_none() -> None:
    index = Index(embedder=HashEmbedder())
    index.add([read_text("# A\n\nText.", id="a"), read_text("Only text.", id="b")])
    assert not any("source_start" in chunk.extras for chunk in index.chunks())


# -- saved and loaded


@examples
def test_what_is_saved_comes_back(options: dict[str, Any], tmp_path: Path) -> None:
    index = Index(embedder=HashEmbedder(), **options)
    index.add([document(1), document(2)])
    index.save(tmp_path / "index")
    embedder = HashEmbedder()
    loaded = Index.load(tmp_path / "index", embedder=embedder, verify=True)
    assert (
        state(loaded) == state(index)
        and loaded.views == index.views
        and loaded.preset == index.preset
    )
    assert (
        loaded.add([document(1), document(2)]).unchanged == 2 and embedder.texts == []
    )
    loaded.delete("doc1")
    loaded.add([document(3)])
    loaded.save(tmp_path / "index")
    assert state(Index.load(tmp_path / "index", embedder=HashEmbedder())) == state(
        loaded
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"embedder": HashEmbedder(name="other")},
            "embedder must be the one the index at .* was built with, 'hash'; got 'other'",
        ),
        ({}, "embedder must be the one .* 'hash'; got 'LSA"),
        (
            {"embedder": HashEmbedder(), "preset": "paper"},
            "preset of the index at .* is 'default'; got 'paper'",
        ),
        ({"embedder": HashEmbedder(), "views": ("raw",)}, "views of the index"),
        ({"embedder": HashEmbedder(), "dtype": "float16"}, "dtype of the index"),
        ({"embedder": HashEmbedder(), "lexical": "okapi"}, "lexical of the index"),
        ({"embedder": HashEmbedder(), "language": "german"}, "language of the index"),
    ],
)
def test_loading_with_other_settings_is_refused(
    options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    index = Index(embedder=HashEmbedder())
    index.add([document(1)])
    index.save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match=sentence):
        Index.load(tmp_path / "index", **options)


def test_loading_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no saved index"):
        Index.load(tmp_path / "none")
    with pytest.raises(IndexDamaged, match="There is no saved index"):
        Index.load(tmp_path / "nothing")
    Store(("raw",)).save(tmp_path / "store")
    with pytest.raises(IndexDamaged, match=r"was not saved by Index\.save"):
        Index.load(tmp_path / "store")


def test_an_index_with_an_embedder_without_a_name_opens_with_that_very_one(
    tmp_path: Path,
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    index = Index(embedder=embed)
    index.add([document(1)])
    with pytest.warns(UserWarning, match="FunctionEmbedder, FunctionModel"):
        index.save(tmp_path / "index")
    assert len(Index.load(tmp_path / "index", embedder=embed)) == len(index)
    with pytest.raises(InvalidParameter, match="embedder cannot be verified"):
        Index.load(tmp_path / "index", embedder=lambda texts: embed(texts))


def test_words_by_their_stems(tmp_path: Path) -> None:
    documents = [
        read_text("The pumps leak.", id="a"),
        read_text("A valve rusts.", id="b"),
    ]
    plain, stemmed = Index(views=["raw"]), Index(views=["raw"], stems=True)
    for index in (plain, stemmed):
        index.add(documents)
    assert plain.search("leaking", route="bm25") == []
    assert stemmed.search("leaking", route="bm25")[0].chunk.doc_id == "a"
    stemmed.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert loaded.search("leaking", route="bm25")[0].chunk.doc_id == "a"
    assert loaded.add(documents).unchanged == 2
    with pytest.raises(InvalidParameter, match="stems of the index"):
        Index.load(tmp_path / "index", stems=False)


def test_one_view_may_stand_alone(embedder: HashEmbedder, tmp_path: Path) -> None:
    index = Index(embedder=embedder, views="raw")
    index.add([document(1)])
    index.save(tmp_path / "index")
    assert Index.load(tmp_path / "index", embedder=embedder, views="raw").views == (
        "raw",
    )


# -- what is set, and what follows


async def test_five_hits_are_given_where_no_number_is(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder, views=["raw"])
    index.add([Document(f"Pump {i}.", id=f"d{i}") for i in range(7)])
    hits = index.search("pump")
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]
    assert await index.asearch("pump") == hits
    first = hits[0]
    assert first.routes == {"dense:raw": 1} and first.scores == first.parts
    assert first.parts == {"dense:raw": first.score}


def test_an_index_with_an_address_is_saved_with_each_change(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = Index(embedder=HashEmbedder(), store=path, views=["raw"])
    assert not path.exists()
    index.add([Document("Pumps.", id="a"), Document("Valves.", id="b")])
    assert Index.load(path, embedder=HashEmbedder()).document_ids == ["a", "b"]
    assert index.delete("a") and not index.delete("a")
    more = Index(embedder=HashEmbedder(), store=path, views=["raw"])
    assert more.document_ids == ["b"]
    assert more.add([Document("Valves.", id="b")]).unchanged == 1
    other = HashEmbedder(name="other")
    with pytest.raises(InvalidParameter, match="embedder must be the one the index at"):
        Index(embedder=other, store=path, views=["raw"])
    in_memory = Index(embedder=HashEmbedder(), views=["raw"])
    in_memory.add([Document("Pumps.", id="a")])
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_a_splitter_splits_or_asks() -> None:
    class Splits:
        def split(self, document: Document) -> list[Chunk]:
            return []

    class Asks:
        def split_flow(self, document: Document) -> Any:
            yield from ()
            return []

    for splitter in (Splits(), Asks()):
        assert Index(splitter=splitter).splitter is splitter  # type: ignore[arg-type]
        assert Index(preset="paper", splitter=splitter).splitter is splitter  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"splitter must be .*; got int"):
        Index(splitter=3)  # type: ignore[arg-type]


def test_the_warning_of_a_nameless_setting_is_of_the_line_that_saves(
    tmp_path: Path,
) -> None:
    index = Index(embedder=HashEmbedder(), llm=lambda prompt: "x")
    with pytest.warns(UserWarning, match="without a name") as caught:
        index.save(tmp_path / "index")
    assert {warning.filename for warning in caught} == {__file__}
