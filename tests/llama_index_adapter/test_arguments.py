"""The typed keywords of node parsers are their fields."""

from __future__ import annotations

from typing import Any

import pytest

from llama_index_structrag import HiQANodeParser, IDMSNodeParser, PICNodeParser
from llama_index_structrag.arguments import (
    HiQAParserArguments,
    IDMSParserArguments,
    PICParserArguments,
)


@pytest.mark.parametrize(
    ("parser", "arguments", "models"),
    [
        (PICNodeParser, PICParserArguments, {"embed_model", "llm"}),
        (IDMSNodeParser, IDMSParserArguments, {"embed_model", "llm"}),
        (HiQANodeParser, HiQAParserArguments, set()),
    ],
)
def test_every_field_can_be_changed_by_name(
    parser: Any, arguments: Any, models: set[str]
) -> None:
    assert arguments.__annotations__.keys() | models == parser.model_fields.keys()
    assert parser.paper(language="german").language == "german"
