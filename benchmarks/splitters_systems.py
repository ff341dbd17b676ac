"""The splitters that are compared, ours and others', as functions from documents to the texts of
their chunks. Ours get copies of the documents, whose structure no earlier run has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

from benchmarks.question_sets import static_vectors
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.records import Document
from structrag.text.sentences import sentence_spans

Splitting = Callable[
    [Sequence[Document]], list[list[str]]
]  # documents -> the texts of each one's chunks

FLOOR = "floor: every sentence embedded once"
FLOOR_32 = "the same in batches of 32, as LangChain and chonkie"
PIC = "structrag PICSplitter"
PIC_WHOLE = 'structrag PICSplitter(scope="document")'
PIC_SINGLY = 'structrag PICSplitter(scope="document"), one document a call'
PIC_PAPER = "structrag PICSplitter.paper()"
IDMS = 'structrag IDMSSplitter(margin="similarity")'
IDMS_WORDS = 'structrag IDMSSplitter(margin="words")'
PIC_STATIC = "structrag PICSplitter, static vectors"
IDMS_STATIC = "structrag IDMSSplitter, static vectors"
LANGCHAIN = "LangChain SemanticChunker"
LLAMA = "LlamaIndex SemanticSplitterNodeParser"
CHONKIE = "chonkie SemanticChunker"
CONTENT_AWARE = "structrag ContentAwareSplitter, which asks no encoder"


def sentences_of(documents: Sequence[Document]) -> list[str]:
    """The sentences of all documents as structrag's sentence splitter gives them, white space at
    their ends removed."""
    return [
        document.text[start:end].strip()
        for document in documents
        for start, end in sentence_spans(document.text)
    ]


def floor(
    embedder: Any, batch_size: int, documents: Sequence[Document]
) -> list[list[str]]:
    """One call for all different sentences, which sentence-transformers sorts by length; no
    chunks."""
    sentences = list(dict.fromkeys(sentences_of(documents)))
    embedder.model.encode(
        sentences, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True
    )
    return []


def ours(embedder: Any) -> dict[str, Splitting]:
    """Our splitters that read the text."""
    whole = PICSplitter(scope="document")
    return {
        PIC: partial(_together, PICSplitter(), embedder),
        PIC_WHOLE: partial(_together, whole, embedder),
        PIC_SINGLY: partial(_singly, whole, embedder),
        PIC_PAPER: partial(_together, PICSplitter.paper(), embedder),
        IDMS: partial(_together, IDMSSplitter(margin="similarity"), embedder),
        IDMS_WORDS: partial(_together, IDMSSplitter(margin="words"), embedder),
    }


def static(embedder: Any) -> dict[str, Splitting]:
    """Ours with static vectors."""
    vectors = static_vectors()
    splitters = {
        PIC_STATIC: PICSplitter(boundary_embedder=vectors),
        IDMS_STATIC: IDMSSplitter(boundary_embedder=vectors),
    }
    return {
        name: partial(_together, splitter, embedder)
        for name, splitter in splitters.items()
    }


def content_aware(documents: Sequence[Document]) -> list[list[str]]:
    """Our splitter by structure."""
    splitter = ContentAwareSplitter()
    return [
        [chunk.text for chunk in splitter.split(copy(document))]
        for document in documents
    ]


def peers(embedder: Any) -> tuple[dict[str, Splitting], list[str]]:
    """The installed peers with their default settings and this embedder's model, and the names of
    the absent ones."""
    makers = {LANGCHAIN: _langchain, LLAMA: _llama_index, CHONKIE: _chonkie}
    found: dict[str, Splitting] = {}
    absent = []
    for name, make in makers.items():
        try:
            found[name] = partial(_each_text, make(embedder.model))
        except ImportError as error:
            absent.append(f"{name} ({error.name or error})")
    return found, absent


def _together(
    splitter: Any, embedder: Any, documents: Sequence[Document]
) -> list[list[str]]:
    return [
        [chunk.text for chunk in chunks]
        for chunks in splitter.split_all(map(copy, documents), embedder=embedder)
    ]


def _singly(
    splitter: Any, embedder: Any, documents: Sequence[Document]
) -> list[list[str]]:
    return [
        [chunk.text for chunk in splitter.split(copy(document), embedder=embedder)]
        for document in documents
    ]


def _each_text(
    split: Callable[[str], list[str]], documents: Sequence[Document]
) -> list[list[str]]:
    return [split(document.text) for document in documents]


def _langchain(model: Any) -> Callable[[str], list[str]]:
    from langchain_core.embeddings import Embeddings
    from langchain_experimental.text_splitter import SemanticChunker

    class Encoder(Embeddings):
        """As langchain-huggingface calls the model: its own batch size, lists of numbers."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return model.encode(texts, show_progress_bar=False).tolist()  # type: ignore[no-any-return]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    chunker = SemanticChunker(Encoder())
    return lambda text: chunker.split_text(text)


def _llama_index(model: Any) -> Callable[[str], list[str]]:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser
    from llama_index.core.schema import Document as LlamaDocument

    class Encoder(BaseEmbedding):
        """As llama-index-embeddings-huggingface calls the model: batches of `embed_batch_size`,
        lists of numbers."""

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return model.encode(
                texts, batch_size=self.embed_batch_size, show_progress_bar=False
            ).tolist()  # type: ignore[no-any-return]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    parser = SemanticSplitterNodeParser(
        embed_model=Encoder(model_name="all-MiniLM-L6-v2")
    )
    return lambda text: [
        node.get_content()
        for node in parser.get_nodes_from_documents([LlamaDocument(text=text)])
    ]


def _chonkie(model: Any) -> Callable[[str], list[str]]:
    from chonkie import SemanticChunker
    from chonkie.embeddings import SentenceTransformerEmbeddings

    chunker = SemanticChunker(embedding_model=SentenceTransformerEmbeddings(model))
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]
