"""The arguments of the retrievers: all named, wrong ones answered, the global model used."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from llama_index.core import Document, MockEmbedding, Settings
from llama_index.core.llms import MockLLM
from llama_index_fakes import HashEmbedding

import llama_index_structrag
from llama_index_structrag import (
    ContentAwareNodeParser,
    D3Retriever,
    EvidencePostprocessor,
    EvidenceRetriever,
    HiQANodeParser,
    HiQARetriever,
    IDMSNodeParser,
    MultiViewRetriever,
    PICNodeParser,
)
from structrag import FunctionEmbedder, read_text
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
@examples
def test_an_unknown_argument_is_answered(
    retriever: Any, name: str, answer: str
) -> None:
    what = f"{retriever.__name__}.from_documents has no argument '{name}'"
    with pytest.raises(UnknownArgument, match=what) as caught:
        retriever.from_documents(documents(), embed_model=HashEmbedding(), **{name: 3})
    assert answer in str(caught.value) and "Known: " in str(caught.value)
    made = retriever.from_documents(documents(), embed_model=HashEmbedding())
    with pytest.raises(UnknownArgument, match="has no argument 'similarity_top_kk'"):
        retriever(made.index, similarity_top_kk=3)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("name", ["storage_context", "chunk_size", "transformations"])
def test_advice_names_no_argument_that_is_refused(retriever: Any, name: str) -> None:
    made = retriever.from_documents(documents(), embed_model=HashEmbedding())
    for call in (
        lambda **options: retriever.from_documents(
            [], embed_model=HashEmbedding(), **options
        ),
        lambda **options: retriever(made.index, **options),
    ):
        with pytest.raises(UnknownArgument) as caught:
            call(**{name: 3})
        advice, _, known = str(caught.value).partition(" Known: ")
        advised = re.search(r"Pass (\w+)=", advice)
        assert advised is None or advised[1] in known.strip(".").split(", ")


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


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_chunks_are_noticed_and_names_are_alike(retriever: Any) -> None:
    nodes = ContentAwareNodeParser().get_nodes_from_documents(documents())
    model = HashEmbedding()
    with pytest.warns(UserWarning, match="pass whole documents"):
        retriever.from_documents(nodes, embed_model=model)
    made = retriever.from_documents(
        documents(), embed_model=model, k=1, show_progress=False
    )
    assert made.similarity_top_k == 1
    assert made.delete(["pump", "seal"]) is True and made.delete(["pump"]) is False
    with pytest.raises(InvalidParameter, match="mean the same"):
        retriever.from_documents(
            documents(), embed_model=model, k=1, similarity_top_k=1
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


@pytest.mark.parametrize(
    ("make", "name", "answer"),
    [
        (ContentAwareNodeParser, "chunk_sise", "Did you mean 'chunk_size'"),
        (PICNodeParser, "thresholds_sd", "Did you mean 'threshold_sd'"),
        (HiQANodeParser.code, "max_tokens", "Pass chunk_size="),
    ],
)
def test_an_unknown_setting_of_a_parser_is_answered(
    make: Any, name: str, answer: str
) -> None:
    with pytest.raises(UnknownArgument, match=f"has no argument '{name}'. {answer}"):
        make(**{name: 3})


FIRST: dict[str, list[Any]] = {  # arguments without which a class cannot be made
    "ImageDescriber": [MockLLM()],
    "LlamaIndexEmbedder": [MockEmbedding(embed_dim=4)],
    "LlamaIndexModel": [MockLLM()],
    "SelfAskQueryEngine": [None],
    "TwoHopRetriever": [None],
    "StructragEmbedding": [
        FunctionEmbedder(lambda texts: [[1.0]] * len(texts), name="ones")
    ],
} | {retriever.__name__: [None] for retriever in RETRIEVERS}
CLASSES = [name for name in llama_index_structrag.__all__ if not name.endswith("Event")]


@pytest.mark.parametrize("name", CLASSES)
def test_no_class_takes_an_argument_that_it_does_not_know(name: str) -> None:
    make = getattr(llama_index_structrag, name)
    with pytest.raises((TypeError, ValueError), match="max_tokenz"):
        make(*FIRST.get(name, []), max_tokenz=3)


def test_a_postprocessor_names_the_nearest() -> None:
    with pytest.raises(
        UnknownArgument, match=r"'max_token'\. Did you mean 'max_tokens'"
    ):
        EvidencePostprocessor(max_token=3)  # type: ignore[call-arg]
    saved = EvidencePostprocessor(max_tokens=3).to_dict()
    assert EvidencePostprocessor.from_dict(saved).max_tokens == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("folder", "list of LlamaIndex Documents; got str. Read files and folders"),
        (["text"], r"hold LlamaIndex Documents; got builtins.str. Use"),
        ([read_text(TEXT)], "hold LlamaIndex Documents; got structrag.Document. Use"),
        (Document(text=TEXT), "list of LlamaIndex Documents; got Document."),
    ],
)
async def test_what_is_no_document_is_named(given: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        EvidenceRetriever.from_documents(given, embed_model="lsa")
    with pytest.raises(InvalidParameter, match=sentence):
        ContentAwareNodeParser().get_nodes_from_documents(given)
    with pytest.raises(InvalidParameter, match=sentence):
        await ContentAwareNodeParser().aget_nodes_from_documents(given)


@pytest.mark.parametrize("name", ["embed_model", "embedding", "embeddings", "embedder"])
def test_the_embedding_model_is_taken_by_any_name(name: str, tmp_path: Path) -> None:
    model: Any = {name: HashEmbedding()}
    evidence = EvidenceRetriever.from_documents(documents(), **model)
    assert "HashEmbedding" in evidence.index.embedder.name
    evidence.save(str(tmp_path / "index"))
    assert len(EvidenceRetriever.load(str(tmp_path / "index"), **model).index) == 2
    assert EvidencePostprocessor(**model).embed_model is model[name]
    for make in (PICNodeParser, IDMSNodeParser, PICNodeParser.paper):
        assert make(**model).embed_model is model[name]
    with pytest.raises(InvalidParameter, match="mean the same"):
        MultiViewRetriever.from_documents(
            documents(), **({"embedder": 1, "embed_model": 2} | model)
        )


def test_errors_call_the_model_as_the_user_did() -> None:
    documents = [Document(text="# Pump\n\nIt leaks.", id_="pump")]
    for wrong in ("no-such-model", object()):
        for make in (EvidenceRetriever, MultiViewRetriever, D3Retriever):
            with pytest.raises(InvalidParameter, match=r"^embed_model must be"):
                make.from_documents(documents, embed_model=wrong)
        with pytest.raises(ValueError, match="embed_model must be"):
            EvidencePostprocessor(embed_model=wrong)
    for make in (EvidenceRetriever, MultiViewRetriever):
        with pytest.raises(
            InvalidParameter, match=r"^embed_model .* Pass embed_model=\."
        ):
            make.from_documents(documents, embed_model="lsa", store="lancedb:nowhere")
