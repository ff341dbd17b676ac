"""LangChain's documents as structrag's, with the same ids in every process, and ids of their own
for parts of one source that nothing else tells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

import structrag.records as core
from structrag.errors import InvalidParameter
from structrag.integrations.documents import (
    HostDocument,
    document_digest,
    document_name,
    read_document,
)
from structrag.integrations.metadata import (
    PAGE_LABEL_KEY,
    HitMetadata,
    of_passage,
    place_notes,
)
from structrag.integrations.places import (
    Origin,
    parent_of,
    trusted_start,
    under_titles,
)
from structrag.reading.paging import pages_between

# Keys of a chunk's pages; a page of a loader has no `last_page`.
PAGE_NOTES = ("page", "last_page", PAGE_LABEL_KEY)


def to_core(document: Document, *, format: str = "auto") -> core.Document:
    """A LangChain document as one of structrag; see `read_document` of `integrations.documents`."""
    return read_document(as_host(document), format=format)


def to_split(
    document: Document, *, format: str = "auto"
) -> tuple[core.Document, Origin]:
    """A document to be split, and its place in its source. The place is in what an earlier splitter
    cut it from."""
    start, end = (document.metadata.get(key) for key in ("start_index", "end_index"))
    # Ids are made without offsets: text that is added in front would change them all.
    is_hit = isinstance(document.metadata, HitMetadata)
    metadata = of_passage(document.metadata) if is_hit else dict(document.metadata)
    for key in ("start_index", "end_index"):
        metadata.pop(key, None)
    source = to_core(document.model_copy(update={"metadata": metadata}), format=format)
    if not isinstance(start, int):
        place: int | None = 0
    elif isinstance(end, int):
        place = trusted_start(document.page_content, start, end)
    else:  # LangChain's own splitters write no end, and -1 for a text that they did not find
        place = start
    parent = parent_of(
        source, document.metadata, place if place is None or place >= 0 else None
    )
    return under_titles(source, parent), parent


def page_notes(meta: Mapping[str, Any], chunk: core.Chunk) -> dict[str, Any]:
    """The pages of a chunk, as LangChain's loaders name them.

    They come from the metadata of its document: `page` and `last_page`, counted from 0, and
    `page_label`, counted from 1; `place`, such as "slide 4". {} where nobody knows.
    """
    notes = place_notes(meta, chunk)
    pages = pages_between(meta, chunk.start, chunk.end)
    if pages is None:
        return notes
    return {"page": pages[0] - 1, "last_page": pages[1] - 1, **notes}


def document_with(text: str, metadata: Mapping[str, Any], id: str | None) -> Document:
    """A LangChain document of a hit, equal to that of another question."""
    document = Document(page_content=text, id=id)
    document.metadata = HitMetadata(metadata)  # Pydantic would make a plain dict of it
    return document


def as_host(document: Document) -> HostDocument:
    """A LangChain document, reduced to what the core needs."""
    return HostDocument(
        document.page_content, document.metadata, str(document.id or "")
    )


def document_id(document: Document) -> str:
    """The document's own id, else its source, else a digest. The source comes with the page or row
    that a loader cut it at, the digest is of all it holds."""
    return document_name(as_host(document))


def digest(document: Document) -> str:
    """16 hexadecimal digits of the content and the metadata."""
    return document_digest(as_host(document))


def as_documents(
    texts: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None = None
) -> list[Document]:
    """LangChain documents of strings. Raises InvalidParameter unless there is one mapping per text,
    or none."""
    if isinstance(texts, str):
        raise InvalidParameter(
            "texts must be a list of strings; got one string. Put it into a list."
        )
    texts = list(texts)
    mappings = list(metadatas) if metadatas else [{}] * len(texts)
    if len(mappings) != len(texts):
        raise InvalidParameter(
            f"metadatas must have one dict per text ({len(texts)}); got {len(mappings)}."
        )
    return [
        Document(page_content=text, metadata=dict(metadata or {}))
        for text, metadata in zip(texts, mappings, strict=True)
    ]


def check_documents(documents: Any) -> list[Document]:
    """A list of LangChain documents; raises InvalidParameter for anything else."""
    if isinstance(documents, str | Document) or not hasattr(documents, "__iter__"):
        is_one = isinstance(documents, Document)
        cure = (
            "Put it in a list."
            if is_one
            else "For strings use create_documents or from_texts."
        )
        raise InvalidParameter(
            "documents must be an iterable of LangChain Documents; got "
            f"{'one Document' if is_one else type(documents).__name__}. {cure}"
        )
    checked = list(documents)
    for document in checked:
        if not isinstance(document, Document):
            cure = ""
            if isinstance(document, str):
                cure = " For strings use create_documents or from_texts."
            elif isinstance(document, core.Document):
                cure = (
                    " Use langchain_core.documents.Document(document.text, "
                    "metadata=document.meta)."
                )
            kind = f"{type(document).__module__.partition('.')[0]}.{type(document).__name__}"
            raise InvalidParameter(
                f"documents must hold LangChain Documents; got {kind}.{cure}"
            )
    return checked
