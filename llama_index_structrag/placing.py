"""Where a node's text lies in the document it came from, and how much of its metadata is embedded
with every chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, RelatedNodeInfo, TextNode

from llama_index_structrag.conversion import chunk_metadata, make_node
from llama_index_structrag.keys import EMBED_EXCLUDED_KEY, OWN_KEYS
from structrag.hosts.documents import stable_uuid
from structrag.hosts.fitting import hide_longest
from structrag.hosts.places import original_span, trusted_start
from structrag.hosts.trimming import trimmed
from structrag.records import Chunk, Document
from structrag.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Place:
    """An incoming node's place in its original document."""

    source: RelatedNodeInfo  # the original document: the node's SOURCE, or the node itself
    name: str  # id for the core's document
    base: int | None  # offset of the node's text in the original; None: unknown


def place_of(node: BaseNode) -> Place:
    """A node without a SOURCE is its own document; offsets of another parser are trusted where
    their length fits the text."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    start = trusted_start(
        text, getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    )
    source = node.source_node
    if source is None:
        return Place(node.as_related_node_info(), node.node_id, start or 0)
    mark = stable_uuid(text) if start is None else start
    return Place(source, f"{source.node_id}@{mark}", start)


@dataclass(frozen=True, slots=True)
class Inherited:
    """What the nodes made of one node take over from it."""

    node: BaseNode
    place: Place
    metadata: Mapping[str, Any]
    excluded: tuple[str, ...]  # its longest values, kept out of the embedded text to keep the limit
    tokens: int  # of the metadata that is embedded with every chunk
    with_metadata: bool

    def make(self, chunk: Chunk, document: Document, *, strip: bool) -> TextNode:
        """The node of a chunk; its id is still to be set."""
        chunk = trimmed(chunk) if strip else chunk
        metadata: dict[str, Any] = {}
        if self.with_metadata:
            place = chunk_metadata(chunk, document, self.place.base or 0)
            metadata = {**self.metadata, **place}
        span = original_span(chunk, document, self.place.base)
        made = make_node("", chunk.text, span, metadata, self.node, self.place.source)
        made.excluded_embed_metadata_keys += self.excluded
        return made


def inherit(node: BaseNode, room: int, counter: TokenCounter, *, with_metadata: bool) -> Inherited:
    """What chunks inherit; where the embedded metadata counts more than `room` tokens, its longest
    values are not embedded."""
    place = place_of(node)
    if not with_metadata:
        return Inherited(node, place, {}, (), 0, False)
    metadata = {key: value for key, value in node.metadata.items() if key not in OWN_KEYS}
    hidden = node.excluded_embed_metadata_keys
    visible = {key: value for key, value in metadata.items() if key not in hidden}

    def size_without(excluded: Sequence[str]) -> int:
        shown = TextNode(
            metadata=metadata,
            excluded_embed_metadata_keys=[*hidden, *excluded],
            metadata_template=node.metadata_template,
            metadata_separator=node.metadata_separator,
        )
        return counter(shown.get_metadata_str(MetadataMode.EMBED))

    excluded, tokens = hide_longest(visible, size_without, room)
    if excluded:
        metadata[EMBED_EXCLUDED_KEY] = ", ".join(excluded)
    return Inherited(node, place, metadata, tuple(excluded), tokens, True)
