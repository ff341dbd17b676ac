"""Evidence within a token budget in LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from llama_index.core import Document, MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    NodeWithScore,
    TextNode,
)
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from llama_index_structrag import (
    ContentAwareNodeParser,
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


@pytest.mark.parametrize(
    "models",
    [
        {},
        {"embed_model": MockEmbedding(embed_dim=8)},
        {"embed_model": HashTokens()},
        {"embed_model": MockEmbedding(embed_dim=8), "token_encoder": HashTokens()},
    ],
)
def test_nodes_are_slices_with_their_places(
    models: dict[str, Any], tmp_path: Path
) -> None:
    retriever = EvidenceRetriever.from_documents(documents(), **models)
    texts = {"pump": PUMP, "cats": CATS}
    results = retriever.retrieve(QUESTION)
    assert results
    for result in results:
        node = result.node
        place = slice(node.start_char_idx, node.end_char_idx)
        assert texts[node.ref_doc_id][place] == node.text
        assert sum(node.metadata["score_parts"].values()) == pytest.approx(result.score)
    again = asyncio.run(retriever.aretrieve(QUESTION))
    assert [node.text for node in again] == [node.text for node in results]
    retriever.save(tmp_path / "index")
    opened = EvidenceRetriever.load(tmp_path / "index", **models)
    assert [node.text for node in opened.retrieve(QUESTION)] == [
        node.text for node in results
    ]


def test_limits_and_conditions() -> None:
    retriever = EvidenceRetriever.from_documents(documents(), max_tokens=8)
    (best,) = retriever.retrieve(QUESTION)
    assert best.text == "Rinse the filter every week."
    assert best.metadata["heading_path"] == "Pump > Cleaning"
    filters = MetadataFilters(filters=[MetadataFilter(key="year", value=2021)])
    cats = EvidenceRetriever(retriever.index, filters=filters, similarity_top_k=1)
    assert [node.node.ref_doc_id for node in cats.retrieve(QUESTION)] == ["cats"]
    ordered = EvidenceRetriever(retriever.index, order="document", where={"year": 2020})
    places = [node.node.start_char_idx for node in ordered.retrieve(QUESTION)]
    assert places == sorted(places)
    for options in ({"order": "best"}, {"similarity_top_k": 0}, {"max_tokens": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            EvidenceRetriever(retriever.index, **options)


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


def test_nodes_of_others_are_shortened() -> None:
    text = "Cats sleep all day. The blue pump leaks at the seal. Birds sing."
    node = TextNode(
        text=text,
        id_="n",
        metadata={"page": 3},
        start_char_idx=50,
        end_char_idx=50 + len(text),
    )
    others = [
        TextNode(text="Nothing of interest."),
        IndexNode(text=" ", index_id="i"),
        ImageNode(),
    ]
    nodes = [NodeWithScore(node=each, score=0.1) for each in (node, *others)]
    postprocessor = EvidencePostprocessor(max_tokens=10)
    (short,) = postprocessor.postprocess_nodes(nodes, query_str="Which pump leaks?")
    assert short.text == "The blue pump leaks at the seal." and short.metadata == {
        "page": 3
    }
    assert short.node.start_char_idx == 50 + text.index("The blue")
    assert short.node.end_char_idx == short.node.start_char_idx + len(short.text)
    assert node.text == text
    assert postprocessor.postprocess_nodes([], query_str="pump") == []
    with pytest.raises(InvalidParameter, match="query_bundle must be given"):
        postprocessor.postprocess_nodes(nodes)
    with pytest.raises(ValueError, match="max_tokens"):
        EvidencePostprocessor(max_tokens=0)


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


def test_nodes_of_an_index_are_not_embedded_again() -> None:
    encoder = HashTokens()
    rows = "".join(f"| part {i} of the pump | {i * 7} pieces |\n" for i in range(60))
    table = Document(
        text=f"# Stock\n\n| part | stock |\n|---|---|\n{rows}", id_="table"
    )
    retriever = EvidenceRetriever.from_documents(
        [*documents(), table], embed_model=encoder
    )
    postprocessor = EvidencePostprocessor(embed_model=encoder, max_tokens=40)
    for question in (QUESTION, "Which part has 287 pieces?"):
        found = retriever.retrieve(question)
        plain = [
            NodeWithScore(node=TextNode(text=one.text), score=0.1) for one in found
        ]
        before = len(encoder.passes)
        short = postprocessor.postprocess_nodes(found, query_str=question)
        assert encoder.passes[before:] == [(question,)]
        expected = postprocessor.postprocess_nodes(plain, query_str=question)
        assert [one.text for one in short] == [one.text for one in expected]
        again = postprocessor.postprocess_nodes(short, query_str=question)
        assert [one.text for one in again] == [one.text for one in short]
        assert len(encoder.passes) == before + 4


def test_places_of_our_own_nodes_move_along() -> None:
    text = "# Stock\n\nNone.\n\n## Pump\n\nCats sleep all day. The blue pump leaks at the seal."
    (*_, node) = ContentAwareNodeParser().get_nodes_from_documents(
        [Document(text=text)]
    )
    postprocessor = EvidencePostprocessor(max_tokens=10)
    (short,) = postprocessor.postprocess_nodes(
        [NodeWithScore(node=node)], query_str="leaks?"
    )
    place = slice(short.metadata["source_start"], short.metadata["source_end"])
    assert text[place] == "The blue pump leaks at the seal."
    assert (short.node.start_char_idx, short.node.end_char_idx) == (
        place.start,
        place.stop,
    )
