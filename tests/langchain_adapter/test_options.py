"""The arguments of the retrievers: all named, wrong ones answered."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from fixture_cases import examples
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_fakes import BagOfWords

import langchain_structrag
import structrag.records as core
from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    EvidenceCompressor,
    EvidenceRetriever,
    FixedTextSplitter,
    HiQAFormatter,
    HiQARetriever,
    HiQATransformer,
    IDMSTextSplitter,
    MultiViewRetriever,
    PICTextSplitter,
)
from langchain_structrag.options import HiQAArguments, IDMSArguments, PICArguments
from structrag import HiQASplitter, IDMSSplitter, PICSplitter
from structrag.errors import InvalidParameter, UnknownArgument

RETRIEVERS: list[Any] = [
    MultiViewRetriever,
    HiQARetriever,
    D3Retriever,
    EvidenceRetriever,
]
TEXT = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter."
DOCUMENTS = [Document(TEXT, metadata={"source": "pump.md"})]


@pytest.mark.parametrize("retriever", RETRIEVERS)
@examples
def test_an_unknown_argument_is_answered(
    retriever: Any, name: str, answer: str
) -> None:
    what = f"{retriever.__name__}.from_documents has no argument '{name}'"
    with pytest.raises(UnknownArgument, match=what) as caught:
        retriever.from_documents(DOCUMENTS, BagOfWords(), **{name: 3})
    caught.match(answer)
    assert "Known: " in str(caught.value) and " k," in str(caught.value)
    made = retriever.from_documents(DOCUMENTS, BagOfWords())
    with pytest.raises(UnknownArgument, match="has no argument 'kk'"):
        retriever(index=made.index, kk=3)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("name", ["chunk_size", "vector_store", "text_splitter"])
def test_advice_names_no_argument_that_is_refused(retriever: Any, name: str) -> None:
    made = retriever.from_documents(DOCUMENTS, BagOfWords())
    for call in (
        lambda **options: retriever.from_documents([], BagOfWords(), **options),
        lambda **options: retriever(index=made.index, **options),
    ):
        with pytest.raises(UnknownArgument) as caught:
            call(**{name: 3})
        advice, _, known = str(caught.value).partition(" Known: ")
        advised = re.search(r"Pass (\w+)=", advice)
        assert advised is None or advised[1] in known.strip(".").split(", ")


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_lsa_is_asked_for_or_warned_of(retriever: Any) -> None:
    with pytest.warns(UserWarning, match="No embedding model was given"):
        silent = retriever.from_documents(DOCUMENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = retriever.from_documents(DOCUMENTS, "lsa")
        retriever.from_documents(DOCUMENTS, BagOfWords())
    question = "How is the filter rinsed?"
    assert silent.invoke(question) == asked.invoke(question)


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_chunks_are_noticed_where_documents_are_wanted(retriever: Any) -> None:
    chunks = ContentAwareTextSplitter().split_documents(DOCUMENTS)
    with pytest.warns(UserWarning, match="pass whole documents"):
        retriever.from_documents(chunks, BagOfWords())


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_filter_is_another_name_of_where(retriever: Any) -> None:
    other = Document(TEXT, metadata={"source": "other.md"})
    made = retriever.from_documents([*DOCUMENTS, other], BagOfWords())
    condition = {"source": "other.md"}
    found = made.invoke("How is the filter rinsed?", filter=condition)
    assert found == made.invoke("How is the filter rinsed?", where=condition)
    assert {document.metadata["source"] for document in found} == {"other.md"}
    with pytest.raises(InvalidParameter, match="where and filter mean the same"):
        made.invoke("filter", where=condition, filter=condition)


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_retriever_is_printed_with_its_class_and_copied_over_the_same_index(
    retriever: Any,
) -> None:
    made = retriever.from_documents(DOCUMENTS, BagOfWords())
    assert str(made).startswith(f"{retriever.__name__}(")
    again = copy.deepcopy(made)
    assert again.index is made.index and again.invoke("filter") == made.invoke("filter")


@pytest.mark.parametrize("splitter", [PICTextSplitter, IDMSTextSplitter])
def test_splitters_that_read_are_taken_without_models_of_their_own(
    splitter: Any,
) -> None:
    made = MultiViewRetriever.from_documents(
        DOCUMENTS, BagOfWords(), splitter=splitter()
    )
    assert made.invoke("How is the filter rinsed?")[0].metadata["heading_path"]
    with pytest.raises(
        InvalidParameter, match="no embedding and no llm in a retriever"
    ):
        MultiViewRetriever.from_documents(
            DOCUMENTS, BagOfWords(), splitter=splitter(embedding=BagOfWords())
        )


def test_progress_true_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    MultiViewRetriever.from_documents(DOCUMENTS, BagOfWords(), progress=True)
    assert " of " in capsys.readouterr().err
    with pytest.raises(InvalidParameter, match="progress must be a function"):
        MultiViewRetriever.from_documents(DOCUMENTS, BagOfWords(), progress=3)  # type: ignore[arg-type]


def test_a_document_of_the_core_is_told_how_to_become_langchains() -> None:
    with pytest.raises(InvalidParameter, match=r"Document\(document\.text, metadata="):
        ContentAwareTextSplitter().split_documents([core.Document(TEXT)])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("make", "name", "answer"),
    [
        (PICTextSplitter, "thresholds", "Did you mean 'threshold'"),
        (PICTextSplitter, "max_tokens", "Pass chunk_size="),
        (PICTextSplitter.paper, "scoope", "Did you mean 'scope'"),
        (IDMSTextSplitter, "heading_path", "Pass add_context="),
        (HiQATransformer, "table_cell", "Did you mean 'table_cells'"),
        (HiQATransformer.code, "counter", "Pass length_function="),
        (HiQAFormatter, "window_word", "Did you mean 'window_words'"),
    ],
)
def test_an_unknown_setting_of_a_splitter_is_answered(
    make: Any, name: str, answer: str
) -> None:
    with pytest.raises(
        UnknownArgument, match=f"has no argument '{name}'. {answer}"
    ) as caught:
        make(**{name: 3})
    assert "Known: " in str(caught.value)


def test_the_settings_of_splitters_are_the_cores() -> None:
    for core_splitter, settings in (
        (PICSplitter, PICArguments),
        (IDMSSplitter, IDMSArguments),
        (HiQASplitter, HiQAArguments),
    ):
        own = {
            "min_tokens",
            "max_tokens",
            "target_tokens",
            "counter",
            "heading_path",
            "margin",
        }
        names = {field.name for field in fields(core_splitter)} - own
        if core_splitter is PICSplitter:
            names -= {"context"}
        assert names <= settings.__annotations__.keys()


def test_how_models_are_asked_is_one_record() -> None:
    retriever = D3Retriever.from_documents(
        DOCUMENTS, BagOfWords(), max_calls=3, timeout=9.0
    )
    assert (retriever._core().runner.call_settings.max_calls, retriever.timeout) == (
        3,
        9.0,
    )
    formatter = HiQAFormatter(max_calls=3, preset="code")
    assert (
        formatter.core.runner.call_settings.max_calls == 3
        and formatter.core.settings.window_words == 500
    )


MODEL = FakeListChatModel(responses=["x"])
FIRST: dict[str, list[Any]] = {  # arguments without which a class cannot be made
    "ImageDescriber": [MODEL],
    "LangChainEmbedder": [BagOfWords()],
    "LangChainModel": [MODEL],
    "SelfAsk": [MultiViewRetriever.from_documents(DOCUMENTS, BagOfWords())],
    "StructragEmbeddings": ["lsa"],
    "StructragLoader": ["docs"],
}


@pytest.mark.parametrize("name", langchain_structrag.__all__)
def test_no_class_takes_an_argument_that_it_does_not_know(name: str) -> None:
    make = getattr(langchain_structrag, name)
    with pytest.raises((TypeError, ValueError), match="max_tokenz"):
        make(*FIRST.get(name, []), max_tokenz=3)


def test_a_compressor_names_the_nearest() -> None:
    with pytest.raises(
        UnknownArgument, match=r"'max_token'\. Did you mean 'max_tokens'"
    ):
        EvidenceCompressor(max_token=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["embedding", "embeddings", "embed_model", "embedder"])
def test_the_embedding_is_taken_by_any_name(name: str, tmp_path: Path) -> None:
    model: Any = {name: BagOfWords()}
    evidence = EvidenceRetriever.from_documents(DOCUMENTS, **model)
    assert "BagOfWords" in evidence.index.embedder.name
    evidence.save(tmp_path / "index")
    assert len(EvidenceRetriever.load(tmp_path / "index", **model).index) == len(
        DOCUMENTS
    )
    texts = [document.page_content for document in DOCUMENTS]
    assert (
        "BagOfWords"
        in MultiViewRetriever.from_texts(texts, **model).index.embedder.name
    )
    assert EvidenceCompressor(**model).embedding is model[name]
    for make in (PICTextSplitter, IDMSTextSplitter, PICTextSplitter.paper):
        assert make(**model).split_text(texts[0])
    with pytest.raises(InvalidParameter, match="mean the same"):
        PICTextSplitter(**({"embedder": 1, "embedding": 2} | model))


@pytest.mark.parametrize("made", [ContentAwareTextSplitter, FixedTextSplitter])
def test_what_langchains_own_splitter_takes_besides_is_answered(made: Any) -> None:
    with pytest.raises(UnknownArgument, match=r"'separators'. Omit it: .* sections"):
        made(chunk_size=100, separators=["\n\n"])


class OtherHostsModel:
    """Can be called, as a LlamaIndex embedding model can."""

    def get_text_embedding(self, text: str) -> list[float]:
        return [1.0]

    def __call__(self, nodes: Any) -> Any:
        return nodes


def test_errors_call_the_embedding_as_the_user_did(tmp_path: Path) -> None:
    documents = [Document("# Pump\n\nIt leaks.", metadata={"source": "pump"})]
    for wrong in ("no-such-model", object(), OtherHostsModel()):
        for make in (EvidenceRetriever, MultiViewRetriever, D3Retriever):
            with pytest.raises(InvalidParameter, match=r"^embedding must be"):
                make.from_documents(documents, wrong)
        with pytest.raises(ValueError, match="embedding must be"):
            EvidenceCompressor(embedding=wrong)
    EvidenceRetriever.from_documents(documents, "lsa").save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match=r"^embedding must .*got 'hash'"):
        EvidenceRetriever.load(tmp_path / "index", HashTokens(name="hash"))
    for make in (EvidenceRetriever, MultiViewRetriever):
        with pytest.raises(InvalidParameter, match=r"^embedding .* Pass embedding=\."):
            make.from_documents(documents, "lsa", store=f"lancedb:{tmp_path}")
