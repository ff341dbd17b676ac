"""MultiViewRetriever in LlamaIndex: results, sync and async, vector stores, prompts, events,
saving."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.prompts import PromptTemplate, RichPromptTemplate
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.core.vector_stores import (
    SimpleVectorStore,
)
from llama_index_fakes import HashEmbedding, ListStore, ScriptedLLM

from llama_index_structrag import (
    IndexBuildEndEvent,
    IndexBuildStartEvent,
    MultiViewRetriever,
)

TEXTS = {
    "guide": "# Guide\n\nIntro to the tool.\n\n## Install\n\nRun pip install.\n\n## Use\n\nCall "
    "the function often.\n",
    "animals": "# Animals\n\nCats purr softly.\n\n## Dogs\n\nDogs bark at night.\n\n## "
    "Birds\n\nBirds sing.\n",
    "flat": "Plain words about the moon and the stars.\n",
}


def documents():
    return [
        Document(
            text=text,
            id_=name,
            metadata={"year": 2020 + i, "file_name": f"{name}.md"},
            excluded_llm_metadata_keys=["file_name"],
        )
        for i, (name, text) in enumerate(TEXTS.items())
    ]


def test_results_are_shown_with_their_path():
    retriever = MultiViewRetriever.from_documents(documents())
    (first, *_) = (found.node for found in retriever.retrieve("dogs bark at night"))
    assert (
        first.get_content(metadata_mode=MetadataMode.LLM)
        == "year: 2021\nheading_context: Animals\n\n" + first.text
    )
    assert first.source_node.metadata == {"year": 2021, "file_name": "animals.md"}


def test_other_nodes_in_the_vector_store_are_left_alone():
    store = ListStore(nodes={}, queries=[])
    own = TextNode(
        id_="mine", text="dogs bark", embedding=HashEmbedding()._vector("dogs bark")
    )
    store.add([own])
    retriever = MultiViewRetriever.from_documents(
        documents(), embed_model=HashEmbedding(), vector_store=store
    )
    assert "mine" not in {n.node_id for n in retriever.retrieve("dogs bark")}
    retriever.delete("animals")
    assert "mine" in store.nodes
    assert not any(
        node.metadata.get("structrag_document") == "animals"
        for node in store.nodes.values()
    )


async def test_the_stores_own_async_query_is_used():
    store = ListStore(nodes={}, queries=[])
    retriever = MultiViewRetriever.from_documents(
        documents(), embed_model=HashEmbedding(), vector_store=store
    )
    store.queries.clear()
    await retriever.aretrieve("dogs")
    assert set(store.queries) == {"async"}


def test_a_store_that_caps_its_answers_still_gives_k():
    store = ListStore(nodes={}, queries=[], most=2)
    retriever = MultiViewRetriever.from_documents(
        documents(), embed_model=HashEmbedding(), vector_store=store, similarity_top_k=6
    )
    assert len(retriever.retrieve("dogs")) == 6


def test_prompts_can_be_read_and_replaced():
    llm = ScriptedLLM(prompts=[])
    retriever = MultiViewRetriever.from_documents([], llm=llm)
    prompts = retriever.get_prompts()
    names = ("merged", "summary", "keywords")
    assert set(prompts) == {f"{name}_prompt" for name in names}
    shown = prompts["merged_prompt"].format(title="The title", text="The {text}")
    assert (
        '{"summary": "...", "keywords": ["...", "..."]}' in shown
        and "The {text}" in shown
    )
    kept = retriever.index.view_settings.prompts
    retriever.update_prompts(prompts)
    assert retriever.index.view_settings.prompts == kept
    retriever.update_prompts(
        {"keywords_prompt": PromptTemplate('JSON {"a": 1} for {title}: {text}')}
    )
    assert (
        retriever.index.view_settings.prompts.keywords
        == 'JSON {{"a": 1}} for {title}: {text}'
    )
    retriever.update_prompts(
        {"keywords_prompt": RichPromptTemplate("Words of {{ title }} in {{ text }}")}
    )
    retriever.add(documents())
    assert any(
        prompt.startswith("Words of Animals > Dogs in") for prompt in llm.prompts
    )
    with pytest.raises(ValueError, match=r"must contain \{text\}"):
        retriever.update_prompts({"summary_prompt": PromptTemplate("no place")})


def test_events_spans_and_callbacks():
    seen: list = []

    class Handler(BaseEventHandler):
        def handle(self, event, **kwargs):
            seen.append(event)

    root = get_dispatcher()
    handler = Handler()
    root.add_event_handler(handler)
    debug = LlamaDebugHandler(print_trace_on_end=False)
    try:
        retriever = MultiViewRetriever.from_documents(
            documents(), callback_manager=CallbackManager([debug])
        )
        retriever.retrieve("dogs")
    finally:
        root.event_handlers.remove(handler)
    names = [event.class_name() for event in seen]
    assert (
        names.index("IndexBuildStartEvent")
        < names.index("IndexBuildEndEvent")
        < names.index("RetrievalStartEvent")
    )
    assert names.count("RetrievalStartEvent") == names.count("RetrievalEndEvent") == 1
    (start,) = (event for event in seen if isinstance(event, IndexBuildStartEvent))
    (end,) = (event for event in seen if isinstance(event, IndexBuildEndEvent))
    assert (start.n_documents, end.added, end.chunks) == (3, 3, 7)
    assert start.span_id
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_a_store_keeps_no_vectors_of_a_replaced_document() -> None:
    store = SimpleVectorStore()

    def document(text: str) -> Document:
        return Document(text=text, id_="d1")

    retriever = MultiViewRetriever.from_documents(
        [document("# D1\n\nPump.\n\n## S\n\nValve.")],
        embed_model=MockEmbedding(embed_dim=8),
        vector_store=store,
    )
    retriever.add([document("# New\n\nPump changed.")])
    fresh = SimpleVectorStore()
    MultiViewRetriever.from_documents(
        [document("# New\n\nPump changed.")],
        embed_model=MockEmbedding(embed_dim=8),
        vector_store=fresh,
    )
    assert len(store.data.embedding_dict) == len(fresh.data.embedding_dict)
