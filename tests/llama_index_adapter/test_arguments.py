"""The typed keywords of node parsers are their fields."""

from __future__ import annotations

from typing import Any

import pytest

from llama_index_structrag import (
    ContentAwareNodeParser,
    FixedNodeParser,
    HiQANodeParser,
    IDMSNodeParser,
    PICNodeParser,
)
from llama_index_structrag.hiqa import HiQAParserArguments
from llama_index_structrag.idms import IDMSParserArguments
from llama_index_structrag.node_parsers import (
    ContentAwareParserArguments,
    FixedParserArguments,
)
from llama_index_structrag.pic import PICParserArguments


@pytest.mark.parametrize(
    ("parser", "arguments", "models"),
    [
        (PICNodeParser, PICParserArguments, {"embed_model", "llm"}),
        (IDMSNodeParser, IDMSParserArguments, {"embed_model", "llm"}),
        (HiQANodeParser, HiQAParserArguments, set()),
        (ContentAwareNodeParser, ContentAwareParserArguments, set()),
        (FixedNodeParser, FixedParserArguments, set()),
    ],
)
def test_every_field_can_be_changed_by_name(
    parser: Any, arguments: Any, models: set[str]
) -> None:
    assert arguments.__annotations__.keys() | models == parser.model_fields.keys()
    make = getattr(parser, "paper", parser)
    assert make(language="german").language == "german"


def test_fields_are_described_by_the_core() -> None:
    field = PICNodeParser.model_fields["threshold_sd"]
    assert field.default == 0.0
    assert str(field.description).startswith("Population standard deviations added")
