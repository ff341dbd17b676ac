"""Documents and pages of other readers as LangChain documents with their structure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document

from langchain_structrag.conversion import as_host, check_documents
from structrag.integrations.documents import joined_pages, json_values
from structrag.integrations.metadata import FORMAT_KEY
from structrag.reading.bridges.placed import PlacedDocument


def as_document(placed: PlacedDocument, **metadata: Any) -> Document:
    """Convert what docling or Unstructured read, for the splitters and retrievers here.

    Example:
        >>> from structrag.reading.bridges.unstructured import from_unstructured
        >>> title = {"type": "Title", "text": "Pump", "metadata": {"filename": "pump.docx"}}
        >>> as_document(from_unstructured([title])).metadata
        {'source': 'pump.docx', 'title': 'Pump', 'text_format': 'markdown'}

    A chunk's pages are its `page_label`; `placed.at(start, end)`, with its `start_index` and
    `end_index`, has the boxes too.
    """
    document = placed.document
    title = {"title": document.title} if document.title else {}
    facts = {
        **json_values(document.meta),
        **title,
        FORMAT_KEY: document.format,
        **metadata,
    }
    return Document(page_content=document.text, metadata=facts)


def join_pages(documents: Iterable[Document]) -> list[Document]:
    """The pages of each file as one document again.

    So sections go over pages.

    Example:
        >>> pages = [Document("a", metadata={"source": "m.pdf", "page": page}) for page in (0, 1)]
        >>> join_pages(pages)[0].metadata
        {'source': 'm.pdf', 'pages': 2, 'page_starts': '0:1 3:2'}

    Documents that are no page of a file stay as they are. For loaders such as `PyPDFLoader`; which
    headings they dropped does not come back (docs/loaders.md).
    """
    checked = check_documents(documents)
    return [
        Document(
            page_content=whole.text, metadata=dict(whole.metadata), id=whole.id or None
        )
        for whole, _ in joined_pages(map(as_host, checked))
    ]
