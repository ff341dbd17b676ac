"""Enrichment: only what is indexed changes, nothing is stated that the document does not say, and
everything is bounded."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from dense_chunks import check_untouched, enrich
from doubles import HashEmbedder, Reluctant, ScriptedModel, split_twice
from fixture_cases import examples
from samples import DEFINING, DENSE, FILLER, dense_document, guide

from structrag import Cache, ContentAwareSplitter, Index
from structrag.chunks.enriching.density import (
    DensitySettings,
)
from structrag.chunks.enriching.enricher import (
    EnrichingSplitter,
    IDMSEnricher,
    as_enricher,
    enricher_settings,
    with_enrichment,
)
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import InvalidParameter
from structrag.model_calls.runner import Runner
from structrag.reading.files import read_text
from structrag.text.tokens import count_tokens


def test_a_model_that_fails_leaves_the_way_without_one_and_says_so() -> None:
    failing = ScriptedModel(OSError("down"))
    with_failing = enrich(failing, low=99.0, high=99.5)
    plain = enrich(low=99.0, high=99.5)
    assert [chunk.extras.get("reduced") for chunk in with_failing] == [
        chunk.extras.get("reduced") for chunk in plain
    ]
    assert with_failing[4].extras["degraded"] and "degraded" not in plain[4].extras
    supplemented = enrich(failing, high=0.01, reduce=False, growth=1.0)
    assert supplemented[3].extras["added"] and supplemented[3].extras["degraded"]


def test_each_half_can_be_switched_off_and_few_chunks_are_left_alone() -> None:
    _, chunks = dense_document()
    for found in (enrich(), enrich(reduce=False, supplement=False, low=99.0, high=0.0)):
        assert all(chunk.extras["action"] == "none" for chunk in found)
        assert [chunk.index_text for chunk in found] == [
            chunk.index_text for chunk in chunks
        ]
        assert all(chunk.extras["density"] >= 0 for chunk in found)
    assert IDMSEnricher().enrich(dense_document()[0], []) == []


def test_a_chunk_without_entities_is_left_alone() -> None:
    found = enrich(low=99.0, high=0.0, growth=1.0)
    assert [found[i].extras["density"] for i in (1, 2)] == [0, 0]
    assert [found[i].extras["action"] for i in (1, 2)] == ["none", "none"]


async def test_sync_async_and_again_are_equal() -> None:
    source, chunks = dense_document()
    enricher = pickle.loads(pickle.dumps(IDMSEnricher(low=99.0, high=0.01, growth=0.5)))
    for model in (None, ScriptedModel('["gated network"]')):
        first = enricher.enrich(source, chunks, embedder=HashEmbedder(), llm=model)
        assert first == await enricher.aenrich(
            source, chunks, embedder=HashEmbedder(), llm=model
        )
        assert first == enricher.enrich(
            source, chunks, runner=Runner(embedder=HashEmbedder(), llm=model)
        )
        check_untouched(chunks, first, growth=0.5)
    assert enricher.enrich(source, chunks) == enricher.enrich(source, chunks)  # LSA


def test_the_hard_limit_has_its_own_counter() -> None:
    wanted = len(DENSE) + len("Long Short-Term Memory (LSTM)\n")
    for limit, fits in ((wanted - 1, False), (wanted, True)):
        found = enrich(
            high=0.01, reduce=False, growth=1.0, max_tokens=limit, counter=len
        )[3]
        assert ("added" in found.extras) is fits


def test_a_splitter_that_enriches() -> None:
    source = read_text("".join([DEFINING, FILLER, DENSE] * 3), format="text")
    plain = IDMSSplitter(min_tokens=0, max_tokens=80)
    both = with_enrichment(plain, "both", max_tokens=80, counter=count_tokens)
    before = plain.split(source, embedder=HashEmbedder())
    after = both.split(source, embedder=HashEmbedder())
    check_untouched(before, after)
    assert all(
        "density" in chunk.extras and count_tokens(chunk.index_text) <= 80
        for chunk in after
    )
    assert with_enrichment(plain, "none", max_tokens=80, counter=count_tokens) is plain
    with pytest.raises(InvalidParameter, match="enrich must be one of"):
        with_enrichment(plain, "all", max_tokens=80, counter=count_tokens)


@examples
def test_wrong_settings_are_named(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        IDMSEnricher(**choices)


def test_shortened_and_supplemented_text(tmp_path: Path) -> None:
    index = Index(
        embedder=HashEmbedder(),
        views="raw",
        splitter=ContentAwareSplitter(max_tokens=None),
    )
    index.add([guide()])
    document, chunks = guide(), index.chunks()

    def answer(prompt: str) -> str:
        return (
            "[]"
            if "Missing entities" in prompt
            else "The red engine or crane pulls a train to Oslo."
        )

    same = {
        "low": 9.0,
        "high": 0.0,
        "min_tokens": 1,
        "density": DensitySettings(max_share=1.0),
    }
    for half, first in ({"supplement": False}, "reduced"), ({"reduce": False}, "none"):
        llm = Reluctant(answer)
        enricher = IDMSEnricher(**{**same, **half})
        cache = Cache(tmp_path / first)
        runs = split_twice(
            lambda runner, own=enricher: own.enrich(document, chunks, runner=runner),
            llm,
            cache,
        )
        assert runs[0][0] and runs[1][0] and not runs[2][0], (half, runs)
        assert runs[2][1][0].extras["action"] == first


def test_as_published_every_factor_counts() -> None:
    source, chunks = dense_document()

    def script(prompt: str) -> str:
        return "8" if "Rating:" in prompt else "nothing"

    llm = ScriptedModel(script)
    enricher = IDMSEnricher.paper(reduce=False, supplement=False)
    enriched = enricher.enrich(source, chunks, embedder=HashEmbedder(), llm=llm)
    assert len(llm.prompts) == len(chunks)  # S of equation 6 for every chunk
    for chunk in enriched:
        factors = chunk.extras["density_factors"]
        assert factors["rating"] == 0.8
        n = factors["entities"]  # W of equation 4, in each summand of equation 2
        total = (
            n
            * n
            * factors["effectiveness"]
            * factors["correlation"]
            * factors["similarity"]
        )
        expected = 100 * total * 0.8 / factors["tokens"]
        assert chunk.extras["density"] == pytest.approx(expected, rel=0.02, abs=1e-4)


def test_settings_there_and_back() -> None:
    enricher = IDMSEnricher.paper(growth=0.1, low=0.5)
    settings = json.loads(json.dumps(enricher_settings(enricher)))
    assert settings["density"] == {
        "entity_weight": "literal",
        "rate": True,
        "max_share": 1.0,
    }
    assert as_enricher(settings) == enricher
    assert as_enricher("none") is None and as_enricher("paper") == IDMSEnricher.paper()
    assert as_enricher(enricher) is enricher
    for bad in ({"rounds": 1}, {"density": {"weight": 1}}, "all", 7, None):
        with pytest.raises(InvalidParameter, match="enrich"):
            as_enricher(bad)


def count_words(text: str) -> int:
    return len(text.split())


@examples
def test_a_short_text_may_have_just_its_share(answer: str, is_taken: bool) -> None:
    text = "ACME makes steel by the river and everybody there likes it so."
    source = read_text(text, format="text")
    chunks = FixedSplitter(99, counter=count_words).split(source)
    enricher = IDMSEnricher(
        low=99.0,
        min_tokens=12,
        supplement=False,
        density=DensitySettings(counter=count_words),
    )
    model = ScriptedModel(f" {answer}\n")
    (found,) = enricher.enrich(source, chunks, embedder=HashEmbedder(), llm=model)
    assert "at most 7 words" in model.prompts[0]
    assert found.extras.get("reduced") == (answer if is_taken else None)
    assert found.extras["index_tokens"] == (7 if is_taken else 12)


@examples
def test_added_lines_go_into_the_context_if_both_say_so(
    splitters: bool, own: bool, in_context: bool
) -> None:
    made = with_enrichment(
        IDMSSplitter(),
        IDMSEnricher(into_context=own),
        max_tokens=7,
        counter=count_words,
        into_context=splitters,
    )
    assert isinstance(made, EnrichingSplitter)
    assert made.enricher.into_context is in_context
    assert (made.enricher.max_tokens, made.enricher.counter) == (7, count_words)


@examples
def test_an_enrichment_by_name(name: str, halves: tuple[bool, bool]) -> None:
    enricher = as_enricher(name)
    assert enricher is not None
    assert (enricher.reduce, enricher.supplement) == halves


def test_without_a_model_a_chunk_is_shortened_to_sentences_with_its_entities() -> None:
    _, chunks = dense_document()
    found = enrich(low=99.0, high=99.5, supplement=False)[4]
    assert found.extras["action"] == "reduced"
    assert found.extras["reduced"].startswith("ACME makes steel.")
    assert len(found.extras["reduced"]) < len(chunks[4].text)
