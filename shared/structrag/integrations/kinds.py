"""The retrievers of the adapters as data: what each is made of, and how its options are read. The
typed dicts are for type checkers; `RetrieverKind` reads from the core which options a class
takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from structrag.index.index import Index, IndexSettings
from structrag.integrations.metadata import (
    CITATION_KEY,
    D3_KEYS,
    HIQA_HIT_KEYS,
    HIQA_KEYS,
    OVERSIZE_KEYS,
    VIEWS_KEYS,
    chunk_notes,
    method_keys,
    score_notes,
    source_notes,
)
from structrag.integrations.places import trimmed
from structrag.integrations.segments import with_segments
from structrag.model_calls.settings import ASKING, arguments_of
from structrag.reading.settings import ReadOptions
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.d3.selection import Selection
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multihop.hops import SelfAskPrompts
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.text.tokens import TokenCounter


def _left(index: Any, splitter: Any, preset: Any) -> Any:
    """The index as it is."""
    return index


@dataclass(frozen=True, slots=True)
class RetrieverKind:
    """The classes, options and metadata of an adapter's retriever.

    Attributes:
        core: The core's retriever; where it holds the documents itself, that is the index too.
        index: What it searches.
        keys: Of a chunk in metadata, as in `chunk_notes`; None: those of the splitter that made it.
        hit_keys: Further keys, whose lists always are lists.
        embedder: What the index calls the model that embeds.
        shared: Options that both the retriever and its index take.
        new: Options of a new index where they differ from the index's own.
        kept: Options of an index that are saved with it, so that opening it takes none.
        renamed: Options of the adapters -> what the index calls them.
        finish: Is given the index with the options `splitter` and `preset`.
    """

    core: Any
    index: Any
    keys: Mapping[str, str] | None = field(default_factory=dict)
    hit_keys: Mapping[str, str] = field(default_factory=dict)
    embedder: str = "embedder"
    shared: Collection[str] = ()
    new: Mapping[str, Any] = field(default_factory=dict)
    kept: Collection[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    finish: Callable[[Any, Any, Any], Any] = _left

    def notes(self, hit: Hit, *, lists: bool = False) -> dict[str, Any]:
        """Metadata of a hit besides that of its document, its headings and its place there."""
        chunk = trimmed(hit.chunk)
        keys = method_keys(chunk) if self.keys is None else self.keys
        return {
            **chunk_notes(chunk, OVERSIZE_KEYS),
            **source_notes(chunk),
            CITATION_KEY: hit.citation,
            **score_notes(hit),
            **chunk_notes(chunk, self.hit_keys, lists=True),
            **chunk_notes(chunk, keys, lists=lists),
        }

    @property
    def settings(self) -> tuple[str, ...]:
        """Arguments of the core's retriever."""
        return () if self.core is self.index else arguments_of(self.core)

    @property
    def limits(self) -> tuple[str, ...]:
        """Arguments of one search, without the question."""
        return arguments_of(self.core.search)[1:]

    def index_options(self, what: str) -> list[str]:
        """Arguments of its index but for the embedder; `what` is "load" if a saved index is
        opened."""
        names = (*arguments_of(self.index), *self.renamed)
        more = ["verify"] if what == "load" else []
        return [name for name in names if name != self.embedder] + more

    def divided(
        self, options: Mapping[str, Any], own: Iterable[str], what: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options named `own`, for the retriever, and those for its index."""
        names = set(own)
        for_retriever = {name: options[name] for name in options if name in names}
        left_out = names - set(self.shared)
        for_index = dict(self.new)
        if what == "load":
            for_index, left_out = {}, left_out | set(self.kept)
        for name in sorted(options, key=lambda name: name in self.renamed):
            is_unsaid = name in names and options[name] is None
            if name not in left_out and not is_unsaid:
                for_index[self.renamed.get(name, name)] = options[name]
        return for_retriever, for_index

    def saved(self, index: Any) -> dict[str, Any]:
        """Options of the retriever that a saved index knows."""
        return {
            name: getattr(index, name)
            for name in ("preset", "views")
            if name in self.shared and hasattr(index, name)
        }


def neighbours_of(index: Any, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
    """The chunks before and behind a hit in its document.

    None where the document begins or ends, and twice for a chunk that is not in the index.
    """
    if isinstance(index, EvidenceRetriever):
        return index.neighbours(chunk)
    reader = index.store.reader()
    row = reader.row_of(chunk.id)
    if row is None:
        return None, None
    rows = reader.rows_of(chunk.doc_id)
    return (
        reader.chunk(row - 1) if row - 1 in rows else None,
        reader.chunk(row + 1) if row + 1 in rows else None,
    )


def chunks_of(index: Any, doc_id: str) -> list[Chunk]:
    """The chunks of a document, in reading order."""
    if isinstance(index, EvidenceRetriever):
        return index.blocks(doc_id)
    chunks: list[Chunk] = index.store.chunks(doc_id)
    return chunks


MULTIVIEW = RetrieverKind(
    MultiViewRetriever, Index, None, VIEWS_KEYS, shared=("preset", "views")
)
HIQA = RetrieverKind(
    HiQARetriever,
    Index,
    HIQA_KEYS,
    HIQA_HIT_KEYS,
    new={"views": ("raw",)},
    finish=with_segments,
)
D3 = RetrieverKind(
    D3Retriever,
    D3Index,
    D3_KEYS,
    shared=("llm", "preset", *ASKING),
    kept=("preset",),
    renamed={"summariser": "llm"},
)
EVIDENCE = RetrieverKind(EvidenceRetriever, EvidenceRetriever, embedder="embedding")


class CoreOptions(IndexSettings, total=False):
    """Arguments of the core's retrievers and indexes, by their own names."""

    llm: Any
    # the search
    routes: Sequence[Any] | None
    fusion: str | None
    weights: Mapping[str, float] | None
    order: str
    pool: int | None
    max_tokens: int | None
    alpha: float | str | None
    beta: float | str | None
    keywords: Iterable[str] | int | None
    detect_keywords: Any
    diversify: str | None
    view: str
    lexical: Any
    router: str
    strategy: str | None
    routing: Routing | None
    selection: Selection | None
    evidence: Any
    # the index
    summariser: Any
    whole_tokens: int | None
    paragraph_summaries: bool
    prompt: str | None
    exclude_titles: Sequence[str]
    plain_headings: bool
    counter: TokenCounter
    token_encoder: Any
    context: str
    read_options: ReadOptions | None
    verify: bool


class SelfAskOptions(TypedDict, total=False):
    """Arguments of the core's `SelfAsk` but for its retriever and model."""

    max_followups: int
    min_followups: int
    token_budget: int | None
    evidence_tokens: int
    prompts: SelfAskPrompts | None
