"""HiQARetriever as a LangChain retriever: routes of the host, metadata, packing, tuning."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_fakes import BagOfWords

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


# -- any retriever in place of BM25


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

    retriever = HiQARetriever.from_documents(DOCUMENTS, BagOfWords())
    retriever.lexical = WordRetriever(documents=retriever.segments())
    retriever.invoke("pins", config={"callbacks": [Recorder()]})
    await retriever.ainvoke("pins", config={"callbacks": [Recorder()]})
    assert len(runs) == 4
    assert runs[1][2] == runs[0][1] and runs[3][2] == runs[2][1]


@pytest.mark.parametrize("keep", [as_elasticsearch, by_elasticsearch_id])
def test_results_of_elasticsearch_are_mapped_with_its_scores(keep: Any) -> None:
    retriever = HiQARetriever.from_documents(
        DOCUMENTS, BagOfWords(), k=3, routes=["bm25"]
    )
    retriever.lexical = WordRetriever(documents=retriever.segments(), keep=keep)
    found = retriever.invoke("supply voltage of the BC547")
    assert found[0].metadata["doc_id"] == "BC547.md"
    first, second, third = (one.metadata["score"] for one in found)
    assert first == second == pytest.approx(1.0) and 0.5 <= third < 1.0
