"""structrag's embedders as LangChain embeddings: the standard tests, batches, async, what is
refused, pickling."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_structrag import StructragEmbeddings


def lengths(texts: list[str]) -> list[list[float]]:
    """A function as an embedder, at the top level so that it can be pickled."""
    return [[1.0, float(len(text))] for text in texts]


class TestUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return StructragEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": HashEmbedder()}


class TestIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return StructragEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": lengths}


def test_it_is_pickled_with_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    again = pickle.loads(
        pickle.dumps(StructragEmbeddings(lengths, batch_size=2, cache=path))
    )
    assert again.embed_documents(["a", "bb", "ccc"]) == [
        [1.0, 1.0],
        [1.0, 2.0],
        [1.0, 3.0],
    ]
    assert again.model_name == StructragEmbeddings(lengths).model_name and repr(
        again
    ).startswith("StructragEmbeddings(")
    assert StructragEmbeddings(lengths, cache=path).embed_query("a") == [1.0, 1.0]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(StructragEmbeddings(lambda texts: lengths(texts)))
