"""TreeRetriever in LlamaIndex: sections, summaries, the walk, prompts, saving and loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import MetadataMode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import TreeRetriever
from structrag.errors import UnknownArgument
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever as CoreRetriever

TEXT = (
    "# Garden\n\nAll about gardens.\n\n"
    "## Pump\n\nAbout it.\n\n### Filter\n\nThe pump filter is rinsed.\n\n"
    "### Motor\n\nThe pump motor is oiled.\n\n"
    "## Trees\n\nApples.\n\n### Plums\n\nPlums are sweet.\n"
)
DOCUMENTS = [
    Document(text=TEXT, id_="garden", metadata={"year": 2020}),
    Document(text="# Sea\n\nWhales.\n\n## Fish\n\nHerring.\n", id_="sea"),
]
QUESTION = "Is the pump motor oiled, and the pump filter rinsed?"


def made(**options: Any) -> TreeRetriever:
    options = {
        "embed_model": HashEmbedding(),
        "similarity_top_k": 2,
        "merge_share": 0.4,
        **options,
    }
    return TreeRetriever.from_documents(DOCUMENTS, **options)


async def test_nodes_are_exact_slices_sync_and_async() -> None:
    retriever = made()
    (scored,) = retriever.retrieve(QUESTION)
    node: Any = scored.node
    assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
    assert (
        node.metadata["heading_path"] == "Garden > Pump" and node.ref_doc_id == "garden"
    )
    assert (
        len(node.metadata["tree_merged"]) == 2
        and "filter" in node.metadata["tree_summary"]
    )
    assert json.loads(json.dumps(node.metadata)) == node.metadata
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "tree_" not in node.get_content(mode)
    (found,) = await retriever.aretrieve(QUESTION)
    assert (found.node.node_id, found.score) == (node.node_id, scored.score)


def test_it_is_the_core_retriever() -> None:
    retriever = made(merge_share=None, similarity_top_k=4, levels=False)
    core = CoreRetriever(retriever.index, merge_share=None, k=4, levels=False)
    found = [scored.node.node_id for scored in retriever.retrieve(QUESTION)]
    assert found == [hit.chunk.id for hit in core.search(QUESTION)]
    again = TreeRetriever.from_index(
        retriever.index, k=4, merge_share=None, levels=False
    )
    assert [scored.node.node_id for scored in again.retrieve(QUESTION)] == found
    with pytest.raises(ValueError, match="merge_share"):
        made(merge_share=3)
    with pytest.raises(UnknownArgument, match="merge_shar"):
        made(merge_shar=3)


def test_an_llm_writes_summaries_and_walks_by_its_prompt() -> None:
    llm = ScriptedLLM(answer="2")
    retriever = made(
        llm=llm, summariser=ScriptedLLM(answer="A summary."), summary_tokens=8
    )
    assert retriever.index.nodes("garden")[0].extras["summary"] == "A summary."
    prompt = PromptTemplate("{options}\nQ: {question}\nNumber:")
    retriever.update_prompts({"walk_prompt": prompt})
    (node, *_) = retriever.retrieve(QUESTION)
    assert node.metadata["tree_walk"][0] in ("Garden", "Sea")
    assert llm.prompts[0].endswith(f"Q: {QUESTION}\nNumber:")
    assert set(retriever.get_prompts()) == {"walk_prompt"}
    assert made(llm=llm, summariser=None).index.usage.calls == 0


async def test_save_load_change_and_a_vector_store(tmp_path: Path) -> None:
    retriever = made(fan_out=3)
    retriever.save(tmp_path / "tree")
    options: Any = {
        "embed_model": HashEmbedding(),
        "similarity_top_k": 2,
        "merge_share": 0.4,
    }
    loaded = TreeRetriever.load(tmp_path / "tree", **options)
    assert (await loaded.aadd(DOCUMENTS)).unchanged == 2
    assert [n.node_id for n in loaded.retrieve(QUESTION)] == [
        n.node_id for n in retriever.retrieve(QUESTION)
    ]
    assert loaded.delete("garden") and loaded.index.document_ids == ["sea"]
    stored = made(vector_store=SimpleVectorStore(stores_text=True))
    assert isinstance(stored.index, TreeIndex)
    assert (
        stored.retrieve(QUESTION)[0]
        .metadata["heading_path"]
        .startswith("Garden > Pump")
    )
