"""Documents and pages of other readers as LlamaIndex documents with their structure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.schema import BaseNode, Document, MetadataMode

from llama_index_structrag.loading import READ_KEYS
from structrag.integrations.documents import (
    HostDocument,
    document_name,
    joined_pages,
    json_values,
)
from structrag.integrations.metadata import FORMAT_KEY
from structrag.reading.bridges.placed import PlacedDocument


def as_document(placed: PlacedDocument, **metadata: Any) -> Document:
    """Convert what docling or Unstructured read, for the node parsers and retrievers here.

    Example:
        >>> from structrag.reading.bridges.unstructured import from_unstructured
        >>> title = {"type": "Title", "text": "Pump", "metadata": {"filename": "pump.docx"}}
        >>> as_document(from_unstructured([title])).id_
        'pump.docx'

    A node's pages are its `page_label`; `placed.at(node.start_char_idx, node.end_char_idx)` has the
    boxes too.
    """
    document = placed.document
    title = {"title": document.title} if document.title else {}
    facts = {
        **json_values(document.meta),
        **title,
        FORMAT_KEY: document.format,
        **metadata,
    }
    return _document(document.text, document.id, facts)


def join_pages(documents: Iterable[BaseNode]) -> list[Document]:
    """The pages of each file as one document again.

    So sections go over pages.

    Example:
        >>> pages = [Document(text="a", metadata={"file_path": "m.pdf", "page_label": str(page)})
        ...     for page in (1, 2)]
        >>> join_pages(pages)[0].metadata
        {'file_path': 'm.pdf', 'pages': 2, 'page_starts': '0:1 3:2'}

    Documents that are no page of a file stay as they are. For readers such as `PDFReader`; which
    headings they dropped does not come back (docs/loaders.md). A joined document's id is its file.
    """
    nodes = list(documents)
    hosts = [
        HostDocument(node.get_content(metadata_mode=MetadataMode.NONE), node.metadata)
        for node in nodes
    ]
    by_host = {id(host): node for host, node in zip(hosts, nodes, strict=True)}
    joined = []
    for whole, _ in joined_pages(hosts):
        node = by_host.get(id(whole))
        if isinstance(node, Document):
            joined.append(node)
            continue
        source = str(whole.metadata.get("file_path") or document_name(whole))
        joined.append(_document(whole.text, source, dict(whole.metadata)))
    return joined


def _document(text: str, name: str, metadata: dict[str, Any]) -> Document:
    hidden = [key for key in READ_KEYS if key in metadata]
    return Document(
        text=text,
        id_=name,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )
