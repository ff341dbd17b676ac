"""LlamaIndex's models as the core's."""

from __future__ import annotations

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import LlamaIndexEmbedder, LlamaIndexModel
from structrag.errors import InvalidParameter


async def test_the_embedder_uses_batches_and_query_embeddings():
    model = HashEmbedding(calls=[], embed_batch_size=2)
    embedder = LlamaIndexEmbedder(model)
    vectors = embedder.embed(["a b", "c", "d"])
    assert vectors == [model._vector(text) for text in ("a b", "c", "d")]
    assert model.calls == ["batch of 2", "batch of 1"]
    assert embedder.embed(["c"], query=True) == [vectors[1]]
    assert await embedder.aembed(["a b", "c", "d"]) == vectors
    assert await embedder.aembed(["c", "a b"], query=True) == [vectors[1], vectors[0]]
    assert model.calls[2:] == [
        "query",
        "async batch of 2",
        "async batch of 1",
        "async query",
        "async query",
    ]
    assert embedder.embed([]) == []


async def test_the_language_model_completes():
    model = ScriptedLLM(prompts=[])
    adapted = LlamaIndexModel(model)
    assert adapted.complete("p") == await adapted.acomplete("q") == model.answer
    assert (model.prompts, model.async_calls) == (["p", "q"], 1)
    assert LlamaIndexModel(MockLLM()).complete("echo") == "echo"


def test_names_tell_models_and_settings_apart_and_hold_no_key():
    names = [
        LlamaIndexEmbedder(HashEmbedding()).name,
        LlamaIndexEmbedder(HashEmbedding(dimensions=8)).name,
        LlamaIndexEmbedder(HashEmbedding(model_name="other")).name,
        LlamaIndexEmbedder(MockEmbedding(8)).name,
        LlamaIndexEmbedder(MockEmbedding(9)).name,
        LlamaIndexModel(ScriptedLLM()).name,
        LlamaIndexModel(ScriptedLLM(temperature=1.0)).name,
    ]
    assert len(set(names)) == len(names)
    assert not any("secret" in name for name in names)
    assert LlamaIndexEmbedder(HashEmbedding(api_key="sk-other")).name == names[0]
    assert "scripted-1" in names[5]


def test_other_objects_are_refused():
    with pytest.raises(
        InvalidParameter, match="embed_model must be a LlamaIndex BaseEmbedding; got str"
    ):
        LlamaIndexEmbedder("model")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="llm must be a LlamaIndex LLM; got str"):
        LlamaIndexModel("model")  # type: ignore[arg-type]
