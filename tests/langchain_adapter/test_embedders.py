"""LangChain's embeddings as structrag's embedders: what they are called, and how much of a text
they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder
from langchain_core.stores import InMemoryByteStore
from langchain_fakes import BagOfWords

from langchain_structrag import (
    LangChainEmbedder,
    MultiViewRetriever,
    StructragEmbeddings,
)


class Encoder:
    """As much of a SentenceTransformer as is looked at."""

    max_seq_length = 20

    def tokenizer(self, text: str, **options: Any) -> dict[str, list[int]]:
        assert options == {"truncation": False, "verbose": False}
        return {"input_ids": [0, *range(len(text.split())), 1]}

    def encode(self, texts: list[str]) -> Any:
        raise NotImplementedError


class ServedModel(BagOfWords):
    """Names its model, as ChatOpenAI's relatives do, and holds a client."""

    def __init__(self, client: Any = None) -> None:
        self.model = "served-3"
        self.client = client


@pytest.mark.parametrize(
    "made",
    [
        ServedModel,
        lambda: ServedModel(Encoder()),
        lambda: StructragEmbeddings(HashEmbedder()),
    ],
)
def test_cached_embeddings_are_those_behind_the_cache(
    made: Any, tmp_path: Path
) -> None:
    classic = pytest.importorskip("langchain_classic.embeddings")
    plain = made()

    def cached() -> Any:
        return classic.CacheBackedEmbeddings.from_bytes_store(
            plain, InMemoryByteStore(), namespace="a", key_encoder="sha256"
        )

    embedder = LangChainEmbedder(cached())
    expected = LangChainEmbedder(plain)
    assert (embedder.name, embedder.max_tokens) == (expected.name, expected.max_tokens)
    assert LangChainEmbedder(cached(), name="mine").name == "mine"
    MultiViewRetriever.from_texts(["# Pump\n\nIt pumps."], cached()).save(
        tmp_path / "index"
    )
    for again in (cached(), plain):
        assert MultiViewRetriever.load(tmp_path / "index", again).invoke("pumps")
