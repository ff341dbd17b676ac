"""HiQARetriever as a LangChain retriever: routes of the host, metadata, packing, tuning."""

from __future__ import annotations

import re
from tempfile import mkdtemp
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords, facts

from langchain_structrag import HiQARetriever

NAMES = ["LM358", "TL431", "NE555", "BC547"]
MANUAL = (
    "# {name}\n\nA part for many uses.\n\n## Limits\n\nThe supply voltage is given here.\n\n"
    "| Rating | Value |\n|---|---|\n| Supply voltage | 32 V |\n| Power | 830 mW |\n\n"
    "## Pins\n\n![Pin layout](img/pins.png)\n\nFigure 1: the pins from above\n\nThere are eight of "
    "them.\n"
)
DOCUMENTS = [
    Document(
        page_content=MANUAL.format(name=name),
        metadata={"source": f"{name}.md", "year": 2000 + i},
    )
    for i, name in enumerate(NAMES)
]


class WordRetriever(BaseRetriever):
    """A search engine of the host: counts common words. `keep` says what of a document's facts it
    gives back."""

    documents: list[Document]
    keep: Any = None
    k: int = 50
    log: list[str] = []  # noqa: RUF012

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any
    ) -> list[Document]:
        self.log.append(query)
        wanted = set(re.findall(r"\w+", query.lower()))
        counts = [
            (len(wanted & set(re.findall(r"\w+", d.page_content.lower()))), d)
            for d in self.documents
        ]
        best = sorted((pair for pair in counts if pair[0]), key=lambda pair: -pair[0])[
            : self.k
        ]
        return [self.keep(d, count) if self.keep else d for count, d in best]


EMBEDDING = BagOfWords()
MODELS: dict[str, Any] = {
    "lsa": lambda: {},
    "embedding": lambda: {"embedding": EMBEDDING},
    "vectorstore": lambda: {"vectorstore": InMemoryVectorStore(EMBEDDING)},
    "lancedb": lambda: {"embedding": EMBEDDING, "store": f"lancedb:{mkdtemp()}"},
}
KINDS = pytest.mark.parametrize("kind", list(MODELS))


def made(kind: str, **options: Any) -> HiQARetriever:
    if kind == "lancedb":
        pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    return HiQARetriever.from_documents(DOCUMENTS, **MODELS[kind](), **options)


# -- any retriever in place of BM25


def by_id(document: Document, count: int) -> Document:
    return Document(page_content=document.page_content, id=document.id)


def as_elasticsearch(document: Document, count: int) -> Document:
    source = {"text": document.page_content, "metadata": document.metadata}
    return Document(
        page_content="",
        metadata={"_index": "i", "_id": "7", "_score": count * 1.5, "_source": source},
    )


def by_elasticsearch_id(document: Document, count: int) -> Document:
    return Document(
        page_content="",
        metadata={"_id": document.id, "_score": count * 1.5, "_source": {}},
    )


@KINDS
@pytest.mark.parametrize("keep", [None, by_id, as_elasticsearch, by_elasticsearch_id])
async def test_results_of_a_host_are_mapped_by_id(kind: str, keep: Any) -> None:
    retriever = made(kind, k=3, routes=["bm25"])
    engine = WordRetriever(documents=retriever.segments(), keep=keep, log=[])
    retriever.lexical = engine
    found = retriever.invoke("supply voltage of the BC547")
    assert engine.log == ["supply voltage of the BC547"]
    assert found[0].metadata["doc_id"] == "BC547.md"
    assert found[0].metadata["routes"] == {"bm25": 1}
    assert facts(await retriever.ainvoke("supply voltage of the BC547")) == facts(found)
    # The host's scores, not the ranks.
    if keep in (as_elasticsearch, by_elasticsearch_id):
        assert (
            found[0].metadata["score"]
            == found[1].metadata["score"]
            == pytest.approx(1.0)
        )
        assert 0.5 <= found[2].metadata["score"] < 1.0
    else:
        assert [d.metadata["score"] for d in found] == pytest.approx([1.0, 0.5, 1 / 3])
    narrowed = retriever.invoke("supply voltage", k=9, where={"doc_id": "TL431.md"})
    assert narrowed and {d.metadata["doc_id"] for d in narrowed} == {"TL431.md"}


async def test_the_hosts_search_is_a_child_run() -> None:
    runs: list[tuple[str, Any, Any]] = []

    class Recorder(BaseCallbackHandler):
        def on_retriever_start(
            self,
            serialized: Any,
            query: str,
            *,
            run_id: Any,
            parent_run_id: Any = None,
            **kwargs: Any,
        ) -> None:
            runs.append((query, run_id, parent_run_id))

    retriever = made("embedding")
    retriever.lexical = WordRetriever(documents=retriever.segments())
    retriever.invoke("pins", config={"callbacks": [Recorder()]})
    await retriever.ainvoke("pins", config={"callbacks": [Recorder()]})
    assert len(runs) == 4
    assert runs[1][2] == runs[0][1] and runs[3][2] == runs[2][1]


# -- packing and tuning
