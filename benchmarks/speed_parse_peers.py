"""The splitters of LangChain and LlamaIndex, as functions from a text to its chunks' texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HEADERS = [("#" * level, f"h{level}") for level in range(1, 7)]

Splitting = Callable[[str], list[str]]  # a text -> the texts of its chunks


def langchain_markdown() -> Splitting:
    """LangChain's header splitter."""
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    splitter = MarkdownHeaderTextSplitter(HEADERS, strip_headers=False)
    return lambda text: [
        document.page_content for document in splitter.split_text(text)
    ]


def llama_markdown() -> Splitting:
    """LlamaIndex's Markdown parser, which has no limit of size."""
    from llama_index.core.node_parser import MarkdownNodeParser

    return _with_parser(MarkdownNodeParser())


def langchain_html() -> Splitting:
    """LangChain's HTML header splitter."""
    from langchain_text_splitters import HTMLHeaderTextSplitter

    splitter = HTMLHeaderTextSplitter(
        [(f"h{level}", f"h{level}") for level in range(1, 7)]
    )
    return lambda page: [
        document.page_content for document in splitter.split_text(page)
    ]


def llama_html() -> Splitting:
    """LlamaIndex's HTML parser."""
    from llama_index.core.node_parser import HTMLNodeParser

    return _with_parser(HTMLNodeParser())


def _with_parser(parser: Any) -> Splitting:
    from llama_index.core.schema import Document

    return lambda text: [
        node.get_content()
        for node in parser.get_nodes_from_documents([Document(text=text)])
    ]
