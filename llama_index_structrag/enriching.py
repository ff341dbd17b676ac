"""IDMS's enrichment as a transformation of LlamaIndex's pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, Field
from llama_index.core.schema import BaseNode, MetadataMode, TextNode, TransformComponent

from llama_index_structrag.conversion import (
    check_nodes,
    hide_structure,
    show_index_text,
)
from llama_index_structrag.idms import EnrichField
from llama_index_structrag.reading import ModelFields
from structrag.integrations.enriching import (
    HostChunk,
    checked_enricher,
    enriched_flow,
    enrichment_notes,
)
from structrag.integrations.metadata import CONTEXT_KEY
from structrag.integrations.offsets import trusted_start
from structrag.records import Chunk


class IDMSEnrichment(ModelFields, TransformComponent):
    """Shortens nodes that say little, and explains nodes that assume much (IDMS).

    Example:
        >>> from structrag import IDMSEnricher
        >>> texts = ["Long Short-Term Memory (LSTM) keeps a state.", "It rains.",
        ...     "The LSTM of 2014 beats the GRU in speed and in size, as was shown in May."]
        >>> component = IDMSEnrichment(enrich=IDMSEnricher(high=0.1, growth=1.0))
        >>> nodes = component([TextNode(text=text) for text in texts])
        >>> nodes[2].metadata["heading_context"], nodes[2].metadata["idms_action"]
        ('Long Short-Term Memory (LSTM)', 'supplemented')

    It accepts the nodes of any parser. Pass all nodes of a document in one call and in order:
    densities are compared within a document, and explanations come from its other nodes. Nodes
    belong to one document if their `file_path`, `file_name`, `source` or `doc_id` agree, or else
    their `ref_doc_id`. It returns copies with the same ids, texts and offsets; nodes without text
    are passed on.

    Models see the shorter text of a node, or its text after added sentences in `heading_context`.
    Metadata that no model sees: `idms_density`, `idms_action` ("none", "reduced" or
    "supplemented"), `idms_reduced`, `idms_added` (a JSON string: sentences with their offsets, -1
    for nodes without offsets) and `idms_degraded`. Without an `embed_model`, vectors are LSA of
    each document's own sentences; without an `llm`, whole sentences are selected, and codes get the
    document's own definition.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True
    )

    enrich: EnrichField = Field(
        default="both",
        description=(
            "reduce, supplement, both, paper (as published), or an IDMSEnricher with custom "
            "settings and prompts."
        ),
    )

    @classmethod
    def class_name(cls) -> str:
        return "IDMSEnrichment"

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a call would reject."""
        super().model_post_init(context)
        checked_enricher(self.enrich)
        self._runner()

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Enriched copies of nodes."""
        checked, runner = check_nodes(nodes), self._runner()
        flow = enriched_flow(checked_enricher(self.enrich), _hosts(checked), runner)
        return list(map(_enriched, checked, runner.run(flow)))

    async def acall(
        self, nodes: Sequence[BaseNode], **kwargs: Any
    ) -> Sequence[BaseNode]:
        """`__call__` by the models' own asynchronous calls."""
        checked, runner = check_nodes(nodes), self._runner()
        flow = enriched_flow(checked_enricher(self.enrich), _hosts(checked), runner)
        return list(map(_enriched, checked, await runner.arun(flow)))

    def __getstate__(self) -> dict[Any, Any]:
        """The state for pickle, which unlike the base class drops no setting."""
        return dict(BaseModel.__getstate__(self))


def _hosts(nodes: Sequence[BaseNode]) -> list[HostChunk]:
    hosts = []
    for node in nodes:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        start = getattr(node, "start_char_idx", None)
        place = trusted_start(text, start, getattr(node, "end_char_idx", None))
        context = str(node.metadata.get(CONTEXT_KEY) or "")
        metadata, document = node.metadata, node.ref_doc_id or ""
        hosts.append(HostChunk(text, metadata, place, document, context))
    return hosts


def _enriched(node: BaseNode, chunk: Chunk) -> BaseNode:
    if not isinstance(node, TextNode) or not node.text.strip():
        return node
    copy: TextNode = node.model_copy(deep=True)
    copy.metadata.update(enrichment_notes(chunk))
    if chunk.context:
        copy.metadata[CONTEXT_KEY] = chunk.context
    if chunk.extras["action"] == "reduced":
        show_index_text(copy, chunk, passage=False)
    hide_structure(copy)
    return copy
