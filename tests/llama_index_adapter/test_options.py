"""The arguments of the retrievers: all named, wrong ones answered, the global model used."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Document, Settings
from llama_index_fakes import HashEmbedding

from llama_index_structrag import (
    ContentAwareNodeParser,
    D3Retriever,
    EvidencePostprocessor,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
)
from structrag.errors import InvalidParameter, UnknownArgument

RETRIEVERS: list[Any] = [
    MultiViewRetriever,
    HiQARetriever,
    D3Retriever,
    EvidenceRetriever,
]
TEXT = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter."


def documents() -> list[Document]:
    return [
        Document(text=TEXT, id_="pump"),
        Document(text="# Seal\n\nIt leaks.", id_="seal"),
    ]


@pytest.fixture
def no_global_model() -> Iterator[None]:
    before = Settings._embed_model
    Settings._embed_model = None
    yield
    Settings._embed_model = before


@pytest.mark.parametrize("retriever", RETRIEVERS)
async def test_errors_call_the_limit_as_the_user_did(retriever: Any) -> None:
    made = retriever.from_documents(documents(), embed_model=HashEmbedding())
    for wrong in (0, 1.5, "3", float("inf")):
        with pytest.raises(InvalidParameter, match=r"^similarity_top_k must be"):
            retriever(made.index, similarity_top_k=wrong)
    made.similarity_top_k = 0
    with pytest.raises(InvalidParameter, match=r"^similarity_top_k must be"):
        made.retrieve("filter")
    with pytest.raises(InvalidParameter, match=r"^similarity_top_k must be"):
        await made.aretrieve("filter")


@pytest.mark.parametrize("wrong", [{"year": 2020}, ["year"], 5])
def test_filters_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"filters must be .* Pass a .* where="):
        EvidenceRetriever.from_documents(documents(), embed_model="lsa", filters=wrong)


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_the_global_model_is_used(retriever: Any, no_global_model: None) -> None:
    with pytest.warns(
        UserWarning, match="No embedding model was given, .* embed_model='lsa'"
    ):
        retriever.from_documents(documents())
    with warnings.catch_warnings():
        # Setting a model may warn of other packages.
        warnings.simplefilter("error", UserWarning)
        retriever.from_documents(documents(), embed_model="lsa")
        Settings.embed_model = HashEmbedding()
        made = retriever.from_documents(documents())
    given = retriever.from_documents(documents(), embed_model=HashEmbedding())
    core, other = made.retriever, given.retriever
    embedder = getattr(made.index, "embedder", None) or core.embedder
    assert (
        embedder.name == (getattr(given.index, "embedder", None) or other.embedder).name
    )


def test_a_node_parser_is_a_splitter_too(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ContentAwareNodeParser(chunk_size=30)
    options: dict[str, Any] = {"embed_model": HashEmbedding(), "show_progress": True}
    made = MultiViewRetriever.from_documents(documents(), splitter=parser, **options)
    assert " of " in capsys.readouterr().err
    same = MultiViewRetriever.from_documents(documents(), node_parser=parser, **options)
    assert made.index.settings_name() == same.index.settings_name()


def test_a_method_of_a_class_counts_tokens() -> None:
    parser = ContentAwareNodeParser(tokenizer=str.split)
    assert parser.to_dict()["tokenizer"].endswith("str.split")
    assert parser.get_nodes_from_documents(documents())


def test_a_postprocessor_names_the_nearest() -> None:
    with pytest.raises(
        UnknownArgument, match=r"'max_token'\. Did you mean 'max_tokens'"
    ):
        EvidencePostprocessor(max_token=3)  # type: ignore[call-arg]
    saved = EvidencePostprocessor(max_tokens=3).to_dict()
    assert EvidencePostprocessor.from_dict(saved).max_tokens == 3
