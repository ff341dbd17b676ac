"""TreeRetriever as a LangChain retriever: sections, summaries, the walk, saving and loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords, Scripted, facts

from langchain_structrag import TreeRetriever
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever as CoreRetriever

TEXT = (
    "# Garden\n\nAll about gardens.\n\n"
    "## Pump\n\nAbout it.\n\n### Filter\n\nThe pump filter is rinsed.\n\n"
    "### Motor\n\nThe pump motor is oiled.\n\n"
    "## Trees\n\nApples.\n\n### Plums\n\nPlums are sweet.\n"
)
DOCUMENTS = [
    Document(TEXT, metadata={"source": "garden.md", "year": 2020}),
    Document(
        "# Sea\n\nWhales.\n\n## Fish\n\nHerring.\n", metadata={"source": "sea.md"}
    ),
]
QUESTION = "Is the pump motor oiled, and the pump filter rinsed?"


def named(prompt: str) -> str:
    """The number of the trees, or of the garden's document; of a text a summary."""
    for title in ("Trees", "Garden"):
        for line in prompt.splitlines():
            if line.startswith("[") and line.endswith(f"] {title}"):
                return line.partition(" ")[0]
    return "A summary."


@pytest.mark.parametrize("options", [{"embedding": "lsa"}, {"embedding": BagOfWords()}])
async def test_results_are_exact_slices_sync_and_async(options: dict[str, Any]) -> None:
    retriever = TreeRetriever.from_documents(DOCUMENTS, **options, k=2, merge_share=0.4)
    found = retriever.invoke(QUESTION)
    texts = {
        document.metadata["source"]: document.page_content for document in DOCUMENTS
    }
    for document in found:
        meta = document.metadata
        assert json.loads(json.dumps(meta)) == meta
        text = texts[meta["doc_id"]]
        assert text[meta["start_index"] : meta["end_index"]] == document.page_content
    assert facts(await retriever.ainvoke(QUESTION)) == facts(found)
    (merged,) = found
    assert merged.metadata["heading_path"] == "Garden > Pump"
    assert len(merged.metadata["tree_merged"]) == 2
    assert "filter" in merged.metadata["tree_summary"]
    assert (
        retriever.invoke(QUESTION, k=1, where={"source": "sea.md"})[0].metadata["rank"]
        == 1
    )


def test_it_is_the_core_retriever() -> None:
    retriever = TreeRetriever.from_documents(
        DOCUMENTS, "lsa", merge_share=0.6, max_tokens=60
    )
    core = CoreRetriever(retriever.index, merge_share=0.6, max_tokens=60)
    hits = core.search(QUESTION)
    assert [hit.chunk.id for hit in hits] == [d.id for d in retriever.invoke(QUESTION)]
    with pytest.raises(ValueError, match="merge_share"):
        TreeRetriever(index=TreeIndex(), merge_share=3)


def test_a_chat_model_writes_summaries_and_walks() -> None:
    model = Scripted(script=named)
    retriever = TreeRetriever.from_documents(
        DOCUMENTS, "lsa", llm=model, summary_tokens=8, merge_share=None, k=3
    )
    assert retriever.index.nodes("garden.md")[0].extras["summary"] == "A summary."
    found = retriever.invoke(QUESTION)
    assert found[0].metadata["heading_path"].startswith("Garden > Trees")
    assert found[0].metadata["tree_walk"][-1] == "Trees"
    plain = TreeRetriever.from_documents(DOCUMENTS, "lsa", llm=model, summariser=None)
    assert plain.index.usage.calls == 0


def test_save_load_change_and_a_vector_store(tmp_path: Path) -> None:
    retriever = TreeRetriever.from_documents(DOCUMENTS, "lsa", fan_out=3)
    retriever.save(tmp_path / "tree")
    loaded = TreeRetriever.load(tmp_path / "tree")
    assert loaded.add_documents(DOCUMENTS).unchanged == 2
    assert facts(loaded.invoke(QUESTION)) == facts(retriever.invoke(QUESTION))
    assert loaded.delete("garden.md") and loaded.index.document_ids == ["sea.md"]
    store = InMemoryVectorStore(BagOfWords())
    stored = TreeRetriever.from_documents(DOCUMENTS, vectorstore=store, k=2)
    assert (
        stored.invoke(QUESTION)[0].metadata["heading_path"].startswith("Garden > Pump")
    )
