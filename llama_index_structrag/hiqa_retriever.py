"""HiQA's retriever for LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_structrag.conversion import chunk_node_name, show_index_text
from llama_index_structrag.retrieving import IndexRetriever, aretrieved
from llama_index_structrag.settings import token_counter
from structrag.index.corpus import CorpusStore
from structrag.integrations.kinds import HIQA, RetrieverKind
from structrag.integrations.metadata import CHUNK_KEY, DOCUMENT_KEY
from structrag.integrations.segments import (
    EngineResult,
    EngineRoute,
    check_packing,
    indexed_segments,
    packed,
)
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.hiqa.scores import LabelledQuestion, TuningReport


class HiQARetriever(IndexRetriever):
    """Finds segments among many look-alike documents (HiQA, equation 2).

    It combines vectors, BM25 and critical keywords.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> texts = ["# LM358\\n\\nIt draws 1 mA.", "# TL431\\n\\nIt draws 2 mA."]
        >>> documents = [Document(text=text) for text in texts]
        >>> options = {"embed_model": MockEmbedding(embed_dim=8), "keywords": ["LM358", "TL431"]}
        >>> retriever = HiQARetriever.from_documents(documents, **options)
        >>> retriever.retrieve("What does the TL431 draw?")[0].metadata["hiqa_keywords"]
        ['TL431']

    Create it with `from_documents` or `load`, or from a structrag `Index`. It splits documents into
    texts, tables and images, each indexed under the titles that lead to it
    (`node_parser=HiQANodeParser(...)` changes how).

    A LlamaIndex vector store may keep the vectors (`vector_store=...` of `from_documents`), and any
    LlamaIndex retriever may be the lexical route: index `retriever.segments()` there, let it return
    about 50 results, and set `retriever.lexical`.

    Nodes are like those of `MultiViewRetriever`, with full texts and tables for language models.
    Instead of `views_hit` their metadata has the routes "dense", "bm25" and "keywords";
    `hiqa_keywords`, the query's keywords in the node; `hiqa_kind`, `hiqa_images` and the rest as in
    `HiQANodeParser`; `hiqa_cut` if `max_tokens` shortened it.

    Args:
        index: The structrag `Index` to search.
        similarity_top_k: The number of nodes; fewer if fewer were found.
        preset, alpha, beta, keywords, detect_keywords, routes, diversify, view, order: As for
            structrag's `HiQARetriever`.
        lexical: A LlamaIndex retriever over `segments()` that replaces BM25; see
            `llama_index_structrag.hiqa_retriever.LexicalRoute`.
        max_tokens: The token budget of all nodes as language models see them, metadata included.
            Nodes that do not fit are dropped; only the best one is cut, at the end of a sentence,
            if it does not fit alone. None: no limit.
        tokenizer: The tokenizer that counts these tokens, as in the node parsers; None:
            LlamaIndex's global tokenizer.
        options: As for `MultiViewRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = HIQA
    OWN: ClassVar[Mapping[str, Any]] = {"max_tokens": None, "tokenizer": None}
    max_tokens: int | None
    tokenizer: Any

    @property
    def lexical(self) -> Any:
        """The retriever that replaces BM25, or None."""
        return self._settings.get("lexical")

    @lexical.setter
    def lexical(self, lexical: Any) -> None:
        self._settings["lexical"] = lexical
        self.retriever = self._core()

    def _core_settings(self) -> dict[str, Any]:
        check_packing(self.max_tokens)
        if isinstance(self._settings.get("keywords"), Iterator):  # they are read again
            self._settings["keywords"] = list(self._settings["keywords"])
        settings = super()._core_settings()
        if isinstance(self.lexical, BaseRetriever):
            settings["lexical"] = LexicalRoute(self.lexical, self.index)
        return settings

    def segments(self) -> list[TextNode]:
        """All segments for a lexical engine to index: the index text under the segment's node id,
        the same id as in results."""
        return segment_nodes(self.index.store, self.retriever.source.view)

    def tune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """Fit alpha and beta to labelled questions, for all later searches. See
        `structrag.retrieval.hiqa.scores.tune_flow`."""
        return self._tuned(self.retriever.tune(questions))

    async def atune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """`tune` on an event loop."""
        return self._tuned(await self.retriever.atune(questions))

    def _tuned(self, report: TuningReport) -> TuningReport:
        self._settings |= {"alpha": report.alpha, "beta": report.beta}
        return report

    def _chosen(self, hits: list[Hit]) -> list[Hit]:
        counter = token_counter(self.tokenizer)
        return packed(hits, self.index, self.max_tokens, counter, self._shown)

    def _shown(self, chunk: Chunk) -> str:
        """A chunk as language models see it."""
        nodes = self.nodes_of([Hit(chunk, 0.0, 1)])  # none where it was deleted since
        return "".join(
            scored.node.get_content(metadata_mode=MetadataMode.LLM) for scored in nodes
        )

    def _node(self, hit: Hit, document: Document) -> NodeWithScore:
        scored = super()._node(hit, document)
        if isinstance(scored.node, TextNode):
            show_index_text(scored.node, hit.chunk)
        return scored


@dataclass(frozen=True)
class LexicalRoute(EngineRoute):
    """A LlamaIndex retriever as a route of an index.

    Its results are mapped back to the index's segments. A result is the segment that its node id or
    its metadata `structrag_chunk` names, else the one that holds its place: `ref_doc_id`,
    `start_char_idx` and `end_char_idx`. Results that are no segment (any more) are left out;
    InvalidParameter if none is one. If a result has no score, or scores rise, all count by rank: 1,
    1/2, 1/3.
    """

    retriever: BaseRetriever

    def found(self, query: str) -> list[NodeWithScore]:
        return self.retriever.retrieve(query)

    async def afound(self, query: str) -> list[NodeWithScore]:
        return await aretrieved(self.retriever, query)

    def described(self, result: NodeWithScore) -> str:
        node = result.node
        return (
            f"the id {node.node_id!r}, ref_doc_id {node.ref_doc_id!r} and start_char_idx "
            f"{getattr(node, 'start_char_idx', None)!r}"
        )

    def read(self, result: NodeWithScore) -> EngineResult:
        node = result.node
        return EngineResult(
            chunk_id=node.metadata.get(CHUNK_KEY),
            names=(node.node_id,),
            doc_id=node.ref_doc_id,
            start=getattr(node, "start_char_idx", None),
            end=getattr(node, "end_char_idx", None),
            score=result.score,
        )


def segment_nodes(store: CorpusStore, view: str) -> list[TextNode]:
    """Every chunk as what is indexed of it in a view, under the id of its node. Chunks without the
    view are left out."""
    hidden = [CHUNK_KEY, DOCUMENT_KEY]
    return [
        TextNode(
            id_=chunk_node_name(chunk),
            text=text,
            metadata={CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id},
            excluded_embed_metadata_keys=list(hidden),
            excluded_llm_metadata_keys=list(hidden),
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id)
            },
        )
        for chunk, text in indexed_segments(store, view)
    ]
