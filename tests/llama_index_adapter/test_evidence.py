"""Evidence within a token budget in LlamaIndex."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    NodeWithScore,
    TextNode,
)

from llama_index_structrag import (
    EvidencePostprocessor,
    EvidenceRetriever,
)
from structrag.errors import InvalidParameter

PUMP = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n"
CATS = "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n"
QUESTION = "How often do I rinse the filter?"


def documents() -> list[Document]:
    return [
        Document(text=PUMP, id_="pump", metadata={"year": 2020}),
        Document(text=CATS, id_="cats", metadata={"year": 2021}),
    ]


def test_in_a_query_engine_with_its_postprocessor() -> None:
    retriever = EvidenceRetriever.from_documents(documents())
    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=MockLLM(),
        node_postprocessors=[EvidencePostprocessor(max_tokens=8)],
    )
    response = engine.query(QUESTION)
    assert [node.text for node in response.source_nodes] == [
        "Rinse the filter every week."
    ]


def test_a_postprocessor_heeds_settings_that_change() -> None:
    text = "Cats sleep. The blue pump leaks at the seal. The pump is old."
    nodes = [NodeWithScore(node=TextNode(text=text))]
    postprocessor = EvidencePostprocessor(max_tokens=100)
    postprocessor.max_tokens = 10
    other = EvidencePostprocessor().model_copy(update={"max_tokens": 10})
    for each in (postprocessor, other):
        found = each.postprocess_nodes(nodes, query_str="Which pump leaks at the seal?")
        assert [node.text for node in found] == ["The blue pump leaks at the seal."]
    postprocessor.max_tokens = 0
    with pytest.raises(InvalidParameter, match="max_tokens must be"):
        postprocessor.postprocess_nodes(nodes, query_str="pump")
