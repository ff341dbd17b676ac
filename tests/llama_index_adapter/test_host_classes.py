"""LlamaIndex's own engines, retrievers, indexes and postprocessors with our classes."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from llama_index.core import (
    Document,
    Settings,
    StorageContext,
    SummaryIndex,
    VectorStoreIndex,
)
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
)
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.indices.postprocessor import LongContextReorder
from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    TokenTextSplitter,
    get_leaf_nodes,
)
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.schema import IndexNode, MetadataMode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import QueryEngineTool
from llama_index_fakes import HashEmbedding

from llama_index_structrag import (
    ContentAwareNodeParser,
    D3Retriever,
    EvidenceRetriever,
    FixedNodeParser,
    HiQANodeParser,
    HiQARetriever,
    MultiViewRetriever,
)

TEXTS = {
    "pump": "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
QUESTION = "How often do I rinse the filter?"
ANSWER = "Rinse the filter every week."
RETRIEVERS = [MultiViewRetriever, HiQARetriever, EvidenceRetriever, D3Retriever]
PARSERS = [ContentAwareNodeParser, FixedNodeParser, HiQANodeParser]


def documents() -> list[Document]:
    return [Document(text=text, id_=name) for name, text in TEXTS.items()]


def found_by(retriever: Any, **options: Any) -> Any:
    return retriever.from_documents(documents(), embed_model=HashEmbedding(), **options)


class Scripted(MockLLM):
    """Chooses the second tool, asks one question of it, and else repeats its prompt."""

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        if "choices" in prompt:
            return CompletionResponse(
                text='[{"choice": 2, "reason": "It is about pumps."}]'
            )
        if "sub-questions" in prompt:
            asked = [{"sub_question": QUESTION, "tool_name": "ours"}]
            return CompletionResponse(
                text=f"```json\n{json.dumps({'items': asked})}\n```"
            )
        return super().complete(prompt, formatted, **kwargs)


def tools(retriever: Any, llm: Any) -> list[QueryEngineTool]:
    """One over nothing, and one over our retriever."""
    empty = SummaryIndex([]).as_query_engine(llm=llm)
    ours = RetrieverQueryEngine.from_args(retriever, llm=llm)
    return [
        QueryEngineTool.from_defaults(empty, name="empty", description="Nothing."),
        QueryEngineTool.from_defaults(
            ours, name="ours", description="Of pumps and cats."
        ),
    ]


ENGINES: dict[str, Any] = {
    "plain": lambda made, llm: RetrieverQueryEngine.from_args(made, llm=llm),
    "reordered": lambda made, llm: RetrieverQueryEngine.from_args(
        made, llm=llm, node_postprocessors=[LongContextReorder()]
    ),
    "router": lambda made, llm: RouterQueryEngine.from_defaults(
        tools(made, llm), llm, LLMSingleSelector.from_defaults(llm)
    ),
    "questions": lambda made, llm: SubQuestionQueryEngine.from_defaults(
        tools(made, llm), llm, LLMQuestionGenerator.from_defaults(llm), use_async=False
    ),
    "citation": lambda made, llm: CitationQueryEngine(
        made, llm, text_splitter=TokenTextSplitter(chunk_size=64, chunk_overlap=0)
    ),
}


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("name", ENGINES)
async def test_query_engines_answer_from_what_ours_finds(
    name: str, retriever: Any
) -> None:
    engine = ENGINES[name](found_by(retriever), Scripted())
    response = await asyncio.to_thread(engine.query, QUESTION)
    assert ANSWER in str(response)
    assert any(ANSWER in source.text for source in response.source_nodes)
    assert str(await engine.aquery(QUESTION)) == str(response)


def test_an_answer_is_streamed() -> None:
    engine = RetrieverQueryEngine.from_args(
        found_by(MultiViewRetriever), llm=MockLLM(), streaming=True
    )
    assert ANSWER in "".join(engine.query(QUESTION).response_gen)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("chat", [CondensePlusContextChatEngine, ContextChatEngine])
async def test_chat_engines_answer_from_what_ours_finds(
    chat: Any, retriever: Any
) -> None:
    # LlamaIndex's default memory leaves a database open.
    memory = ChatMemoryBuffer.from_defaults()
    engine = chat.from_defaults(found_by(retriever), llm=MockLLM(), memory=memory)
    for response in (
        await asyncio.to_thread(engine.chat, QUESTION),
        await engine.achat(QUESTION),
    ):
        assert ANSWER in str(response)
        assert any(ANSWER in source.text for source in response.source_nodes)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize(
    "mode", ["reciprocal_rerank", "relative_score", "dist_based_score"]
)
async def test_results_are_fused_with_those_of_other_retrievers(
    mode: Any, retriever: Any
) -> None:
    birds = VectorStoreIndex.from_documents(
        [Document(text="Birds sing at dawn.")],
        embed_model=HashEmbedding(),
        transformations=[FixedNodeParser()],
    ).as_retriever()
    fused = QueryFusionRetriever(
        [found_by(retriever), birds],
        llm=MockLLM(),
        mode=mode,
        num_queries=1,
        similarity_top_k=20,
        use_async=False,
    )
    found = await asyncio.to_thread(fused.retrieve, QUESTION)
    texts = [node.text for node in found]
    assert any(ANSWER in text for text in texts) and "Birds sing at dawn." in texts
    assert [node.text for node in await fused.aretrieve(QUESTION)] == texts


ASKED = ["What moves water?", "When do cats eat fish?", "Do cats sleep all day?"]


class Asking(MockLLM):
    """Writes the other questions."""

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        return CompletionResponse(text="\n".join(ASKED))


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_questions_asked_together_are_fused_by_passage(retriever: Any) -> None:
    made = found_by(retriever)
    asked = [QUESTION, *ASKED]
    sums: dict[str, float] = {}
    for question in asked:
        by_score = sorted(made.retrieve(question), key=lambda one: -one.score)
        for rank, one in enumerate(by_score):
            sums[one.node_id] = sums.get(one.node_id, 0) + 1 / (60 + rank)
    fused = QueryFusionRetriever(
        [made],
        llm=Asking(),
        mode="reciprocal_rerank",
        num_queries=4,
        similarity_top_k=20,
        use_async=False,
    ).retrieve(QUESTION)
    assert {one.node_id: one.score for one in fused} == pytest.approx(sums)


@pytest.mark.parametrize(
    ("retriever", "parser"),
    [(MultiViewRetriever, ContentAwareNodeParser), (HiQARetriever, HiQANodeParser)],
)
@pytest.mark.parametrize("is_given", [True, False])
def test_an_evaluator_finds_the_nodes_of_the_parser(
    retriever: Any, parser: Any, is_given: bool
) -> None:
    nodes = parser().get_nodes_from_documents(documents())
    made = found_by(retriever, **({"node_parser": parser()} if is_given else {}))
    assert {node.node_id for node in nodes} == set(made.docstore().docs)
    gold = [node.node_id for node in nodes if ANSWER in node.text]
    evaluator = RetrieverEvaluator.from_metric_names(["hit_rate"], retriever=made)
    assert evaluator.evaluate(QUESTION, gold).metric_vals_dict == {"hit_rate": 1.0}
    if retriever is HiQARetriever:
        assert set(gold) <= {node.node_id for node in made.segments()}


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_an_index_of_retrievers_and_a_copy_of_ours(retriever: Any) -> None:
    made = found_by(retriever)
    node = IndexNode(text="What we know of pumps", index_id="ours", obj=made)
    found = SummaryIndex(objects=[node]).as_retriever().retrieve(QUESTION)
    assert [one.text for one in found] == [one.text for one in made.retrieve(QUESTION)]
    again = copy.deepcopy(made)
    assert again.index is made.index and again.retrieve(QUESTION) == made.retrieve(
        QUESTION
    )


@pytest.mark.parametrize("parser", PARSERS)
def test_small_nodes_are_merged_to_those_they_were_parsed_from(parser: Any) -> None:
    levels = {"large": parser(chunk_size=200), "small": parser(chunk_size=10)}
    nodes = HierarchicalNodeParser(
        node_parser_ids=list(levels), node_parser_map=levels
    ).get_nodes_from_documents(documents())
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore())
    storage.docstore.add_documents(nodes)
    leaves = get_leaf_nodes(nodes)
    assert all(leaf.text in TEXTS[leaf.ref_doc_id] for leaf in leaves)
    index = VectorStoreIndex(
        leaves, storage_context=storage, embed_model=HashEmbedding()
    )
    merging = AutoMergingRetriever(
        index.as_retriever(similarity_top_k=len(leaves)), storage
    )
    merged = {node.node_id for node in merging.retrieve(QUESTION)}
    assert merged and merged.isdisjoint(leaf.node_id for leaf in leaves)
    assert merged <= {node.node_id for node in nodes}


@pytest.mark.parametrize("parser", PARSERS)
def test_an_index_refreshes_and_deletes_documents_by_our_parsers(
    parser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "_transformations", None)
    monkeypatch.setattr(Settings, "_node_parser", None)
    Settings.node_parser = parser(chunk_size=40)
    index = VectorStoreIndex.from_documents(documents(), embed_model=HashEmbedding())
    nodes = index.docstore.docs.values()
    assert all("heading_path" in node.metadata for node in nodes)
    changed = [documents()[0], Document(text="# Cats\n\nCats hunt mice.\n", id_="cats")]
    assert index.refresh_ref_docs(changed) == [False, True]
    texts = "".join(node.text for node in index.docstore.docs.values())
    assert "hunt mice" in texts and "fish" not in texts
    index.delete_ref_doc("cats", delete_from_docstore=True)
    assert {node.ref_doc_id for node in index.docstore.docs.values()} == {"pump"}
    found = index.as_retriever(similarity_top_k=9).retrieve("cats")
    assert found and {node.node.ref_doc_id for node in found} == {"pump"}


@pytest.mark.parametrize("parser", PARSERS)
def test_how_a_document_is_shown_holds_for_its_nodes(parser: Any) -> None:
    document = Document(
        text=f"{TEXTS['pump']}\n\n| part | mm |\n|---|---|\n| Seal | 4 |\n",
        metadata={"author": "A", "secret": "s"},
        excluded_embed_metadata_keys=["secret"],
        excluded_llm_metadata_keys=["author"],
        text_template="<<{metadata_str}>>\n{content}",
        metadata_template="{key}={value}",
    )
    for node in parser(chunk_size=40).get_nodes_from_documents([document]):
        embedded = node.get_content(metadata_mode=MetadataMode.EMBED)
        shown = node.get_content(metadata_mode=MetadataMode.LLM)
        assert embedded.startswith("<<author=A") and "secret" not in embedded
        assert shown.startswith("<<secret=s") and "author" not in shown
