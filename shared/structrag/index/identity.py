"""The fingerprint that tells whether two entries are the same."""

from __future__ import annotations

import json
from hashlib import sha256

from structrag.index.entries import plain_json
from structrag.records import Document

ALGORITHM_VERSION = "2"  # changes when the same input would be indexed differently


def fingerprint(document: Document, settings: str) -> str:
    """What decides a document's entry, as one digest.

    That is its id, text, title, format, metadata and markup, and `settings`, all models among them.
    The order of metadata keys does not count. Raises InvalidParameter for metadata that JSON cannot
    hold.
    """
    meta = plain_json(dict(document.meta), f"meta of document {document.id!r}")
    layout = document.layout and (
        document.layout.headings,
        document.layout.blocks,
        document.layout.images,
    )
    parts = (
        ALGORITHM_VERSION,
        settings,
        document.id,
        document.title,
        document.format,
        json.dumps(meta, sort_keys=True, ensure_ascii=False),
        layout,
        document.text,
    )
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
