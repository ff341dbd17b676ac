"""When two entries are the same: the fingerprint of a document under given settings, and the names
of those settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from structrag.index.entries import plain_json
from structrag.records import Document
from structrag.text.tokens import counter_name

ALGORITHM_VERSION = "2"  # changes when the same input would be indexed differently


def fingerprint(document: Document, settings: str) -> str:
    """What decides a document's entry: its id, text, title, format, metadata and markup, and
    `settings`, all models among them.

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


def setting_name(value: Any) -> str:
    """Any setting as a string that is equal in every process and holds no memory address.

    An object with a `name` goes by that, a function as in `counter_name`, a dataclass by its
    fields, any other object by its class and its attributes of plain types.
    """
    if _is_plain(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(setting_name, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(setting_name, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{setting_name(key)}: {setting_name(part)}' for key, part in value.items()))}}}"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{kind}({name!r})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif callable(value):
        return counter_name(value)
    else:
        parts = {
            key: part
            for key, part in sorted(getattr(value, "__dict__", {}).items())
            if _is_plain(part)
        }
    return f"{kind}({', '.join(f'{key}={setting_name(part)}' for key, part in parts.items())})"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
