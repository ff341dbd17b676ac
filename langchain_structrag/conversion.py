"""LangChain's documents into structrag's, with ids that are the same in every process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from langchain_core.documents import Document

import structrag.records as core
from structrag.errors import InvalidParameter, check_choice
from structrag.hosts.metadata import FORMAT_KEY
from structrag.reading.files import FORMATS, SUFFIXES, read_text

POSITIONS = (
    "page",
    "page_number",
    "row",
    "seq_num",
    "sheet",
    "slide",
    "start_index",
)  # of a loader's part of a source


def to_core(document: Document, *, format: str = "auto", id: str = "") -> core.Document:
    """A structrag document: `page_content` is read as `format`, metadata becomes JSON values.

    With "auto", `metadata["text_format"]` tells what `HiQAFormatter` made of it, else the suffix of
    `metadata["source"]` tells Markdown and plain text; anything else, and HTML, which many loaders
    have rendered to text already, is told by looking at the text.
    """
    check_choice("format", format, FORMATS)
    source, title = document.metadata.get("source"), document.metadata.get("title")
    if format == "auto" and document.metadata.get(FORMAT_KEY) in FORMATS:
        format = document.metadata[FORMAT_KEY]
    if format == "auto" and source:
        told = SUFFIXES.get(PurePath(str(source)).suffix.lower(), "auto")
        format = "auto" if told == "html" else told
    return read_text(
        document.page_content,
        format=format,
        id=id or document_id(document),
        title=title if isinstance(title, str) else "",
        meta=json_safe(document.metadata),
    )


def document_id(document: Document) -> str:
    """The document's own id; else its source, with the page or row a loader cut it at; else a
    digest of all it holds.

    So a document that changed at its source keeps its id, and two pages of one file have two.
    """
    if document.id:
        return str(document.id)
    source = document.metadata.get("source")
    if not source:
        return digest(document)
    places = [f"{key}={document.metadata[key]}" for key in POSITIONS if key in document.metadata]
    return "#".join([str(source), *places])


def digest(document: Document) -> str:
    """16 hexadecimal digits of the content and the metadata."""
    described = json.dumps(
        json_safe(document.metadata), sort_keys=True, default=lambda value: type(value).__name__
    )
    return sha256(
        f"{described}\n{document.page_content}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def stable_uuid(*parts: Any) -> str:
    """A UUID derived from JSON values. Some stores (Qdrant, Weaviate) take no other ids."""
    return str(uuid5(NAMESPACE_URL, f"structrag:{json.dumps(parts)}"))


def json_safe(value: Any) -> Any:
    """A copy of `value` in JSON types: dates as ISO text, paths, UUIDs and decimals as text, sets
    sorted, NumPy scalars and enum members as their values. What has no such form is left for
    whoever needs JSON to refuse.
    """
    if isinstance(value, Enum):
        return json_safe(value.value)
    if isinstance(value, Mapping):
        return {str(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((json_safe(item) for item in value), key=repr)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | PurePath | Decimal):
        return str(value)
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return json_safe(value.item())
    return value


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
    given = list(metadatas) if metadatas else [{}] * len(texts)
    if len(given) != len(texts):
        raise InvalidParameter(
            f"metadatas must have one dict per text ({len(texts)}); got {len(given)}."
        )
    return [
        Document(page_content=text, metadata=dict(metadata or {}))
        for text, metadata in zip(texts, given, strict=True)
    ]


def check_documents(documents: Any) -> list[Document]:
    """A list of LangChain documents; raises InvalidParameter for anything else."""
    if isinstance(documents, str | Document) or not hasattr(documents, "__iter__"):
        raise InvalidParameter(
            "documents must be an iterable of LangChain Documents; got "
            f"{type(documents).__name__}. "
            "For strings use create_documents or from_texts."
        )
    checked = list(documents)
    for document in checked:
        if not isinstance(document, Document):
            raise InvalidParameter(
                f"documents must hold LangChain Documents; got {type(document).__name__}."
            )
    return checked
