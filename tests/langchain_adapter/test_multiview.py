"""MultiViewRetriever as a LangChain retriever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import DOCUMENTS, EMBEDDING, PETS, facts, multiview
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    EvidenceRetriever,
    FixedTextSplitter,
    MultiViewRetriever,
)
from structrag.errors import InvalidParameter

KINDS = pytest.mark.parametrize("kind", ["lsa", "embedding", "vectorstore"])


@KINDS
def test_results_are_plain_documents_with_exact_offsets(kind: str) -> None:
    found = multiview(kind, k=3).invoke("When do cats purr?")
    assert len(found) == 3
    best = next(d for d in found if "purr" in d.page_content)
    assert type(best) is Document
    assert best.page_content == "## Cats\n\nCats purr when they are content."
    meta = best.metadata
    assert PETS[meta["start_index"] : meta["end_index"]] == best.page_content
    assert meta["heading_path"] == "Pets > Cats"
    assert (meta["doc_id"], meta["source"], meta["year"], meta["seen"]) == (
        "pets.md",
        "pets.md",
        2020,
        "2020-01-02",
    )
    assert best.id == f"pets.md:{meta['start_index']}-{PETS.index('## Dogs')}"
    assert meta["routes"]["bm25:raw"] == 1
    assert set(meta["views_hit"]) <= {"raw", "summary", "keywords"}
    assert [d.metadata["rank"] for d in found] == [1, 2, 3]
    for document in found:
        assert json.loads(json.dumps(document.metadata)) == document.metadata


@KINDS
async def test_sync_equals_async_and_results_repeat(kind: str) -> None:
    retriever = multiview(kind)
    again = multiview(kind)
    for query in ("stars", "Dogs bark", "nothing like it", " "):
        assert (
            facts(retriever.invoke(query))
            == facts(await retriever.ainvoke(query))
            == facts(again.invoke(query))
        )
    grown = await MultiViewRetriever.afrom_documents(
        DOCUMENTS, **({"embedding": EMBEDDING} if kind == "embedding" else {})
    )
    if kind != "vectorstore":
        assert facts(grown.invoke("stars")) == facts(retriever.invoke("stars"))


@KINDS
async def test_k_and_where_at_the_call(kind: str) -> None:
    retriever = multiview(kind, k=2)
    assert [len(retriever.invoke("moon", k=k)) for k in (1, 3, 5, 99)] == [1, 3, 5, 5]
    assert len(retriever.invoke("moon")) == 2
    assert len(await retriever.ainvoke("moon", k=1)) == 1
    for where in (
        {"year": 2020},
        {"doc_id": "pets.md"},
        lambda meta: meta["year"] < 2021,
    ):
        assert {
            d.metadata["doc_id"] for d in retriever.invoke("moon", k=9, where=where)
        } == {"pets.md"}
    assert {
        d.metadata["doc_id"]
        for d in await retriever.ainvoke("moon", where={"year": [2021]})
    } == {"sky.md"}
    with pytest.raises(InvalidParameter, match="where"):
        retriever.invoke("moon", where={"yaer": 2020})
    with pytest.raises(TypeError):
        retriever.invoke("moon", top_k=3)


def test_from_texts_takes_metadata() -> None:
    retriever = MultiViewRetriever.from_texts(
        ["# A\n\none", "# B\n\ntwo"], metadatas=[{"n": 1}, {"n": 2}], k=1
    )
    assert retriever.invoke("two")[0].metadata["n"] == 2
    with pytest.raises(InvalidParameter, match="metadatas"):
        MultiViewRetriever.from_texts(["a", "b"], metadatas=[{}])


def test_splitters_of_this_package_are_taken_and_others_refused() -> None:
    by_size = MultiViewRetriever.from_documents(
        DOCUMENTS, splitter=ContentAwareTextSplitter(chunk_size=30)
    )
    assert all(len(d.page_content) <= 30 for d in by_size.invoke("cats", k=99))
    fixed = MultiViewRetriever.from_documents(
        DOCUMENTS, splitter=FixedTextSplitter(chunk_size=4000)
    )
    assert len(fixed.invoke("cats", k=99)) == 2
    with pytest.raises(InvalidParameter, match="splitter"):
        MultiViewRetriever.from_documents(
            DOCUMENTS, splitter=RecursiveCharacterTextSplitter()
        )


def test_other_bad_arguments() -> None:
    with pytest.raises(InvalidParameter, match="embedding"):
        MultiViewRetriever.from_documents(
            DOCUMENTS, EMBEDDING, vectorstore=InMemoryVectorStore(EMBEDDING)
        )
    with pytest.raises(InvalidParameter, match="vectorstore"):
        MultiViewRetriever.from_documents(DOCUMENTS, vectorstore="chroma")
    with pytest.raises(InvalidParameter, match="documents"):
        MultiViewRetriever.from_documents(["text"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        MultiViewRetriever.from_documents(DOCUMENTS, chunk_siez=3)


def test_documents_are_kept_in_a_store(tmp_path: Path) -> None:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    documents = [Document("# Pump\n\nIt leaks.", id="a"), Document("A valve.", id="b")]
    store = f"lancedb:{tmp_path}"
    made = MultiViewRetriever.from_documents(documents, EMBEDDING, store=store, k=1)
    (found,) = made.invoke("pump leaks", where={"doc_id": "a"})
    assert (
        found.page_content == "# Pump\n\nIt leaks." and found.metadata["doc_id"] == "a"
    )
    opened = MultiViewRetriever.load(store, EMBEDDING, k=1)
    assert opened.invoke("pump leaks") == made.invoke("pump leaks", where=None)
    with pytest.raises(RuntimeError, match="not saved by EvidenceRetriever"):
        EvidenceRetriever.load(store, EMBEDDING)
    with pytest.raises(ValueError, match="a folder for D3Index"):
        D3Retriever.load(store, EMBEDDING)
