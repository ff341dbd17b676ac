"""Parts of one source that nothing else tells apart: ids of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from structrag.errors import warn_user
from structrag.index.document_index import DocumentIndex
from structrag.integrations.documents import (
    HostDocument,
    document_digest,
    document_name,
    read_document,
)
from structrag.integrations.naming import words_of
from structrag.records import Document

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
) -> Iterator[Document]:
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
    document: Document, index: DocumentIndex[Any, Any], is_in_parts: bool
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
        f"A second document named {document.id!r} has a different text and a different "
        f"{', '.join(changed)}. Both are kept, as parts of one source. If the second is a new "
        "version, delete the first, and give documents an id."
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
