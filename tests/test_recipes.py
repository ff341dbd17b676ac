"""The recipes "Keep your own store current" of docs/howto.md, over real stores: after an edit, a
deletion and a rename the store holds exactly the chunks of today, and only new texts were embedded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords
from llama_index.core import Document as LlamaDocument
from llama_index_fakes import HashEmbedding

PAGE = Path(__file__).resolve().parent.parent / "docs/howto.md"
SECTION = re.search(
    r"^## Keep your own store current\n(.*?)^## ",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
assert SECTION
ANY_STORE, INDEX, PIPELINE = re.findall(
    r"^```python\n(.*?)^```", SECTION[1], re.MULTILINE | re.DOTALL
)
Rows = list[tuple[str, list[tuple[str, Any]]]]


def manual(name: str, parts: int) -> str:
    return f"# {name}\n\n" + "".join(
        f"## Part {i}\n\nPart {i} of the {name} moves water. It is cleaned in week {i}.\n\n"
        for i in range(parts)
    )


BEFORE = {"a.md": manual("pump", 12), "b.md": manual("valve", 5), "c.md": "# Seal\n"}
EDITED = {**BEFORE, "a.md": BEFORE["a.md"].replace("week 6", "week 6. It is heavy")}
DELETED = {name: text for name, text in EDITED.items() if name != "b.md"}
RENAMED = {"new.md": DELETED["a.md"], "c.md": DELETED["c.md"]}
# What is in the folder, and how many texts are new.
DAYS = [(BEFORE, None), (EDITED, 1), (DELETED, 0), (RENAMED, 0), (RENAMED, 0)]


def row(text: str, metadata: dict[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    return text, sorted(metadata.items())


def in_memory(embeddings: Any) -> tuple[Any, Callable[[], Rows]]:
    store = InMemoryVectorStore(embeddings)
    return store, lambda: [
        row(one["text"], one["metadata"]) for one in store.store.values()
    ]


def faiss(embeddings: Any) -> tuple[Any, Callable[[], Rows]]:
    library = pytest.importorskip("faiss")
    stores = pytest.importorskip("langchain_community.vectorstores")
    from langchain_community.docstore.in_memory import InMemoryDocstore

    size = len(embeddings.embed_query("size"))
    store = stores.FAISS(embeddings, library.IndexFlatL2(size), InMemoryDocstore(), {})
    return store, lambda: [
        row(one.page_content, one.metadata) for one in store.docstore._dict.values()
    ]


def chroma(embeddings: Any) -> tuple[Any, Callable[[], Rows]]:
    module = pytest.importorskip("langchain_chroma")
    store = module.Chroma("recipes", embeddings)
    store.reset_collection()

    def rows() -> Rows:
        content = store.get()
        pairs = zip(content["documents"], content["metadatas"], strict=True)
        return [row(text, metadata) for text, metadata in pairs]

    return store, rows


def qdrant(embeddings: Any) -> tuple[Any, Callable[[], Rows]]:
    module = pytest.importorskip("langchain_qdrant")
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = len(embeddings.embed_query("size"))
    client.create_collection(
        "recipes", models.VectorParams(size=size, distance=models.Distance.COSINE)
    )
    store = module.QdrantVectorStore(client, "recipes", embeddings)

    def rows() -> Rows:
        points, _ = client.scroll("recipes", limit=1000)
        payloads = [point.payload for point in points]
        return [row(one["page_content"], one["metadata"]) for one in payloads]

    return store, rows


@pytest.mark.parametrize("make", [in_memory, faiss, chroma, qdrant])
@pytest.mark.parametrize("recipe", [ANY_STORE, INDEX], ids=["any store", "index()"])
def test_a_store_of_langchain_holds_the_chunks_of_today(
    recipe: str,
    make: Callable[[Any], tuple[Any, Callable[[], Rows]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"embeddings": BagOfWords(), "documents": []}
    exec(ANY_STORE, names)
    if recipe != ANY_STORE:
        exec(recipe, names)
    names["store"], rows = make(names["cached"])
    for files, fresh in DAYS:
        documents = [
            Document(text, metadata={"source": name}) for name, text in files.items()
        ]
        names["update"](documents)
        chunks = names["splitter"].split_documents(documents)
        assert sorted(rows()) == sorted(
            row(chunk.page_content, chunk.metadata) for chunk in chunks
        )
        told = capsys.readouterr().out
        assert fresh is None or told.endswith(f"texts embedded: {fresh}\n")


def test_a_pipeline_of_llama_index_holds_the_nodes_of_today(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"embed_model": HashEmbedding(), "documents": []}
    exec(PIPELINE, names)
    pipeline, kept = names["pipeline"], names["pipeline"].vector_store.data
    parser, _ = pipeline.transformations
    for files, fresh in DAYS:
        documents = [
            LlamaDocument(
                text=text,
                metadata={"file_path": name},
                excluded_embed_metadata_keys=["file_path"],  # as readers do
            )
            for name, text in files.items()
        ]
        names["update"](documents)
        nodes = {node.node_id: node for node in parser(documents)}
        assert set(kept.embedding_dict) == set(nodes)
        for name, node in nodes.items():
            assert node.metadata.items() <= kept.metadata_dict[name].items()
            assert kept.text_id_to_ref_doc_id[name] == node.ref_doc_id
        told = capsys.readouterr().out
        assert fresh is None or told.endswith(f"texts embedded: {fresh}\n")
