"""LangChain's documents as structrag's, with the same ids in every process, and ids of their own
for parts of one source that nothing else tells apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document

import structrag.records as core
from structrag.errors import InvalidParameter, warn_user
from structrag.index.document_index import DocumentIndex
from structrag.integrations.documents import (
    HostDocument,
    document_digest,
    document_name,
    read_document,
)
from structrag.integrations.metadata import (
    PAGE_LABEL_KEY,
    HitMetadata,
    place_notes,
)
from structrag.integrations.naming import words_of
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
    source = to_core(document, format=format)
    start, end = (document.metadata.get(key) for key in ("start_index", "end_index"))
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


def document_with(text: str, metadata: HitMetadata, id: str | None) -> Document:
    """A LangChain document of a hit. Pydantic would make a plain dict of the metadata."""
    document = Document(page_content=text, id=id)
    document.metadata = metadata
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


# A word in the name of a fact that changes with a document. Whole words: an "account" is no count.
_CHANGES = re.compile(
    r"(?:access|crawl|creat|descr|edit|fetch|keyword|lang|lastmod|load|modif|moddate|revis|summar|"
    r"update|version)\w*|(?:author|count|date|hash|label|length|score|size|tag|time|total|type)s?|"
    r"batch|checksum|datetime|digest|encoding|etag|filesize|filetype|format|md5|mtime|pages|"
    r"producer|rank|rev|run|session|sha\d*|state|status|timestamp|views"
)
_CHANGING_NAMES = ("title", "v")  # a section's title tells parts apart
_PART_ID = re.compile(r"(.+)#[0-9a-f]{16}", re.DOTALL)


def is_part_id(id: str) -> bool:
    """Whether an id has the digest that tells a part from others of its source."""
    return _PART_ID.fullmatch(id) is not None


def sources_in_parts(index: DocumentIndex[Any, Any]) -> set[str]:
    """The sources of which an index has parts that only a digest tells apart."""
    return {part[1] for part in map(_PART_ID.fullmatch, index.document_ids) if part}


def read_with_own_ids(
    hosts: Iterable[HostDocument],
    index: DocumentIndex[Any, Any],
    in_parts: set[str],
    *,
    format: str = "auto",
) -> Iterator[core.Document]:
    """Every document as one of structrag, with an id of its own in the index.

    A document that is there twice counts once. Different ones whose ids would be the same (parts of
    one source that the metadata does not tell apart) have their digests in their ids. So has one
    that comes later with another text and other facts, such as the rows of a table one by one, with
    a warning; other dates, titles and versions are those of a document that changed. An id that the
    caller gave twice is left for the index to refuse.

    Args:
        in_parts: `sources_in_parts` of the index; more are added.
    """
    different: dict[tuple[str, str], HostDocument] = {}
    for host in hosts:
        different.setdefault((document_name(host), document_digest(host)), host)
    counts = Counter(name for name, _ in different)
    in_store = index.store.known(counts)
    for (name, digest), host in different.items():
        document = read_document(host, format=format, id=name)
        is_part = not host.id and (counts[name] > 1 or name in in_parts)
        if not host.id and counts[name] == 1 and name in in_store:
            is_part = _is_another(document, index, is_part)
        if is_part:
            in_parts.add(name)
            document = replace(document, id=f"{name}#{digest}")
        yield document


def _is_another(
    document: core.Document, index: DocumentIndex[Any, Any], is_in_parts: bool
) -> bool:
    """Whether a document is another part of its source than the one of its id in the index."""
    stored = index.store.document(document.id)
    facts, stored_facts = _lasting(document.meta), _lasting(stored.meta)
    changed = [
        name
        for name in facts | stored_facts
        if facts.get(name) != stored_facts.get(name)
    ]
    # The store has no text to compare.
    with_stored_meta = replace(document, title=stored.title, meta=stored.meta)
    fingerprints = index.store.fingerprints([document.id])
    has_same_text = index.fingerprint(with_stored_meta) in fingerprints.values()
    if is_in_parts:
        return bool(changed) or not has_same_text
    if not changed or has_same_text:
        return False
    warn_user(
        f"{document.id!r} came again with another text and another {', '.join(changed)}, so it is "
        "kept beside the earlier one, as another part of its source. If it is a new version, "
        "delete the earlier one, and give documents an id."
    )
    return True


def _lasting(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that do not change with a document."""
    return {
        name: value
        for name, value in meta.items()
        if name.lower() not in _CHANGING_NAMES
        and not any(map(_CHANGES.fullmatch, words_of(name)))
    }
