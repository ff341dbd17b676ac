"""Retrievers index the heading path with every node parser of this package, and show texts without
it."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.schema import Document

from llama_index_structrag import (
    ContentAwareNodeParser,
    FixedNodeParser,
    HiQANodeParser,
    IDMSNodeParser,
    MultiViewRetriever,
    PICNodeParser,
)

TEXT = (
    "# Handbook\n\nWords.\n\n## Maintenance\n\nWords.\n\n### Filter cartridge\n\nDo it with "
    "care. Do it each week.\n\n# End\n\nBye.\n"
)
DOCUMENT = Document(text=TEXT, id_="pump.md")
PARSERS = [
    ContentAwareNodeParser,
    FixedNodeParser,
    HiQANodeParser,
    PICNodeParser,
    IDMSNodeParser,
]


@pytest.mark.parametrize("parser", PARSERS)
def test_a_parser_that_is_told_to_leave_it_out_does(parser: Any):
    settings = {"within_sections": True} if parser is FixedNodeParser else {}
    chosen = parser(add_context=False, **settings)
    retriever = MultiViewRetriever.from_documents([DOCUMENT], node_parser=chosen)
    assert not any(chunk.context for chunk in retriever.index.chunks())


def test_the_parser_itself_stays_as_it_is():
    parser = FixedNodeParser(within_sections=True)
    MultiViewRetriever.from_documents([DOCUMENT], node_parser=parser)
    assert parser.add_context is False
