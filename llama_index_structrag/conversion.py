"""Between LlamaIndex's nodes and the core's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)

from structrag.errors import InvalidParameter
from structrag.integrations.documents import HostDocument, read_document, stable_uuid
from structrag.integrations.metadata import (
    CONTEXT_KEY,
    CONTEXT_KEYS,
    D3_KEYS,
    FORMAT_KEY,
    FORMAT_REPORT_KEY,
    HIQA_HIT_KEYS,
    HIQA_KEYS,
    IDMS_KEYS,
    INDEX_KEY,
    PIC_KEYS,
    SECTION_KEYS,
    SEGMENT_TEXT_KEY,
    chunk_notes,
    copied,
    heading_notes,
    of_passage,
    place_notes,
    without_page_starts,
)
from structrag.integrations.places import trimmed
from structrag.reading.paging import PAGE_STARTS, PLACE_STARTS
from structrag.records import Chunk, Document, Hit

INDEX_TEXT_KEY = (
    # That only embedding models see; language models see SEGMENT_TEXT_KEY.
    "segment_index_text"
)
EMBED_EXCLUDED_KEY = (
    # Names the keys of a document's metadata that are too long to embed.
    "metadata_not_embedded"
)

HIDDEN_KEYS = (
    EMBED_EXCLUDED_KEY,
    PAGE_STARTS,
    PLACE_STARTS,
    FORMAT_KEY,
    FORMAT_REPORT_KEY,
    "heading_path",
    "section_id",
    "source_start",
    "source_end",
    "context_shortened",
    "oversize",
    "routes",
    "scores",
    "score_parts",
    "views_hit",
    "citation",
    *SECTION_KEYS.values(),
    INDEX_KEY,
    *PIC_KEYS.values(),
    *IDMS_KEYS.values(),
    *HIQA_KEYS.values(),
    *HIQA_HIT_KEYS.values(),
    *D3_KEYS.values(),
)  # no model sees them
SHOWN_KEYS = (CONTEXT_KEY, INDEX_TEXT_KEY, SEGMENT_TEXT_KEY)  # models see them
OWN_KEYS = (*HIDDEN_KEYS, *SHOWN_KEYS)  # not inherited by nodes made of a node


SETTINGS_KEY = "llama_index"  # of a core document's meta
_EXCLUSIONS = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
# A document's settings of how models see it, which its nodes have too.
_SETTINGS = (
    *_EXCLUSIONS,
    "text_template",
    "metadata_template",
    "metadata_separator",
)
_PLAIN = TextNode()


def read_node(
    node: BaseNode, id: str, *, format: str = "auto", drop_navigation: bool = True
) -> Document:
    """A node's text as a document of the core; see `read_document` of `integrations.documents`."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    host = HostDocument(text, node.metadata, id)
    return read_document(host, format=format, drop_navigation=drop_navigation)


def chunk_metadata(chunk: Chunk, *, lists: bool = False) -> dict[str, Any]:
    """A chunk's structure as flat metadata.

    Every chunk has all keys, and every value is a string, a number or a bool, as flat vector stores
    demand; with `lists` the path is a list.

    heading_path: all titles down to the chunk's own, joined by " > "; heading_context: what the
    text does not say itself, the titles above its first line and the header rows of a cut table.
    """
    return {
        **heading_notes(chunk, lists=lists),
        CONTEXT_KEY: chunk.context,
        **chunk_notes(chunk, CONTEXT_KEYS),
    }


def add_page_label(node: TextNode, meta: Mapping[str, Any], chunk: Chunk) -> None:
    """Add the pages of a chunk as `page_label`, and its `place` such as "slide 4", if its document
    knows them. Embedding models do not see them."""
    notes = place_notes(meta, chunk)
    node.metadata.update(notes)
    node.excluded_embed_metadata_keys.extend(notes)


def make_node(
    node_id: str,
    text: str,
    span: tuple[int | None, int | None],
    metadata: Mapping[str, Any],
    parent: BaseNode | None,
    source: RelatedNodeInfo,
    kind: type[TextNode] = TextNode,
) -> TextNode:
    """A text node with our metadata over its parent's. `hide_structure` still has to hide ours from
    models."""
    inherited = ["metadata_template", "metadata_separator"]
    if "{content}" in getattr(parent, "text_template", ""):
        inherited.append("text_template")
    hidden_embed = list(parent.excluded_embed_metadata_keys) if parent else []
    hidden_llm = list(parent.excluded_llm_metadata_keys) if parent else []
    return kind(
        id_=node_id,
        text=text,
        start_char_idx=span[0],
        end_char_idx=span[1],
        metadata=copied(metadata),
        excluded_embed_metadata_keys=list(dict.fromkeys(hidden_embed)),
        excluded_llm_metadata_keys=list(dict.fromkeys(hidden_llm)),
        relationships={NodeRelationship.SOURCE: source},
        **{name: getattr(parent, name) for name in inherited if hasattr(parent, name)},
    )


def hide_structure(node: BaseNode) -> None:
    """Hide the structural keys that the node has from both kinds of model."""
    hidden = [key for key in node.metadata if key in HIDDEN_KEYS]
    # A chunk without titles above it has an empty context, which would only cost tokens.
    empty = [key for key in SHOWN_KEYS if node.metadata.get(key) == ""]
    for name in _EXCLUSIONS:
        keys = getattr(node, name)
        keys[:] = dict.fromkeys([*keys, *hidden, *empty])


def link_neighbours(nodes: Sequence[BaseNode]) -> None:
    """Set PREVIOUS and NEXT between neighbours of one source."""
    infos = [node.as_related_node_info() for node in nodes]
    for i in range(1, len(nodes)):
        left, right = nodes[i - 1], nodes[i]
        if left.ref_doc_id is not None and left.ref_doc_id == right.ref_doc_id:
            left.relationships[NodeRelationship.NEXT] = infos[i]
            right.relationships[NodeRelationship.PREVIOUS] = infos[i - 1]


def check_nodes(documents: Any) -> list[BaseNode]:
    """A list of LlamaIndex documents or nodes; raises InvalidParameter for anything else."""
    if isinstance(documents, str | BaseNode) or not hasattr(documents, "__iter__"):
        raise InvalidParameter(
            f"documents must be a list of LlamaIndex Documents; got {type(documents).__name__}. "
            "Read files and folders with StructragReader."
        )
    nodes = list(documents)
    for node in nodes:
        if not isinstance(node, BaseNode):
            kind = f"{type(node).__module__.partition('.')[0]}.{type(node).__name__}"
            raise InvalidParameter(
                f"documents must hold LlamaIndex Documents; got {kind}. Use "
                "llama_index.core.Document(text=..., metadata=...)."
            )
    return nodes


def index_document(node: BaseNode, *, format: str = "auto") -> Document:
    """A LlamaIndex document for an index. Its metadata is JSON values, and tells how models see
    it."""
    document = read_node(node, node.node_id, format=format)
    settings = {name: getattr(node, name, None) for name in _SETTINGS}
    changed = {
        name: value
        for name, value in settings.items()
        if value not in (None, getattr(_PLAIN, name))
    }
    if not changed:
        return document
    return replace(document, meta={**document.meta, SETTINGS_KEY: copied(changed)})


def chunk_node_name(chunk: Chunk) -> str:
    """The id of the node that a chunk of an index becomes, equal for parsers and retrievers."""
    return stable_uuid(chunk.id)


def hit_to_node(
    hit: Hit, document: Document, notes: Mapping[str, Any], *, lists: bool = False
) -> NodeWithScore:
    """A hit as a scored text node. `ref_doc_id` is the document's id, offsets are exact, the
    notes join its metadata."""
    chunk = trimmed(hit.chunk)
    metadata = without_page_starts(document.meta)
    settings = metadata.pop(SETTINGS_KEY, {})
    structure = chunk_metadata(chunk, lists=lists)
    source = RelatedNodeInfo(
        node_id=chunk.doc_id,
        node_type=ObjectType.DOCUMENT,
        metadata=copied(metadata),
    )
    span = (chunk.start, chunk.end)
    name = chunk_node_name(chunk)
    items = {**notes, **metadata, **structure}  # the document's own before the notes
    node = make_node(name, chunk.text, span, items, None, source, HitNode)
    for name, value in copied(settings).items():
        setattr(node, name, value)
    add_page_label(node, document.meta, chunk)
    hide_structure(node)
    return NodeWithScore(node=node, score=hit.score)


class HitNode(TextNode):
    """A text node of a hit. What belongs to one search in its metadata is no part of its `hash`,
    and is not compared."""

    @property
    def hash(self) -> str:
        return TextNode(text=self.text, metadata=of_passage(self.metadata)).hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HitNode):
            return False
        return (self.id_, self.hash) == (other.id_, other.hash)


def link_chunks(node: BaseNode, before: Chunk | None, after: Chunk | None) -> None:
    """Set PREVIOUS and NEXT of a hit: the chunks beside it."""
    for name, neighbour in (
        (NodeRelationship.PREVIOUS, before),
        (NodeRelationship.NEXT, after),
    ):
        if neighbour is not None:
            node.relationships[name] = RelatedNodeInfo(
                node_id=chunk_node_name(neighbour)
            )


def show_text(node: TextNode) -> None:
    """Show both kinds of model the node's text. The keys of `show_index_text` are empty then."""
    node.metadata.update({INDEX_TEXT_KEY: "", SEGMENT_TEXT_KEY: ""})
    hide_structure(node)


def show_index_text(node: TextNode, chunk: Chunk, *, passage: bool = True) -> None:
    """Show each kind of model its text of a chunk that is indexed by another one.

    Embedding models see the index text, language models the text, or with `passage` False the index
    text too; both as metadata without names of keys, unless a document has its own
    `metadata_template`. LlamaIndex has one template for both, so the text leaves the template;
    `node.text` stays. Plain nodes go through every store.
    """
    body, template = chunk.extras.get("reduced"), node.text_template
    if not body or "{metadata_str}" not in template:
        show_text(node)
        return
    text = node.text if passage else ""
    node.metadata.update({INDEX_TEXT_KEY: body, SEGMENT_TEXT_KEY: text})
    if passage:
        node.excluded_llm_metadata_keys.append(INDEX_TEXT_KEY)
    node.excluded_embed_metadata_keys.append(SEGMENT_TEXT_KEY)
    node.text_template = template.replace("{content}", "").strip()
    if node.metadata_template == _PLAIN.metadata_template:
        node.metadata_template = "{value}"
