"""How stores are asked for a view and for documents, in each one's own language."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_structrag.stores import known_filter
from structrag.integrations.metadata import DOCUMENT_KEY, VIEW_KEY


def named(name: str, **attributes: Any) -> Any:
    """An object of a class of this name."""
    return type(name, (), attributes)()


def test_chroma_and_milvus_have_a_language() -> None:
    chroma, milvus = known_filter(named("Chroma")), known_filter(named("Milvus"))
    assert chroma and milvus
    assert chroma("raw", None) == {"filter": {VIEW_KEY: "raw"}}
    among = {"$and": [{VIEW_KEY: "raw"}, {DOCUMENT_KEY: {"$in": ["a"]}}]}
    assert chroma("raw", ["a"]) == {"filter": among}
    assert milvus("raw", None) == {"expr": f'{VIEW_KEY} == "raw"'}
    expression = f'{VIEW_KEY} == "raw" and {DOCUMENT_KEY} in ["\\"a\\"", "ö"]'
    assert milvus("raw", ['"a"', "ö"]) == {"expr": expression}


def test_faiss_filters_all_that_it_has() -> None:
    faiss = known_filter(named("FAISS", index_to_docstore_id={0: "a", 1: "b"}))
    assert faiss
    options = faiss("raw", ["a"])
    assert options["fetch_k"] == 2
    assert options["filter"]({VIEW_KEY: "raw", DOCUMENT_KEY: "a"})
    assert not options["filter"]({VIEW_KEY: "raw", DOCUMENT_KEY: "b"})
    assert not options["filter"]({})


def test_qdrant_has_conditions_below_its_payload() -> None:
    pytest.importorskip("qdrant_client")
    qdrant = known_filter(named("QdrantVectorStore", metadata_payload_key="meta"))
    assert qdrant
    conditions = qdrant("raw", ["a"])["filter"].must
    assert [condition.key for condition in conditions] == [
        f"meta.{VIEW_KEY}",
        f"meta.{DOCUMENT_KEY}",
    ]


def test_a_subclass_is_known_and_others_are_not() -> None:
    class Mine(InMemoryVectorStore):
        pass

    in_memory = known_filter(Mine(DeterministicFakeEmbedding(size=4)))
    assert in_memory
    belongs = in_memory("raw", None)["filter"]
    assert belongs(Document("x", metadata={VIEW_KEY: "raw"}))
    assert not belongs(Document("x"))
    assert known_filter(named("Other")) is None
