"""The settings of asking as one record, or by their own names."""

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
def test_a_record_or_flat_names_but_never_both(make: Any) -> None:
    message = (
        "call_settings and batch_size cannot be passed together; "
        r".* CallSettings\(batch_size=...\)"
    )
    with pytest.raises(InvalidParameter, match=message):
        make(call_settings=CallSettings(), batch_size=3)
    with pytest.raises(
        InvalidParameter, match="call_settings must be CallSettings or None; got int"
    ):
        make(call_settings=3)
    with pytest.raises(
        TypeError, match=r"has no argument 'batchsize'\. Did you mean 'batch_size'"
    ):
        make(batchsize=3)


def test_one_record_serves_an_index_and_what_searches_it(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        return "1"

    record = CallSettings(cache=Cache(":memory:"), batch_size=1, max_concurrency=2)
    by_record, by_name = ScriptedModel(answer), ScriptedModel(answer)
    first, second = HashEmbedder(), HashEmbedder()
    index = D3Index(embedder=first, llm=by_record, call_settings=record)
    index.add([DOCUMENT])
    retriever = D3Retriever(
        index, llm=by_record, strategy="base", call_settings=CallSettings(max_calls=9)
    )
    flat = D3Index(embedder=second, llm=by_name, batch_size=1, cache=Cache(":memory:"))
    flat.add([DOCUMENT])
    same = D3Retriever(flat, llm=by_name, strategy="base", max_calls=9)
    assert retriever.search("What do cats eat?") == same.search("What do cats eat?")
    assert by_record.prompts == by_name.prompts
    assert first.texts == second.texts
    assert retriever.runner.cache is record.cache  # without one of its own, the index's
    index.save(tmp_path / "d3")
    again = D3Index.load(tmp_path / "d3", embedder=first, call_settings=record)
    assert again.runner.call_settings is record
