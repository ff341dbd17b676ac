"""Evidence within a token budget for LlamaIndex. A retriever, and a postprocessor of other
retrievers' nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import Field, model_validator
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import (
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TextNode,
)

from llama_index_structrag.conversion import hide_structure
from llama_index_structrag.models import core_embedder
from llama_index_structrag.retrieving import IndexRetriever, bundle_flow
from structrag.errors import InvalidParameter, check_arguments
from structrag.integrations.arguments import (
    errors_of_models,
    in_host_words,
    with_one_embedder,
)
from structrag.integrations.kinds import EVIDENCE, RetrieverKind
from structrag.integrations.metadata import CONTEXT_KEY, INDEX_KEY
from structrag.integrations.places import slice_places
from structrag.integrations.retrievers import check_limits, text_place
from structrag.model_calls.requests import Flow
from structrag.records import Document, Hit
from structrag.retrieval.evidence.shortening import Shortener, Slice


class EvidenceRetriever(IndexRetriever):
    """Finds the passages that answer a question, within a token budget.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter every week."
        >>> retriever = EvidenceRetriever.from_documents([Document(text=text)], max_tokens=8)
        >>> (node,) = retriever.retrieve("How often do I rinse the filter?")
        >>> node.text, node.metadata["heading_path"]
        ('Rinse the filter every week.', 'Pump > Cleaning')

    Every sentence, table row and heading is scored by how well the words around it match those of
    the question; the best ones bring in their paragraphs until `max_tokens` is used. Nodes are like
    those of `MultiViewRetriever`; `score_parts` says what matched. The relationships PREVIOUS and
    NEXT lead to the paragraphs, lists and tables around a passage; `docstore()` holds them all.

    The tokens of the question are matched one by one, which finds most, with any of these: a
    structrag embedder of sentence-transformers as `embed_model`, such an embedder as
    `token_encoder`, or an `embed_model` that holds a SentenceTransformer, such as
    `HuggingFaceEmbedding`. Other models use sentence vectors instead.

    A part of a table or list is shown with its caption and header, or with the sentence before it
    (`heading_context`, which models see and `max_tokens` counts). `context="all"` adds the heading
    path, `context="none"` adds nothing.

    Args:
        index: structrag's `EvidenceRetriever`; `from_documents` and `load` create one.
        similarity_top_k: The largest number of passages; None: only the token budget limits them.
        max_tokens: The token budget of all passages together. With `similarity_top_k`, None is no
            limit; otherwise close passages are joined and widened until the budget is used.
        order: "rank" for the best first, or "document" for reading order.
        options: As for `MultiViewRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = EVIDENCE
    OWN: ClassVar[Mapping[str, Any]] = {"max_tokens": 1000, "order": "rank"}
    max_tokens: int | None
    order: str

    def _core(self) -> Any:
        check_limits(self.order, self._settings.get("k"), self.max_tokens)
        return super()._core()

    def _node(self, hit: Hit, document: Document) -> NodeWithScore:
        scored = super()._node(hit, document)
        scored.node.metadata[INDEX_KEY] = self.index.handle
        hide_structure(scored.node)
        return scored

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """There are none."""


class EvidencePostprocessor(BaseNodePostprocessor):
    """Shortens the nodes of any retriever to the evidence in them.

    Example:
        >>> node = TextNode(text="Cats sleep all day. The blue pump leaks at the seal. Birds sing.")
        >>> postprocessor = EvidencePostprocessor(max_tokens=10)  # or with an embed_model
        >>> nodes = [NodeWithScore(node=node, score=0.3)]
        >>> (short,) = postprocessor.postprocess_nodes(nodes, query_str="Which pump leaks?")
        >>> short.text
        'The blue pump leaks at the seal.'

    Use it in `node_postprocessors` of a query engine. Each result is an exact slice of one node's
    text, with its metadata and relationships; its positions are adjusted (`start_char_idx` and
    `source_start` with their ends). Nodes of an `EvidenceRetriever` with the same models are not
    embedded again; other nodes are embedded for every question, so pass about ten, not hundreds.
    Where nodes overlap, each character is given once.
    Nodes that are not a `TextNode` are dropped.

    Args:
        embed_model: As in `EvidenceRetriever`; None: LSA over these nodes.
        token_encoder: The encoder of token vectors, for an `embed_model` that has none.
        max_tokens: The token budget of all slices together.
        order: "rank" for the best first, or "document" for the order of the input.
        context: What `heading_context` adds to a slice: "lead", "all" or "none", as in
            `EvidenceRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError), or there is no question.
    """

    embed_model: Any = Field(
        default=None, repr=False, description="As in EvidenceRetriever."
    )
    token_encoder: Any = Field(
        default=None, repr=False, description="As in EvidenceRetriever."
    )
    max_tokens: int = Field(
        default=1000, description="The token budget of all slices together."
    )
    order: str = Field(default="rank", description="'rank' or 'document'.")
    context: str = Field(default="lead", description="'lead', 'all' or 'none'.")

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, fields: Any) -> Any:
        """Name the nearest field where one is unknown."""
        if isinstance(fields, dict):
            fields = with_one_embedder(fields, "embed_model")
            check_arguments(cls.__name__, fields, cls.model_fields)
        return fields

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a question would reject."""
        super().model_post_init(context)
        self._shortener()

    def _shortener(self) -> Shortener:
        with in_host_words(embedder="embed_model", embedding="embed_model"):
            return Shortener(
                core_embedder(self.embed_model),
                token_encoder=self.token_encoder,
                max_tokens=self.max_tokens,
                order=self.order,
                context=self.context,
            )

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex saves it."""
        return "StructragEvidencePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        with_text, shortener, flow = self._flow(nodes, query_bundle)
        with errors_of_models():
            slices = shortener.run(flow)
        return [_shortened(with_text[piece.text].node, piece) for piece in slices]

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        with_text, shortener, flow = self._flow(nodes, query_bundle)
        with errors_of_models():
            slices = await shortener.arun(flow)
        return [_shortened(with_text[piece.text].node, piece) for piece in slices]

    def _flow(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None
    ) -> tuple[list[NodeWithScore], Shortener, Flow[list[Slice]]]:
        """The nodes with text, what shortens them, and how."""
        if query_bundle is None:
            raise InvalidParameter(
                "query_bundle must be given, because evidence is selected for a question; got "
                "None."
            )
        with_text = [node for node in nodes if isinstance(node.node, TextNode)]
        texts = [node.node.get_content(MetadataMode.NONE) for node in with_text]
        places = [
            text_place(
                text,
                scored.node.metadata,
                scored.node.ref_doc_id,
                getattr(scored.node, "start_char_idx", None),
                getattr(scored.node, "end_char_idx", None),
            )
            for text, scored in zip(texts, with_text, strict=True)
        ]
        shortener = self._shortener()
        flow = partial(shortener.flow, texts, places=places)
        # The embedding in it, if any, is that of the model that found the nodes.
        asked = replace(query_bundle, embedding=None)
        return with_text, shortener, bundle_flow(asked, flow)


def _shortened(node: Any, piece: Slice) -> NodeWithScore:
    short = node.model_copy(deep=True)
    short.id_ = f"{node.node_id}:{piece.start}-{piece.end}"
    text = node.get_content(MetadataMode.NONE)
    short.set_content(text[piece.start : piece.end])
    metadata = short.metadata
    metadata.update(slice_places(text, metadata, piece.start, piece.end))
    if piece.context:
        outer = metadata.get(CONTEXT_KEY, "")
        contexts = dict.fromkeys(filter(None, (outer, piece.context)))
        metadata[CONTEXT_KEY] = "\n".join(contexts)
        for keys in (
            short.excluded_embed_metadata_keys,
            short.excluded_llm_metadata_keys,
        ):
            if not outer and CONTEXT_KEY in keys:  # an empty one is hidden
                keys.remove(CONTEXT_KEY)
    if node.start_char_idx is not None:
        short.start_char_idx = node.start_char_idx + piece.start
        short.end_char_idx = node.start_char_idx + piece.end
    return NodeWithScore(node=short, score=piece.score)
