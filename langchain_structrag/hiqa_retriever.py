"""HiQA's retriever for LangChain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from langchain_structrag.conversion import PAGE_NOTES, document_id
from langchain_structrag.models import inner_config
from langchain_structrag.retrieving import IndexRetriever
from structrag.index.corpus import CorpusStore
from structrag.index.index import Index
from structrag.integrations.kinds import HIQA, RetrieverKind
from structrag.integrations.metadata import CHUNK_KEY, DOCUMENT_KEY, without_page_starts
from structrag.integrations.segments import (
    EngineResult,
    EngineRoute,
    check_packing,
    indexed_segments,
    packed,
)
from structrag.records import Hit
from structrag.retrieval.hiqa.scores import LabelledQuestion, TuningReport
from structrag.text.tokens import count_tokens


class HiQARetriever(IndexRetriever):
    """Finds segments among many look-alike documents (HiQA, equation 2).

    It combines vectors, BM25 and critical keywords.

    Example:
        >>> texts = ["# LM358\\n\\nIt draws 1 mA.", "# TL431\\n\\nIt draws 2 mA."]
        >>> parts = ["LM358", "TL431"]
        >>> retriever = HiQARetriever.from_texts(texts, keywords=parts, k=1)  # or with embeddings
        >>> (segment,) = retriever.invoke("What does the TL431 draw?")
        >>> segment.page_content, segment.metadata["hiqa_keywords"]
        ('# TL431\\n\\nIt draws 2 mA.', ['TL431'])

    Create it with `from_documents`, `from_texts` or `load`, or from a structrag `Index`. It splits
    documents into texts, tables and images, each indexed under the titles that lead to it
    (`splitter=HiQATransformer(...)` changes how). `k` and `where` are also accepted by `invoke`,
    `ainvoke` and `batch`.

    A LangChain vector store may keep the vectors (`vectorstore=...` of `from_documents`), and any
    LangChain retriever may be the lexical route: index `retriever.segments()` there, let it return
    about 50 results, and set `retriever.lexical`.

    Metadata of a result, all JSON: as in `MultiViewRetriever` without `views_hit`, with the routes
    "dense", "bm25" and "keywords"; `hiqa_keywords`, the query's keywords in the segment;
    `hiqa_kind`, `hiqa_images` and the rest as in `HiQATransformer`; `hiqa_cut` if `max_tokens`
    shortened it.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = HIQA

    index: Index = Field(repr=False)
    """What is searched."""
    k: int = 5
    """How many results; fewer where fewer were found."""
    preset: str = "default"
    """Either "default", "paper" for equation 2 as printed, or "code" for the published code's."""
    alpha: float | str | None = None
    """Weight of the vectors against BM25, from 0 to 1, or "auto"; None: 0.5."""
    beta: float | str | None = None
    """Weight of the keywords, from 0, or "auto"; None: 0.2."""
    keywords: Sequence[str] | None = None
    """Critical keywords: names of products, parts, parties."""
    detect_keywords: Any = True
    """Whether names in titles and file names are keywords too.

    "bodies": those of the text as well. Or a function that finds names in a title."""
    routes: Sequence[str] | None = None
    """Some of "dense", "bm25" and "keywords"; None: all."""
    diversify: str | None = None
    """Either None, or "round_robin" for questions that compare several keywords."""
    view: str = "raw"
    """The view of the index to search."""
    order: str = "score"
    """Either "score", or "document" for reading order."""
    lexical: Any = None
    """A LangChain retriever over `segments()` in place of BM25.

    See `langchain_structrag.hiqa_retriever.LexicalRoute`."""
    max_tokens: int | None = None
    """Tokens that all results may have together, their heading paths included.

    Those that do not fit are left out, and only the best is cut, at the end of a sentence, if it
    does not fit alone."""
    counter: Any = count_tokens
    """What counts these tokens, `str -> int`; by default an estimate."""

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a search would reject."""
        super().model_post_init(context)
        check_packing(self.max_tokens)

    def segments(self) -> list[Document]:
        """All segments for a lexical engine to index: the index text, the segment's id, and
        `structrag_chunk` in the metadata."""
        return segment_documents(self.index.store, self.view)

    def tune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """Fit alpha and beta to labelled questions, for all later searches. See
        `structrag.retrieval.hiqa.scores.tune_flow`."""
        return self._tuned(self._core().tune(questions))

    async def atune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """`tune` on an event loop."""
        return self._tuned(await self._core().atune(questions))

    def _tuned(self, report: TuningReport) -> TuningReport:
        self.alpha, self.beta = report.alpha, report.beta
        return report

    def _core_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        lexical = settings["lexical"]
        if isinstance(lexical, BaseRetriever):
            lexical = LexicalRoute(lexical, self.index)
        return {**settings, "lexical": lexical}

    def _chosen(self, hits: list[Hit]) -> list[Hit]:
        return packed(hits, self.index, self.max_tokens, self.counter)


# Metadata keys in which retrievers put a result's score.
SCORE_KEYS = ("_score", "score", "relevance_score")


@dataclass(frozen=True)
class LexicalRoute(EngineRoute):
    """A LangChain retriever as a route of an index.

    Any can take the place of BM25, such as one over Elasticsearch or OpenSearch: its results are
    mapped back to the index's segments. A result is the segment that its metadata's
    `structrag_chunk` or its own id names (also within Elasticsearch's `_id` and `_source`), else
    the one that holds its place: `doc_id` (or what makes a document's id, such as `source`),
    `start_index` and, if known, `end_index`. Segments that the index no longer has are left out.

    Its scores are taken where all results have one that does not rise; else the first counts 1, the
    second 1/2, the third 1/3.
    """

    retriever: BaseRetriever

    def found(self, query: str) -> list[Document]:
        return self.retriever.invoke(query, inner_config())

    async def afound(self, query: str) -> list[Document]:
        return await self.retriever.ainvoke(query, inner_config())

    def described(self, result: Document) -> str:
        return (
            f"the id {result.id!r} and metadata {sorted(map(str, result.metadata))}: it needs "
            f"{CHUNK_KEY}, or doc_id (or source) and a start_index inside one segment"
        )

    def read(self, result: Document) -> EngineResult:
        metadata, facts = result.metadata, list(_facts(result))
        named = (fact.get(CHUNK_KEY) for fact in facts)
        placed = next(
            (fact for fact in facts if isinstance(fact.get("start_index"), int)), {}
        )
        return EngineResult(
            chunk_id=next((name for name in named if isinstance(name, str)), None),
            names=(result.id, metadata.get("_id")),
            doc_id=_parent_id(placed) if placed else None,
            start=placed.get("start_index"),
            end=placed.get("end_index"),
            score=next((metadata[key] for key in SCORE_KEYS if key in metadata), None),
        )


def _facts(document: Document) -> Iterator[Mapping[str, Any]]:
    """Mappings in which a result may say what it is: its metadata, and what Elasticsearch's
    retriever puts inside."""
    yield document.metadata
    source = document.metadata.get("_source")
    if isinstance(source, Mapping):
        yield source
        if isinstance(source.get("metadata"), Mapping):
            yield source["metadata"]


def _parent_id(facts: Mapping[str, Any]) -> str:
    """The id of the document that a result is a part of."""
    if isinstance(facts.get("doc_id"), str):
        return str(facts["doc_id"])
    of_the_part = (
        "start_index",
        "end_index",
        *(PAGE_NOTES if "last_page" in facts else ()),
    )
    of_parent = {key: value for key, value in facts.items() if key not in of_the_part}
    return document_id(Document(page_content="", metadata=of_parent))


def segment_documents(store: CorpusStore, view: str) -> list[Document]:
    """Every chunk as what is indexed of it in a view. With the ids that lead back to it. Chunks
    without the view are left out."""
    documents = []
    for chunk, text in indexed_segments(store, view):
        ids = {CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id}
        metadata = {**without_page_starts(store.document(chunk.doc_id).meta), **ids}
        documents.append(Document(page_content=text, metadata=metadata, id=chunk.id))
    return documents
