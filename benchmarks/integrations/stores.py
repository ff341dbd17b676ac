"""Chunks and retrievers of both adapters on real vector stores, as a table.

python benchmarks/integrations/stores.py

Documents are mixed: without headings, HTML, Markdown with a long table. They go into each store
through its own `from_documents` (or its index), twice in a row, and the store keeps a retriever's
views. A store whose package is not installed is left out and named; the extra `stores` has all but
one. No model is needed. benchmarks/results/integrations.md holds the tables, and
tests/benchmarks/test_integrations.py compares them with what comes out.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SIZE = 32
WIDTH = 90  # of an error in the table
ROWS = "".join(f"| part {i} | {i} |\n" for i in range(60))
GUIDE = (
    "A preface.\n\n# Guide\n\nPumps move water. Seals leak.\n\n## Cleaning\n\nRinse the filter. "
    f"Dry it.\n\n## Parts\n\n| Name | Price |\n|---|---|\n{ROWS}"
)
TEXTS = {
    "plain.txt": "Just a paragraph.",
    "page.html": "<h1>Page</h1><p>One &amp; two.</p><p>Three.</p>",
    "guide.md": GUIDE,
}
QUESTION = "How is the filter rinsed?"
COLUMNS = (
    "chunks",
    "again",
    "retriever",
    "same as in memory",
    "condition",
    "queries",
    "replace and delete",
)


def vector(text: str) -> list[float]:
    """A text's words, hashed into places."""
    places = [
        int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16) % SIZE
        for word in re.findall(r"\w+", text.lower())
    ]
    counts = [0.01 + places.count(place) for place in range(SIZE)]
    length = sum(count * count for count in counts) ** 0.5
    return [count / length for count in counts]  # so that distances order as cosines do


# Parts of errors that are known, and what the table says of them.
KNOWN = {
    "Tried to add ids that already exist": "refuses ids that it has",
    "must filter by metadata": "refused: it cannot filter by metadata",
    "unexpected keyword argument 'ids'": "takes no documents with ids",
    "No field named": "its `delete` fails",
}


def said(error: BaseException) -> str:
    """An error in the width of a table."""
    for part, words in KNOWN.items():
        if part in str(error):
            return words
    text = f"{type(error).__name__}: {error}".replace("|", "/")
    return " ".join(text.split())[:WIDTH]


def tried(step: Callable[[], Any]) -> str:
    """What a step gave, or the error."""
    try:
        return str(step())
    except Exception as error:  # noqa: BLE001 - the table shows it
        return said(error)


def lang_chain() -> Iterator[tuple[str, list[str]]]:
    """A row for each of LangChain's stores."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    from langchain_structrag import ContentAwareTextSplitter, MultiViewRetriever

    class Words(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    documents = [
        Document(text, metadata={"source": name}) for name, text in TEXTS.items()
    ]
    splitter = ContentAwareTextSplitter(chunk_size=120)
    chunks = splitter.split_documents([*documents, *documents])
    folder = Path(tempfile.mkdtemp())

    def chroma(name: str) -> tuple[Any, dict[str, Any]]:
        return import_module("langchain_chroma").Chroma, {
            "collection_name": f"store-{name}"
        }

    def qdrant(name: str) -> tuple[Any, dict[str, Any]]:
        kind = import_module("langchain_qdrant").QdrantVectorStore
        return kind, {"location": ":memory:", "collection_name": name}

    def faiss(name: str) -> tuple[Any, dict[str, Any]]:
        import_module("faiss")
        return import_module("langchain_community.vectorstores").FAISS, {}

    def milvus(name: str) -> tuple[Any, dict[str, Any]]:
        kind = import_module("langchain_milvus").Milvus
        return kind, {
            "connection_args": {"uri": str(folder / f"{name}.db")},
            "collection_name": name,
            "index_params": {"index_type": "FLAT", "metric_type": "COSINE"},
        }

    def lance(name: str) -> tuple[Any, dict[str, Any]]:
        kind = import_module("langchain_community.vectorstores").LanceDB
        import_module("lancedb")
        return kind, {"uri": str(folder / name), "table_name": name, "mode": "append"}

    def in_memory(name: str) -> tuple[Any, dict[str, Any]]:
        return import_module("langchain_core.vectorstores").InMemoryVectorStore, {}

    stores = {
        "InMemoryVectorStore": in_memory,
        "Chroma": chroma,
        "Qdrant (local)": qdrant,
        "FAISS": faiss,
        "Milvus Lite": milvus,
        "LanceDB": lance,
    }
    own = MultiViewRetriever.from_documents(documents, Words())
    for store_name, make in stores.items():
        try:
            make("probe")
        except ImportError as error:
            yield (
                store_name,
                [f"left out: {error.name or error} is not installed", *[""] * 6],
            )
            continue

        def into_store(make: Any = make) -> str:
            kind, options = make("chunks")
            try:
                store = kind.from_documents(chunks, Words(), **options)
            # langchain-community's LanceDB takes no documents with ids.
            except TypeError as error:
                store = kind(embedding=Words(), **options)
                store.add_documents(chunks)
                into_store.note = f" by `add_documents`; `from_documents` {said(error)}"  # type: ignore
            into_store.store = store  # type: ignore[attr-defined]
            found = store.similarity_search(QUESTION, k=4)
            paths = {document.metadata["heading_path"] for document in found}
            note = getattr(into_store, "note", "")
            return f"yes{note}" if "Guide > Cleaning" in paths else str(paths)

        def again() -> str:
            store = into_store.store  # type: ignore[attr-defined]
            store.add_documents(chunks, ids=[chunk.id for chunk in chunks])
            found = store.similarity_search(QUESTION, k=3)
            contents = [document.page_content for document in found]
            # Each document is there twice.
            return "overwrites" if contents.count(contents[0]) <= 2 else "doubles"

        row = [tried(into_store), tried(again)]
        yield store_name, [*row, *views_in_store(make, documents, own, Words)]


def views_in_store(
    make: Any, documents: list[Any], own: Any, embeddings: Any
) -> list[str]:
    """What a LangChain store does as the `vectorstore` of a retriever."""
    from langchain_core.documents import Document

    from langchain_structrag import MultiViewRetriever

    kind, options = make("views")
    calls: list[int] = []
    holder: list[Any] = []

    def build() -> str:
        if kind.__name__ in ("InMemoryVectorStore",):
            store = kind(embeddings())
        else:  # some make their collection only with a first document
            first = Document(
                "First.", metadata={"structrag_view": "", "structrag_chunk": ""}
            )
            first.metadata["structrag_document"] = ""
            store = kind.from_documents([first], embeddings(), **options)
        search = store.similarity_search_with_score

        def counted(*arguments: Any, **settings: Any) -> Any:
            calls.append(1)
            return search(*arguments, **settings)

        store.similarity_search_with_score = counted
        holder.append(MultiViewRetriever.from_documents(documents, vectorstore=store))
        return "built"

    def same() -> str:
        calls.clear()
        ids = [found.id for found in holder[0].invoke(QUESTION)]
        return (
            "yes"
            if ids == [found.id for found in own.invoke(QUESTION)]
            else "other order"
        )

    def condition() -> str:
        found = holder[0].invoke(QUESTION, where={"source": "page.html"})
        return "yes" if {d.metadata["source"] for d in found} == {"page.html"} else "no"

    def replaced() -> str:
        new = Document("# Guide\n\nNothing to rinse.", metadata={"source": "guide.md"})
        holder[0].add_documents([new])
        holder[0].delete("page.html")
        sources = {d.metadata["source"] for d in holder[0].invoke(QUESTION, k=99)}
        return "yes" if sources == {"guide.md", "plain.txt"} else str(sources)

    row = [tried(build), tried(same), f"{len(calls)} for 3 views", tried(condition)]
    return [row[0], row[1], row[3], row[2], tried(replaced)]


def llama_index() -> Iterator[tuple[str, list[str]]]:
    """A row for each of LlamaIndex's stores."""
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding

    from llama_index_structrag import ContentAwareNodeParser, MultiViewRetriever

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

    folder = Path(tempfile.mkdtemp())

    def documents() -> list[Any]:
        return [
            Document(text=text, id_=name, metadata={"file_name": name})
            for name, text in TEXTS.items()
        ]

    def simple(name: str) -> Any:
        return import_module("llama_index.core.vector_stores").SimpleVectorStore()

    def chroma(name: str) -> Any:
        collection = (
            import_module("chromadb").EphemeralClient().get_or_create_collection(name)
        )
        return import_module("llama_index.vector_stores.chroma").ChromaVectorStore(
            chroma_collection=collection
        )

    def qdrant(name: str) -> Any:
        client = import_module("qdrant_client").QdrantClient(location=":memory:")
        return import_module("llama_index.vector_stores.qdrant").QdrantVectorStore(
            client=client, collection_name=name
        )

    def lance(name: str) -> Any:
        return import_module("llama_index.vector_stores.lancedb").LanceDBVectorStore(
            uri=str(folder / name), table_name=name
        )

    def milvus(name: str) -> Any:
        return import_module("llama_index.vector_stores.milvus").MilvusVectorStore(
            uri=str(folder / f"{name}.db"), dim=SIZE, collection_name=name
        )

    def faiss(name: str) -> Any:
        index = import_module("faiss").IndexFlatIP(SIZE)
        return import_module("llama_index.vector_stores.faiss").FaissVectorStore(
            faiss_index=index
        )

    stores = {
        "SimpleVectorStore": simple,
        "Chroma": chroma,
        "Qdrant (local)": qdrant,
        "FAISS": faiss,
        "Milvus Lite": milvus,
        "LanceDB": lance,
    }
    own = MultiViewRetriever.from_documents(documents(), embed_model=Words())
    parser = ContentAwareNodeParser(chunk_size=60)
    for store_name, make in stores.items():
        try:
            make("probe")
        except ImportError as error:
            yield (
                store_name,
                [f"left out: {error.name or error} is not installed", *[""] * 6],
            )
            continue
        holder: dict[str, Any] = {}

        def into_store(make: Any = make, holder: Any = holder) -> str:
            context = StorageContext.from_defaults(vector_store=make("chunks"))
            index = VectorStoreIndex.from_documents(
                documents(),
                storage_context=context,
                embed_model=Words(),
                transformations=[parser],
            )
            holder["index"] = index
            found = index.as_retriever(similarity_top_k=50).retrieve(QUESTION)
            paths = {scored.node.metadata["heading_path"] for scored in found}
            return "yes" if "Guide > Cleaning" in paths else str(paths)

        def again(holder: Any = holder) -> str:
            index = holder["index"]
            index.insert_nodes(parser.get_nodes_from_documents(documents()))
            found = index.as_retriever(similarity_top_k=50).retrieve(QUESTION)
            texts = [scored.node.get_content() for scored in found]
            return "overwrites" if len(set(texts)) == len(texts) else "doubles"

        def build(make: Any = make, holder: Any = holder) -> str:
            store = make("views")
            calls: list[int] = []
            query = type(store).query

            class Counting(type(store)):  # type: ignore[misc]
                def query(self, *arguments: Any, **settings: Any) -> Any:
                    calls.append(1)
                    return query(self, *arguments, **settings)

            store.__class__ = Counting
            Counting.__name__ = type(store).__mro__[1].__name__
            holder["calls"] = calls
            holder["retriever"] = MultiViewRetriever.from_documents(
                documents(), embed_model=Words(), vector_store=store
            )
            return "built"

        def same(holder: Any = holder) -> str:
            holder["calls"].clear()
            ids = [
                scored.node.node_id for scored in holder["retriever"].retrieve(QUESTION)
            ]
            holder["asked"] = len(holder["calls"])
            expected = [scored.node.node_id for scored in own.retrieve(QUESTION)]
            return "yes" if ids == expected else "other order"

        def condition(holder: Any = holder) -> str:
            holder["retriever"].where = {"file_name": "page.html"}
            found = {
                scored.node.ref_doc_id
                for scored in holder["retriever"].retrieve(QUESTION)
            }
            holder["retriever"].where = None
            return "yes" if found == {"page.html"} else str(found)

        def replaced(holder: Any = holder) -> str:
            retriever = holder["retriever"]
            retriever.add(
                [Document(text="# Guide\n\nNothing to rinse.", id_="guide.md")]
            )
            retriever.delete("page.html")
            found = {scored.node.ref_doc_id for scored in retriever.retrieve(QUESTION)}
            return "yes" if found == {"guide.md", "plain.txt"} else str(found)

        row = [tried(into_store), tried(again), tried(build)]
        if row[2] != "built":
            yield store_name, [*row, "", "", "", ""]
            continue
        row += [tried(same), tried(condition)]
        yield (
            store_name,
            [*row, f"{holder.get('asked', 0)} for 3 views", tried(replaced)],
        )


TABLES = {"LangChain": lang_chain, "LlamaIndex": llama_index}


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    for title, rows in TABLES.items():
        print(f"\n**{title}**\n")
        print(f"| store | {' | '.join(COLUMNS)} |")
        print("|---" * (len(COLUMNS) + 1) + "|")
        for name, cells in rows():
            print(f"| {name} | {' | '.join(cells)} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
