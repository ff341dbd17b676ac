"""An index with a tree of summaries above its chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from structrag.asking.naming import setting_name
from structrag.asking.requests import Request, Steps
from structrag.index.adding import (
    Adding,
    Preparation,
    Prepared,
    at_levels,
    prepare_steps,
)
from structrag.index.index import Index, IndexOptions
from structrag.index.levels import SearchedLevel
from structrag.index.snapshot import Reader, Snapshot
from structrag.index.store import Store
from structrag.index.views import ViewSettings
from structrag.reading.settings import Reading
from structrag.records import Chunk, Document
from structrag.retrieval.tree.shape import SHAPE, tree_shape
from structrag.retrieval.tree.summaries import (
    SUMMARY_PROMPT,
    NodeSplitter,
    TreeSettings,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

NODES = "nodes"  # the level of the tree in the store


@dataclass(frozen=True, slots=True)
class _NodePreparation:
    """How the nodes above given chunks are prepared."""

    settings: TreeSettings
    reading: Reading
    how: Preparation  # of nodes, whatever splits

    def above(self, chunks: Mapping[str, Sequence[Chunk]]) -> Preparation:
        splitter = NodeSplitter(chunks, self.settings, self.reading)
        return replace(self.how, splitter=splitter)


class _TreeAdding(Adding):
    """One call of `TreeIndex.add`.

    A document with its chunks and nodes is one entry.
    """

    def __init__(
        self, documents: Iterable[Document], nodes: _NodePreparation, **options: Any
    ) -> None:
        super().__init__(documents, **options)
        self.nodes = nodes

    def steps(self, group: list[tuple[Document, str]]) -> Steps[Prepared]:
        """Prepare a group, chunks first."""
        chunks = yield from prepare_steps(group, self.how)
        by_document = {entry.document.id: entry.chunks for entry in chunks.entries}
        nodes = yield from prepare_steps(group, self.further(by_document)[NODES])
        prepared = at_levels(chunks, {NODES: nodes}, self.store.held)
        entries = [
            replace(
                entry,
                arrays={SHAPE: tree_shape(entry.chunks, entry.level(NODES).chunks)},
            )
            for entry in prepared.entries
        ]
        return replace(prepared, entries=entries)

    def further(
        self, chunks: Mapping[str, Sequence[Chunk]]
    ) -> Mapping[str, Preparation]:
        return {NODES: self.nodes.above(chunks)}


class TreeIndex(Index):
    """An `Index` with a tree of summaries above the chunks.

    Example:
        >>> from structrag import read_text
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Filter\\n\\nRinse it weekly.\\n"
        >>> index = TreeIndex()
        >>> _ = index.add([read_text(text, format="markdown")])
        >>> [node.path for node in index.nodes()]
        [('Pump',)]

    Each section with more than one chunk is a node. Its summary is made from those of its children:
    subsections, and the chunks of its own text. A document without headings has nodes over runs of
    its chunks. `extras["summary"]` of a node has the summary; its text is that of the whole
    section. So each text is kept once more for every node above it.

    Args:
        fan_out: Most children of a node, at least 2; more are put into runs of about equal length.
        summary_tokens: Most tokens of a summary, at least 8, by the splitter's counter.
        summary_prompt: What the language model is asked, with {text} and, if wanted, {title}.
        embedder, options: As in `Index`, but the only view by default is "raw". With `llm` there is
            a call for each node whose parts are longer than a summary; without it the summary is
            the most telling of their sentences.
    """

    SAVED: ClassVar[tuple[str, ...]] = (
        *Index.SAVED,
        "fan_out",
        "summary_tokens",
        "summary_prompt",
    )

    def __init__(
        self,
        *,
        embedder: Any = None,
        fan_out: int = 10,
        summary_tokens: int = 100,
        summary_prompt: str = SUMMARY_PROMPT,
        **options: Unpack[IndexOptions],
    ) -> None:
        self.tree_settings: TreeSettings = TreeSettings(
            fan_out, summary_tokens, summary_prompt
        )
        options.setdefault("views", ("raw",))
        super().__init__(embedder=embedder, **options)
        self.node_level: SearchedLevel = SearchedLevel(
            self.own_store, self.embedder, NODES
        )
        # Answers about nodes, of documents with failed calls.
        self.kept_of_nodes: dict[str, dict[Request, Any]] = {}

    def nodes(self, doc_id: str | None = None) -> list[Chunk]:
        """The nodes of a document, or of all, as chunks.

        Each lies over its section. Raises InvalidParameter for an unknown id.
        """
        return self.own_store.reader(NODES).chunks(doc_id)

    def readers(self) -> tuple[Reader, Reader]:
        """The chunks and the nodes at one moment, as they are searched."""
        snapshot: Snapshot = self.own_store.snapshot()
        return self.own_reader(snapshot), self.node_level.reader(snapshot)

    def warm_up(self) -> None:
        """As `Index.warm_up`, for the nodes too."""
        self.readers()

    def _keep_fits(self) -> None:
        super()._keep_fits()
        self.node_level.keep_fit()

    def delete(self, doc_id: str | Iterable[str]) -> bool:
        """Remove one document or several, as `Index.delete`."""
        if isinstance(doc_id, str):
            self.kept_of_nodes.pop(doc_id, None)
        return super().delete(doc_id)

    def config(self) -> dict[str, Any]:
        """What is saved, with the settings of the tree."""
        settings = self.tree_settings
        return {
            **super().config(),
            "fan_out": settings.fan_out,
            "summary_tokens": settings.summary_tokens,
            "summary_prompt": settings.prompt,
        }

    def settings_name(self) -> str:
        """Everything besides the document that decides what is indexed, as one string."""
        return f"{super().settings_name()}|{setting_name(self.tree_settings)}"

    def _levels(self) -> Mapping[str, Sequence[str]]:
        return {**super()._levels(), NODES: ("raw",)}

    def _open(self, store: Store) -> None:
        super()._open(store)
        self.node_level.store = store

    def _adding(
        self, documents: Iterable[Document], *, known_only: bool = False
    ) -> Adding:
        how = self._preparation()
        return _TreeAdding(
            documents,
            self._node_preparation(how),
            store=self.store,
            host=self.host,
            # Whether the store holds an entry is known when its nodes are there.
            how=replace(how, held=lambda entries: set()),
            usage=self.usage,
            settings=self.settings_name(),
            known_only=known_only,
        )

    def _node_preparation(self, how: Preparation) -> _NodePreparation:
        language = self.view_settings.language
        splitter: Any = self.splitter
        reading = (
            splitter if isinstance(splitter, Reading) else Reading(language=language)
        )
        fitted = hasattr(self.embedder, "fit")
        of_nodes = replace(
            how,
            views=ViewSettings(names=("raw",), language=language),
            embedder=None if fitted else self.embedder,
            overflow="windows",
            held=lambda entries: set(),
            kept=None if how.kept is None else self.kept_of_nodes,
        )
        return _NodePreparation(self.tree_settings, reading, of_nodes)
