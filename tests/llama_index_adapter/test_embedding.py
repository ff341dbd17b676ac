"""structrag's embedders as a LlamaIndex embedding model: batches, async, pipelines and their cache,
pickling, what is refused."""

from __future__ import annotations

import pickle

import pytest
from doubles import HashEmbedder
from llama_index.core import Document
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import TextNode

from llama_index_structrag import (
    ContentAwareNodeParser,
    StructragEmbedding,
)
from structrag import FunctionEmbedder
from structrag.errors import InvalidParameter

TEXTS = [f"text number {i}" for i in range(7)]


def lengths(texts: list[str]) -> list[list[float]]:
    """A function as an embedder, at the top level so that it can be pickled."""
    return [[1.0, float(len(text))] for text in texts]


def test_callbacks_see_every_text() -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    StructragEmbedding(
        lengths, callback_manager=CallbackManager([counter])
    ).get_text_embedding_batch(TEXTS)
    assert (
        len(counter.embedding_token_counts) == 7
        and counter.total_embedding_token_count == 21
    )


def test_a_pipelines_cache_knows_the_embedder_by_its_name() -> None:
    embedders = [
        FunctionEmbedder(lengths, name="one"),
        FunctionEmbedder(lengths, name="two"),
        HashEmbedder(8, name="three"),
    ]
    nodes = [TextNode(text="a text", id_="n")]
    keys = [
        get_transformation_hash(nodes, StructragEmbedding(embedder))
        for embedder in embedders
    ]
    assert len(set(keys)) == 3
    assert keys[2] == get_transformation_hash(
        nodes, StructragEmbedding(HashEmbedder(8, name="three"))
    )  # another object
    asked = HashEmbedder(8)
    cache = IngestionCache()
    for _ in range(2):
        pipeline = IngestionPipeline(
            transformations=[ContentAwareNodeParser(), StructragEmbedding(asked)],
            cache=cache,
        )
        (node,) = pipeline.run(documents=[Document(text="# A\n\nThe pump.", id_="d")])
        assert node.embedding is not None
    assert len(asked.texts) == 1


def test_saved_settings_are_read_with_the_embedder_given_again() -> None:
    model = StructragEmbedding(
        FunctionEmbedder(lengths, name="lengths-1"), embed_batch_size=5
    )
    saved = model.to_dict()
    assert saved["class_name"] == "StructragEmbedding" and saved["embedder"] == {
        "name": "lengths-1"
    }
    assert (
        saved["model_name"]
        == model.model_name
        == model.to_payload()["model_name"]
        == "lengths-1"
    )
    again = StructragEmbedding.from_dict(saved, embedder=model.embedder)
    assert again.to_dict() == saved and again.embed_batch_size == 5
    assert (
        StructragEmbedding.from_json(model.to_json(), embedder=model.embedder).to_dict()
        == saved
    )
    with pytest.raises(
        ValueError,
        match=r"embedder must be passed again .* from_dict\(data, embedder=...\)",
    ):
        StructragEmbedding.from_dict(saved)
    with pytest.raises(
        ValueError,
        match="model_name must be the embedder's own name or left out; got 'lengths-1'",
    ):
        StructragEmbedding.from_dict(saved, embedder=HashEmbedder(8))


def test_it_is_pickled_and_works_in_other_processes() -> None:
    model = StructragEmbedding(lengths, embed_batch_size=2)
    again = pickle.loads(pickle.dumps(model))
    assert again.to_dict() == model.to_dict() and again.get_text_embedding("abc") == [
        1.0,
        3.0,
    ]
    with pytest.raises(
        InvalidParameter,
        match=r"embedder must be picklable .* got "
        r"'.*test_embedding",
    ):
        pickle.dumps(StructragEmbedding(lambda texts: lengths(texts)))
