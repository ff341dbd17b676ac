"""What all retrievers of LlamaIndex share: scores that postprocessors can compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.postprocessor import (
    PrevNextNodePostprocessor,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index_fakes import HashEmbedding

from llama_index_structrag import (
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
)

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is made of brass.\n\n## Care\n\nOil the stem of the valve yearly.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
QUESTION = "How often do I rinse the filter of the PX-20?"


def documents() -> list[Document]:
    return [Document(text=text, id_=name) for name, text in TEXTS.items()]


@pytest.mark.parametrize(
    "kind", [MultiViewRetriever, HiQARetriever, D3Retriever, EvidenceRetriever]
)
def test_nodes_know_what_stands_beside_them(kind: Any) -> None:
    limit = {} if kind is D3Retriever else {"similarity_top_k": 6}
    retriever = kind.from_documents(documents(), embed_model=HashEmbedding(), **limit)
    (found,) = (
        one for one in retriever.retrieve(QUESTION) if "Rinse the filter" in one.text
    )
    assert found.node.next_node is None and found.node.prev_node is not None
    docstore = retriever.docstore()
    assert "It moves water." in docstore.get_node(found.node.prev_node.node_id).text
    postprocessor = PrevNextNodePostprocessor(
        docstore=docstore, num_nodes=1, mode="both"
    )
    around = postprocessor.postprocess_nodes([found])
    assert [node.node.ref_doc_id for node in around] == ["pump", "pump"]
    # The chain of each document goes through all of it.
    for node in docstore.docs.values():
        if node.prev_node is None:
            text = node.text
            while node.next_node is not None:
                assert (
                    docstore.get_node(node.next_node.node_id).prev_node.node_id
                    == node.node_id
                )
                node = docstore.get_node(node.next_node.node_id)
                text += node.text
            last_words = TEXTS[node.ref_doc_id].split()[-2:]
            assert set(last_words) <= set(text.split())


def test_arguments_of_a_subclass_are_arguments_of_from_documents() -> None:
    class Loud(MultiViewRetriever):
        def __init__(
            self, index: Any, *, volume: float = 1.0, **arguments: Any
        ) -> None:
            super().__init__(index, **arguments)
            self.volume = volume

    retriever = Loud.from_documents(
        documents(), embed_model=HashEmbedding(), volume=2.0
    )
    assert retriever.volume == 2.0 and retriever.retrieve(QUESTION)


@pytest.mark.parametrize("operator", FilterOperator)
@pytest.mark.parametrize("store", [None, "lancedb"])
def test_every_filter_of_llama_index_is_understood(
    store: str | None, operator: FilterOperator, tmp_path: Path
) -> None:
    if store:
        pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    towns = {"Bonn": 4, "Kiel": 1, "Ulm": 3}
    found = [
        Document(text=f"# {town}\n\nThe rent is due.", id_=town, metadata={"rooms": n})
        for town, n in towns.items()
    ]
    value = [1] if operator.value in ("in", "nin", "any", "all") else 1
    known = MetadataFilter(key="rooms", operator=operator, value=value)
    never = MetadataFilter(key="rooms", value=7)
    any_of = MetadataFilters(filters=[known, never], condition=FilterCondition.OR)
    retriever = MultiViewRetriever.from_documents(
        found,
        embed_model=HashEmbedding(),
        filters=MetadataFilters(filters=[any_of]),
        **({"store": f"lancedb:{tmp_path / 'corpus'}"} if store else {}),
    )
    equal, others = {"Kiel"}, {"Bonn", "Ulm"}
    expected = {"==": equal, "in": equal, "any": equal, "all": equal, "contains": equal}
    expected |= {"!=": others, "nin": others, ">": others, ">=": {*towns}, "<=": equal}
    got = {node.node.ref_doc_id for node in retriever.retrieve("rent")}
    assert got == expected.get(operator.value, set())
