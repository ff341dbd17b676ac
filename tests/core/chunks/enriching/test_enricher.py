"""Enrichment: only what is indexed changes, nothing is stated that the document does not say, and
everything is bounded."""

from __future__ import annotations

import gzip
import json
import pickle
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel
from places import DATA

from structrag.asking.runner import Runner
from structrag.chunks.enriching.definitions import definition_in, definitions, shortened
from structrag.chunks.enriching.enricher import IDMSEnricher, with_enrichment
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.records import Chunk, Document
from structrag.text.names import contains
from structrag.text.tokens import count_tokens

needs_data = pytest.mark.skipif(
    not (DATA / "qasper").is_dir(), reason="the evaluation data is not here"
)

DEFINING = (
    "A gated network called Long Short-Term Memory (LSTM) keeps a state. It was proposed "
    "long ago by others. "
)
FILLER = (
    "The garden is green and quiet in the morning light. Nothing much happens there until "
    "noon comes around. "
)
DENSE = "LSTM beats GRU on WMT14 by 2 BLEU. The LSTM has 12 MB of weights on a V100 card. "
LONG = "ACME makes steel. " + "The workers at the plant like the river very much indeed. " * 12


def document() -> tuple[Document, list[Chunk]]:
    """A defining chunk, dull ones, a dense one; each piece is a chunk."""
    pieces = [DEFINING, FILLER, FILLER.replace("garden", "park"), DENSE, LONG]
    found = read_text("".join(pieces), format="text", id="d")
    chunks, start = [], 0
    for piece in pieces:
        end = start + len(piece)
        chunks.append(
            Chunk(
                f"d:{start}-{end}",
                "d",
                "d#0",
                start,
                end,
                piece,
                extras={"index_tokens": count_tokens(piece)},
            )
        )
        start = end
    return found, chunks


def enrich(llm: Any = None, **choices: Any) -> list[Chunk]:
    source, chunks = document()
    return IDMSEnricher(**choices).enrich(source, chunks, embedder=HashEmbedder(), llm=llm)


def check_untouched(before: list[Chunk], after: list[Chunk], growth: float = 0.2) -> None:
    assert [(c.id, c.start, c.end, c.text, c.n_tokens, c.path) for c in before] == [
        (c.id, c.start, c.end, c.text, c.n_tokens, c.path) for c in after
    ]
    for old, new in zip(before, after, strict=True):
        assert count_tokens(new.index_text) <= max((1 + growth) * count_tokens(old.index_text), 1)
        json.dumps(dict(new.extras))


def test_definitions_are_found_by_form() -> None:
    assert definition_in(DEFINING) == [("LSTM", "Long Short-Term Memory (LSTM)")]
    assert definition_in("We train hidden Markov models (HMMs) here.") == [
        ("HMM", "hidden Markov models (HMMs)")
    ]
    assert definition_in("The CA-IS3722HS is a chip.") == [
        ("CA-IS3722HS", "The CA-IS3722HS is a chip.")
    ]
    for nothing in (
        "This is a test.",
        "It works (OK) here.",
        "See the table (TABLE) there.",
        "",
        "(ABC)",
    ):
        assert definition_in(nothing) == []
    assert definitions(["x", "LSTM is a net.", "LSTM is more."]) == {"LSTM": (1, "LSTM is a net.")}


def test_without_a_model_undefined_acronyms_get_the_documents_definition() -> None:
    source, chunks = document()
    found = enrich(high=0.01, low=0.0, reduce=False, growth=1.0)
    added = found[3].extras["added"]
    assert [item["entity"] for item in added] == ["LSTM"]
    assert added[0]["text"] == "Long Short-Term Memory (LSTM)"
    assert "Long Short-Term Memory (LSTM)" in source.text[added[0]["start"] : added[0]["end"]]
    assert (
        source.text[added[0]["start"] : added[0]["end"]]
        == "A gated network called Long Short-Term Memory (LSTM) keeps a state."
    )
    assert found[3].context == "Long Short-Term Memory (LSTM)"
    assert found[3].extras["action"] == "supplemented" and found[0].extras["action"] == "none"
    assert found[3].extras["index_tokens"] == count_tokens(found[3].index_text)
    assert "added" not in found[0].extras  # it defines the name itself
    check_untouched(chunks, found, growth=1.0)


def test_growth_and_the_hard_limit_are_kept() -> None:
    assert "added" not in enrich(high=0.01, reduce=False, growth=0.05)[3].extras
    size = count_tokens(DENSE)
    assert "added" not in enrich(high=0.01, reduce=False, growth=1.0, max_tokens=size + 2)[3].extras
    assert "added" in enrich(high=0.01, reduce=False, growth=1.0, max_tokens=size + 12)[3].extras


def test_without_a_model_sentences_that_hold_the_entities_are_kept() -> None:
    _, chunks = document()
    found = enrich(low=99.0, supplement=False)
    reduced = found[4].extras["reduced"]
    assert found[4].extras["action"] == "reduced"
    assert "ACME" in reduced and count_tokens(reduced) <= 0.6 * count_tokens(LONG)
    assert found[4].index_text.endswith(reduced)
    assert all("reduced" not in chunk.extras for chunk in found[:4])  # below 120 tokens
    check_untouched(chunks, found)


def test_shortening_keeps_every_name_or_gives_none() -> None:
    import numpy as np

    sentences = ["A b c d e.", "NASA flew.", "ESA flew too.", "More of it."]
    vectors = np.eye(4)
    assert (
        shortened(sentences, vectors, ["NASA", "ESA"], 9, count_tokens)
        == "NASA flew. ESA flew too."
    )
    assert shortened(sentences, vectors, ["NASA", "ESA"], 6, count_tokens) is None
    assert shortened(sentences, vectors, ["NASA", "JAXA"], 99, count_tokens) is None
    assert shortened([], np.zeros((0, 1)), [], 9, count_tokens) is None


@pytest.mark.parametrize(
    ("answer", "usable"),
    [
        ("ACME makes steel near the river.", True),
        ("The plant makes steel near the river.", False),  # lost ACME
        ("ACME and NASA make steel by the river.", False),  # a name that the text has not
        ("", False),
        (LONG, False),  # too long
    ],
)
def test_a_models_short_text_is_checked(answer: str, usable: bool) -> None:
    found = enrich(ScriptedModel(answer), low=99.0, supplement=False)[4]
    assert (found.extras.get("reduced") == answer) is usable
    assert found.extras.get("dropped") == (None if usable else 1)
    assert found.extras["action"] == ("reduced" if usable else "none")


def test_entities_named_by_a_model_must_be_missing_and_supported() -> None:
    answers = json.dumps(["gated network", "unicorn", "LSTM", "state of the art in many fields"])
    model = ScriptedModel(answers)
    source, chunks = document()
    found = enrich(model, high=1.0, reduce=False, growth=1.0, candidates=9, density=settings_of())
    added = found[3].extras["added"]
    assert [item["entity"] for item in added] == ["gated network"]
    for item in added:
        assert source.text[item["start"] : item["end"]] == item["text"]
        assert contains(item["text"], item["entity"])
    assert found[3].extras["dropped"] >= 3
    check_untouched(chunks, found, growth=1.0)


def settings_of() -> Any:
    from structrag.chunks.enriching.density import DensitySettings

    return DensitySettings(use_similarity=False)


def test_rounds_are_bounded_and_end_when_nothing_is_missing() -> None:
    nothing = ScriptedModel("[]")
    enrich(nothing, high=1.0, reduce=False)
    asked = len(nothing.prompts)
    assert asked == len({prompt.split("Passage:")[1] for prompt in nothing.prompts})  # one round
    greedy = ScriptedModel(lambda prompt: json.dumps([prompt.split("1. ")[1].split()[1]]))
    enrich(greedy, high=1.0, reduce=False, growth=1.0, rounds=2)
    assert len(greedy.prompts) <= 2 * asked


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
    _, chunks = document()
    for found in (enrich(), enrich(reduce=False, supplement=False, low=99.0, high=0.0)):
        assert all(chunk.extras["action"] == "none" for chunk in found)
        assert [chunk.index_text for chunk in found] == [chunk.index_text for chunk in chunks]
        assert all(chunk.extras["density"] >= 0 for chunk in found)
    model = ScriptedModel("[]")
    enrich(model, low=99.0, high=0.01, use_llm=False)
    assert model.prompts == []
    assert IDMSEnricher().enrich(document()[0], []) == []


def test_a_chunk_without_entities_is_left_alone() -> None:
    found = enrich(low=99.0, high=0.0, growth=1.0)
    assert [found[i].extras["density"] for i in (1, 2)] == [0, 0]
    assert [found[i].extras["action"] for i in (1, 2)] == ["none", "none"]


async def test_sync_async_and_again_are_equal() -> None:
    source, chunks = document()
    enricher = pickle.loads(pickle.dumps(IDMSEnricher(low=99.0, high=0.01, growth=0.5)))
    for model in (None, ScriptedModel('["gated network"]')):
        first = enricher.enrich(source, chunks, embedder=HashEmbedder(), llm=model)
        assert first == await enricher.aenrich(source, chunks, embedder=HashEmbedder(), llm=model)
        assert first == enricher.enrich(
            source, chunks, runner=Runner(embedder=HashEmbedder(), llm=model)
        )
        check_untouched(chunks, first, growth=0.5)
    assert enricher.enrich(source, chunks) == enricher.enrich(source, chunks)  # LSA


def test_added_lines_can_stay_out_of_the_context() -> None:
    found = enrich(high=0.01, reduce=False, growth=1.0, into_context=False)[3]
    assert found.context == "" and found.extras["added"][0]["entity"] == "LSTM"
    assert found.extras["index_tokens"] == count_tokens(DENSE)


def test_the_hard_limit_has_its_own_counter() -> None:
    wanted = len(DENSE) + len("Long Short-Term Memory (LSTM)\n")
    for limit, fits in ((wanted - 1, False), (wanted, True)):
        found = enrich(high=0.01, reduce=False, growth=1.0, max_tokens=limit, counter=len)[3]
        assert ("added" in found.extras) is fits


def test_a_splitter_that_enriches() -> None:
    source = read_text("".join([DEFINING, FILLER, DENSE] * 3), format="text")
    plain = IDMSSplitter(min_tokens=0, max_tokens=80)
    both = with_enrichment(plain, "both", max_tokens=80, counter=count_tokens)
    before = plain.split(source, embedder=HashEmbedder())
    after = both.split(source, embedder=HashEmbedder())
    check_untouched(before, after)
    assert all(
        "density" in chunk.extras and count_tokens(chunk.index_text) <= 80 for chunk in after
    )
    assert with_enrichment(plain, "none", max_tokens=80, counter=count_tokens) is plain
    with pytest.raises(InvalidParameter, match="enrich must be one of"):
        with_enrichment(plain, "all", max_tokens=80, counter=count_tokens)


@needs_data
def test_a_real_document() -> None:
    with gzip.open(DATA / "qasper" / "documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        found_in = json.loads(list(lines)[2])
    source = read_text(found_in["text"], format=found_in["format"], id=found_in["id"])
    chunks = FixedSplitter(max_tokens=300).split(source)
    found = IDMSEnricher().enrich(source, chunks, embedder=HashEmbedder())
    check_untouched(chunks, found)
    for chunk in found:
        for item in chunk.extras.get("added", []):
            assert item["text"] in source.text[item["start"] : item["end"]]
            assert contains(source.text, item["entity"])
    assert {chunk.extras["action"] for chunk in found} == {"none", "reduced", "supplemented"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"low_quantile": 2}, "low_quantile must be"),
        ({"low_quantile": 0.9}, "low_quantile must be at most"),
        ({"growth": -0.1}, "growth must be"),
        ({"reduce_to": "half"}, "reduce_to must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"low": -1}, "low must be"),
        ({"max_tokens": 0}, "max_tokens must be"),
    ],
)
def test_wrong_settings_are_named(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        IDMSEnricher(**choices)
