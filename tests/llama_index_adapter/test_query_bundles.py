"""What LlamaIndex puts into a question besides its words, and into a document besides its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index_fakes import HashEmbedding, ListStore, ScriptedLLM

import llama_index_structrag
from llama_index_structrag import (
    EvidencePostprocessor,
    MultiViewRetriever,
    SelfAskQueryEngine,
)
from structrag import read_text, resolve
from structrag.errors import InvalidAnswer

TEXTS = {
    "price": "# Price\n\nIt costs nine euro.",
    "motor": "# Motor\n\nThe motor turns fast.",
    "paint": "# Paint\n\nThe case is blue.",
    "strainer": "# Strainer\n\nFlush the mesh strainer on Mondays.",
}
QUESTION = "maintenance cadence?"
GUESS = "Flush the mesh strainer on Mondays"
RETRIEVERS = ("MultiView", "HiQA", "D3", "Evidence")
each_retriever = pytest.mark.parametrize("name", RETRIEVERS)
BUNDLES = {
    "texts": QueryBundle(QUESTION, custom_embedding_strs=[GUESS, QUESTION]),
    "vector": QueryBundle(QUESTION, embedding=HashEmbedding()._vector(GUESS)),
    "vector before texts": QueryBundle(
        QUESTION,
        custom_embedding_strs=["costs nine euro"],
        embedding=HashEmbedding()._vector(GUESS),
    ),
    "texts alone": QueryBundle("", custom_embedding_strs=[GUESS]),
    "vector alone": QueryBundle("", embedding=HashEmbedding()._vector(GUESS)),
}


def made(name: str, **options: Any) -> Any:
    kind = getattr(llama_index_structrag, f"{name}Retriever")
    options.setdefault("embed_model", HashEmbedding())
    documents = [Document(text=text, id_=id) for id, text in TEXTS.items()]
    return kind.from_documents(documents, **options)


def first(nodes: list[NodeWithScore]) -> str:
    best = max(nodes, key=lambda scored: scored.score)
    assert best.score > 0
    return best.node.ref_doc_id


@pytest.mark.parametrize("bundle", BUNDLES)
@each_retriever
async def test_a_question_is_embedded_as_its_bundle_says(
    name: str, bundle: str
) -> None:
    retriever = made(name)
    assert first(retriever.retrieve(BUNDLES[bundle])) == "strainer"
    assert first(await retriever.aretrieve(BUNDLES[bundle])) == "strainer"


@pytest.mark.parametrize("name", ["MultiView", "HiQA"])
def test_a_vector_store_is_asked_with_the_vector(name: str) -> None:
    retriever = made(name, vector_store=ListStore(nodes={}, queries=[]))
    for bundle in BUNDLES.values():
        assert first(retriever.retrieve(bundle)) == "strainer"


def test_nothing_is_embedded_where_the_vector_is_there() -> None:
    model = HashEmbedding()
    retriever = made("MultiView", embed_model=model)
    model.calls.clear()
    retriever.retrieve(BUNDLES["vector"])
    assert model.calls == []


def test_lsa_embeds_the_texts_as_well() -> None:
    retriever = made("MultiView", embed_model="lsa")
    assert first(retriever.retrieve(BUNDLES["texts"])) == "strainer"


async def test_a_token_encoder_reads_the_texts() -> None:
    retriever = made("Evidence", embed_model=HashTokens())
    assert first(retriever.retrieve(BUNDLES["texts"])) == "strainer"
    assert first(await retriever.aretrieve(BUNDLES["texts alone"])) == "strainer"
    vector = HashTokens()._tokens(GUESS).vector.tolist()
    assert first(retriever.retrieve(QueryBundle(QUESTION, embedding=vector))) == (
        "strainer"
    )


def test_words_are_those_of_the_question() -> None:
    bundle = QueryBundle("blue case", custom_embedding_strs=["zebra"])
    assert first(made("MultiView").retrieve(bundle)) == "paint"


@each_retriever
def test_an_embedding_that_does_not_fit_is_refused(name: str) -> None:
    bundle = QueryBundle(QUESTION, embedding=[1.0, 2.0])
    with pytest.raises(InvalidAnswer, match=r"\(64,\); got \(2,\)"):
        made(name).retrieve(bundle)


def test_follow_ups_are_embedded_as_their_own_words() -> None:
    inner = made("MultiView", similarity_top_k=1)
    replies = iter(["So the final answer is: x", "Mondays", "Mondays"])
    engine = SelfAskQueryEngine(inner, lambda prompt: next(replies, "Mondays"))
    nodes = engine.query(BUNDLES["texts"]).source_nodes
    assert "strainer" in {node.node.ref_doc_id for node in nodes}


async def test_results_are_shortened_by_the_guess() -> None:
    text = "It costs nine euro. Flush the mesh strainer on Mondays. The case is blue."
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0)]
    shorten = EvidencePostprocessor(embed_model=HashEmbedding(), max_tokens=12)
    for short in (
        shorten.postprocess_nodes(nodes, BUNDLES["texts"]),
        await shorten.apostprocess_nodes(nodes, BUNDLES["vector"]),
    ):
        assert [node.text for node in short] == ["Flush the mesh strainer on Mondays."]


def test_the_vector_of_another_model_is_not_used_on_its_results() -> None:
    documents = [Document(text=f"Plate {i} is wiped daily.") for i in range(4)]
    index = VectorStoreIndex.from_documents(
        documents, embed_model=MockEmbedding(embed_dim=4)
    )
    engine = index.as_query_engine(
        llm=MockLLM(), node_postprocessors=[EvidencePostprocessor(max_tokens=100)]
    )
    assert engine.query("How is plate 2 wiped?").source_nodes


def test_hyde_in_a_query_engine() -> None:
    llm = ScriptedLLM(script=lambda prompt: GUESS)
    engine = RetrieverQueryEngine.from_args(
        made("Evidence", similarity_top_k=1), llm=llm
    )
    response = TransformQueryEngine(engine, HyDEQueryTransform(llm=llm)).query(QUESTION)
    assert [node.node.ref_doc_id for node in response.source_nodes] == ["strainer"]


# -- documents

TEMPLATES: dict[str, Any] = {
    "text_template": "META<{metadata_str}> BODY<{content}>",
    "metadata_template": "{key}=>{value}",
    "metadata_separator": " || ",
    "excluded_llm_metadata_keys": ["secret"],
    "excluded_embed_metadata_keys": ["author"],
}


@each_retriever
def test_nodes_have_the_templates_of_their_document(name: str, tmp_path: Path) -> None:
    facts = {"author": "Ann", "secret": "x"}
    text = f"{TEXTS['strainer']}\n\n| strainer | mm |\n|---|---|\n| Flush | 4 |\n"
    document = Document(text=text, id_="s", metadata=facts, **TEMPLATES)
    kind = getattr(llama_index_structrag, f"{name}Retriever")
    made_now = kind.from_documents([document], embed_model=HashEmbedding())
    made_now.save(tmp_path / "saved")
    saved = kind.load(tmp_path / "saved", embed_model=HashEmbedding())
    for retriever in (made_now, saved):
        nodes = [scored.node for scored in retriever.retrieve("Flush the strainer")]
        for node in (*nodes, *retriever.docstore().docs.values()):
            shown = node.get_content(MetadataMode.LLM)
            assert shown.startswith("META<author=>Ann") and "BODY<" in shown
            assert "secret" not in shown
            assert "secret=>x" in node.get_content(MetadataMode.EMBED)
            assert "llama_index" not in node.metadata


def test_documents_as_they_come_have_the_hosts_own_templates() -> None:
    (node, *_) = made("MultiView").retrieve("mesh strainer")
    assert node.node.text_template == TextNode().text_template
    assert node.node.metadata_separator == TextNode().metadata_separator


def test_a_citation_outlives_an_engine_that_cuts_nodes_anew() -> None:
    sentences = [f"Flush it with care on Monday {number}." for number in range(40)]
    text = f"# Strainer\n\n{' '.join(sentences)}"
    retriever = MultiViewRetriever.from_documents(
        [Document(text=text, id_="s")], embed_model=HashEmbedding(), similarity_top_k=1
    )
    (passage,) = retriever.retrieve("Monday")
    engine = CitationQueryEngine.from_args(
        None,
        llm=ScriptedLLM(script=lambda prompt: "Monday [1]"),
        retriever=retriever,
        citation_chunk_size=64,
        citation_chunk_overlap=0,
    )
    sources = engine.query("Monday").source_nodes
    assert len(sources) > 1
    document = read_text(text, id="s")
    for source in sources:
        place = resolve(source.node.metadata["citation"], document)
        assert (place.start, place.end) == (
            passage.node.start_char_idx,
            passage.node.end_char_idx,
        )
        assert source.node.metadata["heading_path"] == "Strainer"
