"""A retriever whose making is broken off: what the error says is kept is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import (
    D3Retriever,
    HiQARetriever,
    LlamaIndexModel,
    MultiViewRetriever,
)
from structrag.errors import BudgetExceeded, ModelFailed

DOCUMENTS = [
    Document(text="# T\n\n" + f"Word{i} says much. " * 80, id_=str(i)) for i in range(3)
]


class Failing(HashEmbedding):
    def _get_text_embeddings(self, texts: list[str]) -> Any:
        raise ConnectionError("no network")

    async def _aget_text_embeddings(self, texts: list[str]) -> Any:
        raise ConnectionError("no network")


@pytest.mark.parametrize("kind", [MultiViewRetriever, HiQARetriever, D3Retriever])
async def test_the_error_says_what_is_kept_and_how_to_go_on(kind: Any, tmp_path: Path):
    with pytest.raises(
        ModelFailed,
        match=r"no network.* But from_documents returned no retriever: nothing .*its add\.$",
    ):
        kind.from_documents(DOCUMENTS, embed_model=Failing())
    with pytest.raises(ModelFailed, match="only the cache is kept") as error:
        kind.from_documents(
            DOCUMENTS, embed_model=Failing(), cache=tmp_path / "calls.sqlite"
        )
    assert isinstance(error.value.__cause__, ConnectionError)
    with pytest.raises(
        ModelFailed,
        match=r"afrom_documents\(\[\], \.\.\.\) and pass them to its aadd\.$",
    ):
        await kind.afrom_documents(DOCUMENTS, embed_model=Failing())


def test_going_on_by_the_cache(tmp_path: Path):
    options: dict[str, Any] = {
        "llm": LlamaIndexModel(ScriptedLLM(), "scripted"),
        "cache": tmp_path / "calls.sqlite",
        "max_concurrency": 1,
    }
    with pytest.raises(BudgetExceeded, match="only the cache is kept"):
        MultiViewRetriever.from_documents(DOCUMENTS, max_calls=2, **options)
    usage = MultiViewRetriever.from_documents(DOCUMENTS, **options).index.usage
    assert (usage.calls, usage.cache_hits) == (4, 2)


def test_going_on_with_an_empty_retriever():
    retriever = MultiViewRetriever.from_documents([], llm=ScriptedLLM(), max_calls=5)
    with pytest.raises(BudgetExceeded) as error:
        for document in DOCUMENTS:
            retriever.add([document])
    assert "no retriever" not in str(error.value)
    assert retriever.index.document_ids == ["0", "1"]
