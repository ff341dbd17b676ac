"""IDMS for LlamaIndex: margin sampling, in place of `SemanticSplitterNodeParser`, and enrichment of
any nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from llama_index.core.bridge.pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)
from llama_index.core.schema import BaseNode, MetadataMode, TextNode, TransformComponent
from typing_extensions import Self, Unpack

from llama_index_structrag.conversion import (
    check_nodes,
    hide_structure,
    show_index_text,
)
from llama_index_structrag.reading import (
    ModelFields,
    ReadingNodeParser,
    ReadingParserArguments,
)
from llama_index_structrag.settings import NamedFunction, with_settings
from structrag.chunks.enriching.enricher import (
    ENRICHMENTS,
    IDMSEnricher,
    as_enricher,
    enricher_settings,
    with_enrichment,
)
from structrag.chunks.idms.splitter import IDMSSettings, IDMSSplitter, MarginFunction
from structrag.integrations.enriching import (
    HostChunk,
    checked_enricher,
    enriched_flow,
    idms_margin,
    idms_target,
    shows_path,
)
from structrag.integrations.metadata import (
    CONTEXT_KEY,
    ENRICHMENT_KEYS,
    IDMS_KEYS,
    chunk_notes,
)
from structrag.integrations.places import trusted_start
from structrag.integrations.splitters import UNLIMITED
from structrag.records import Chunk
from structrag.text.tokens import TokenCounter

if TYPE_CHECKING:
    _Fields = ReadingNodeParser
else:
    _Fields = with_settings(ReadingNodeParser, IDMSSplitter, "margin")


def _read_enrich(value: Any) -> Any:
    """A name as it is, settings as an enricher; else refused."""
    enricher = as_enricher(value)
    return value if isinstance(value, str) else enricher


def _saved_enrich(value: Any) -> Any:
    return value if isinstance(value, str) else enricher_settings(value)


EnrichField = Annotated[
    Any,
    BeforeValidator(_read_enrich),
    PlainSerializer(_saved_enrich),
    WithJsonSchema({"anyOf": [{"enum": list(ENRICHMENTS)}, {"type": "object"}]}),
]


class IDMSParserArguments(IDMSSettings, ReadingParserArguments, total=False):
    """The fields of `IDMSNodeParser`."""

    target_chunk_size: int | None
    margin: str | MarginFunction
    enrich: str | IDMSEnricher


class IDMSNodeParser(_Fields):
    """Ends a node where sentences belong together less than at recent gaps.

    Small nodes are merged.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Pump\\n\\nIt moves water. Rinse its filter. Invoices are due in March."
        >>> parser = IDMSNodeParser(chunk_size=24)  # or with embed_model and llm
        >>> for node in parser.get_nodes_from_documents([Document(text=text)]):
        ...     print(repr(node.text))
        '# Pump\\n\\nIt moves water. Rinse its filter.'
        'Invoices are due in March.'

    A replacement for `SemanticSplitterNodeParser(embed_model=...)`. See `ContentAwareNodeParser`
    for offsets, limits and metadata, and `structrag.chunks.idms.splitter.IDMSSplitter` for the
    settings. With an `llm`, every gap is one question with a one-token answer, read from
    log-probabilities if the LLM returns them, else from a rating from 0 to 10. Metadata, which no
    model sees: `idms_margin` (of the gap before the node; 0.0 at the start of a section),
    `idms_margin_source` (what the margins were derived from), and `idms_margin_fallbacks` and
    `idms_degraded`: the number of gaps for which similarity replaced a missing answer of the LLM,
    and whether there were any. `enrich` adds `idms_density`, `idms_action`, `idms_reduced` (a
    shorter text, which embedding models see instead of the node's) and `idms_added` (a JSON string:
    sentences of the document that explain what the node assumes, with their offsets); without it
    they are 0.0, "none" and "". With `add_context`, added sentences follow the titles in
    `heading_context`. The node's text is unchanged, and language models see it.
    """

    CORE: ClassVar[Any] = IDMSSplitter
    KEYS: ClassVar[Mapping[str, str]] = IDMS_KEYS

    target_chunk_size: int | None = Field(
        default=None,
        gt=0,
        description=(
            "The size in tokens that merge='greedy' aims at; None: two thirds of chunk_size."
        ),
    )
    margin: NamedFunction = Field(
        default="auto",
        description=(
            "What decides whether two sides belong together: llm, similarity, words, or a "
            "function such as TransformersMargin; auto: llm if given, else embed_model, else "
            "words."
        ),
    )
    enrich: EnrichField = Field(
        default="none",
        description=(
            "Whether wordy nodes get a shorter text and dense ones get explanations: none, "
            "reduce, supplement, both, paper, or an IDMSEnricher."
        ),
    )

    def __init__(
        self,
        *,
        embed_model: Any = None,
        llm: Any = None,
        **settings: Unpack[IDMSParserArguments],
    ) -> None:
        super().__init__(embed_model=embed_model, llm=llm, **settings)

    @classmethod
    def class_name(cls) -> str:
        return "IDMSNodeParser"

    @classmethod
    def paper(
        cls,
        embed_model: Any = None,
        llm: Any = None,
        **settings: Unpack[IDMSParserArguments],
    ) -> Self:
        """As published: the current chunk against the next sentence, then enriched. Merged up to
        260 tokens (200 words), without a limit or sections. Pass `enrich="none"` for margins
        alone."""
        core = IDMSSplitter.paper()
        enrich = settings.get("enrich", "paper")
        published = {
            **cls.core_settings(core),
            "chunk_size": UNLIMITED,
            "min_chunk_size": core.min_tokens,
            "target_chunk_size": core.target_tokens,
            "add_context": enrich != "none",
            "plain_headings": False,
            "enrich": enrich,
            "embed_model": embed_model,
            "llm": llm,
        }
        return cls(**{**published, **settings})

    def show(self, node: TextNode, chunk: Chunk) -> None:
        show_index_text(node, chunk, passage=False)

    def core_splitter(
        self, limit: int, counter: TokenCounter, *, context: bool = True
    ) -> Any:
        return with_enrichment(
            super().core_splitter(limit, counter, context=context),
            self.enrich,
            max_tokens=limit,
            counter=counter,
            into_context=context and self.add_context,
        )

    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        sections = {"respect_sections": self.respect_sections}
        return {
            "margin": idms_margin(self.margin, self.embed_model, self.llm),
            "min_tokens": self._least(limit, limit),
            "target_tokens": idms_target(self.target_chunk_size, self.chunk_size),
            "heading_path": titles and shows_path(self.enrich, sections),
        }


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
    copy.metadata.update(chunk_notes(chunk, ENRICHMENT_KEYS))
    if chunk.context:
        copy.metadata[CONTEXT_KEY] = chunk.context
    if chunk.extras["action"] == "reduced":
        show_index_text(copy, chunk, passage=False)
    hide_structure(copy)
    return copy
