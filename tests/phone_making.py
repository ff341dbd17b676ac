"""Manuals of phones that differ in the name of the phone alone."""

from __future__ import annotations

from typing import Any

from structrag import Document, HiQARetriever, Index

NAMES = [f"Nova {letter}10" for letter in "ABCDE"]


def phone_retriever(index: Index, **settings: Any) -> HiQARetriever:
    return HiQARetriever(index, keywords=NAMES, detect_keywords=False, **settings)


def phones(embedder: Any = None) -> Index:
    index = Index(embedder=embedder, views=("raw",))
    sections = (
        "## Battery\n\nIt lasts for 30 hours.\n\n"
        "## Camera\n\nIt takes pictures of 12 megapixels.\n"
    )
    index.add(
        [
            Document(f"# {name}\n\n{sections}", id=name, title=name, format="markdown")
            for name in NAMES
        ]
    )
    return index
