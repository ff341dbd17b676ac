"""The settings of calls of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.formatting.formatter import HiQAFormatter
from structrag.index.index import Index
from structrag.model_calls.cache import Cache
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import CallSettings
from structrag.reading.files import read_text
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever

DOCUMENT = read_text("# A\n\nCats eat fish.\n\n# B\n\nPumps move water.\n", id="d")


@examples
@pytest.mark.parametrize("make", [CallSettings, Runner, Index, D3Index, HiQAFormatter])
def test_settings_out_of_range_are_refused(
    make: Any, setting: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make(**setting)


@pytest.mark.parametrize("make", [Runner, Index, D3Index, HiQAFormatter])
def test_unknown_settings_are_refused(make: Any) -> None:
    with pytest.raises(
        TypeError, match=r"has no argument 'batchsize'\. Did you mean 'batch_size'"
    ):
        make(batchsize=3)


def test_what_searches_an_index_has_its_cache(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        return "1"

    model, embedder, cache = ScriptedModel(answer), HashEmbedder(), Cache(":memory:")
    index = D3Index(embedder=embedder, llm=model, cache=cache, batch_size=1)
    index.add([DOCUMENT])
    retriever = D3Retriever(index, llm=model, strategy="base", max_calls=9)
    assert retriever.runner.cache is cache
    assert retriever.runner.call_settings.batch_size == 64
    other = Cache(":memory:")
    assert D3Retriever(index, cache=other).runner.cache is other
    index.save(tmp_path / "d3")
    again = D3Index.load(tmp_path / "d3", embedder=embedder, batch_size=3)
    assert again.runner.call_settings.batch_size == 3
