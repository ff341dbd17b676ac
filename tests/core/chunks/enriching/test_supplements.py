"""Sentences added to a chunk that lacks what its entities mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from dense_chunks import enrich
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples
from samples import DENSE, LONG

from structrag.chunks.enriching.density import (
    ChunkVectors,
    DensityFactors,
    DensitySettings,
    Entity,
)
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.enriching.supplements import (
    Sentence,
    Source,
    Supplement,
    SupplementLimits,
    defined,
)
from structrag.records import Chunk, Document


@pytest.mark.parametrize(
    ("answer", "usable"),
    [
        ("ACME makes steel near the river.", True),
        ("The plant makes steel near the river.", False),  # lost ACME
        # A name that the text has not.
        ("ACME and NASA make steel by the river.", False),
        ("", False),
        (LONG, False),  # too long
    ],
)
def test_a_models_short_text_is_checked(answer: str, usable: bool) -> None:
    found = enrich(ScriptedModel(answer), low=99.0, supplement=False)[4]
    assert (found.extras.get("reduced") == answer) is usable
    assert found.extras.get("dropped") == (None if usable else 1)
    assert found.extras["action"] == ("reduced" if usable else "none")


def settings_of() -> Any:
    from structrag.chunks.enriching.density import DensitySettings

    return DensitySettings(use_similarity=False)


def test_rounds_are_bounded_and_end_when_nothing_is_missing() -> None:
    nothing = ScriptedModel("[]")
    enrich(nothing, high=1.0, reduce=False, rounds=3)
    asked = len(nothing.prompts)
    passages = {
        prompt.split("Passage:")[1].split("Sentences:")[0] for prompt in nothing.prompts
    }
    assert asked == len(passages)  # one round
    greedy = ScriptedModel(
        lambda prompt: json.dumps([prompt.split("1. ")[1].split()[1]])
    )
    enrich(greedy, high=1.0, reduce=False, growth=1.0, rounds=2)
    assert len(greedy.prompts) <= 2 * asked


def words(text: str) -> int:
    return len(text.split())


# 11 words.
PASSAGE = Chunk("d:0-20", "d", "s", 0, 20, "a b c d e f g h i j", context="path")
LINE = Sentence(0, 30, 37, "k l m n")


def supplement(
    *,
    growth: float = 1.0,
    max_tokens: int | None = None,
    entities: tuple[Entity, ...] = (),
) -> Supplement:
    limits = SupplementLimits(3, 3, growth, max_tokens, counter=words)
    factors = DensityFactors(0.0, entities, 0.5, 1.0, 1.0, tokens=10)
    return Supplement(PASSAGE, factors, limits, DensitySettings(counter=words))


@pytest.mark.parametrize(
    ("growth", "max_tokens", "is_added"),
    [(4 / 11, None, True), (3.9 / 11, None, False), (1.0, 15, True), (1.0, 14, False)],
)
def test_a_line_is_added_as_long_as_the_index_text_is_within_both_limits(
    growth: float, max_tokens: int | None, is_added: bool
) -> None:
    work = supplement(growth=growth, max_tokens=max_tokens)
    assert work.add("k", LINE.text, LINE) is is_added
    assert work.indexed == ("path\nk l m n\n" if is_added else "path\n") + PASSAGE.text
    item = {"entity": "k", "text": "k l m n", "start": 30, "end": 37}
    assert work.change() == ({"added": [item]} if is_added else {})
    assert not work.add("k", LINE.text, LINE)  # no line twice


@examples
def test_the_plural_of_an_acronym_has_its_definition(
    name: str, entity: str | None
) -> None:
    texts = ["The Long Short-Term Memory (LSTM) rings.", f"It has {name}."]
    text = " ".join(texts)
    chunks = (
        Chunk("d:0", "d", "s", 0, len(texts[0]) + 1, texts[0] + " "),
        Chunk("d:1", "d", "s", len(texts[0]) + 1, len(text), texts[1]),
    )
    spans = tuple(((0, len(chunk.text)),) for chunk in chunks)
    vectors = ChunkVectors(spans, (np.ones((1, 2)),) * 2, np.ones((2, 2)))
    source = Source(Document(text), chunks, vectors)
    limits = SupplementLimits(3, 3, 9.0, None, counter=words)
    factors = DensityFactors(0.0, (Entity(name, 1, 0.5),), 1.0, 1.0, 1.0, tokens=3)
    work = Supplement(chunks[1], factors, limits, DensitySettings(counter=words))
    defined([work], [1], source)
    assert [item["entity"] for item in work.added] == ([entity] if entity else [])


@examples
def test_names_of_at_most_five_words_and_three_of_one_answer(
    answer: list[str], dropped: int | None
) -> None:
    names = "One two three four five six ring. Seven sings. Eight swims. Nine flies. Ten runs."
    text = f"{DENSE}\n\nThe next sentence is not shown. {names}\n"
    middle = len(DENSE) + 2
    chunks = [
        Chunk("d:0", "d", "s", 0, middle, text[:middle]),
        Chunk("d:1", "d", "s", middle, len(text), text[middle:]),
    ]
    enricher = IDMSEnricher(
        high=0.01,
        low=0.0,
        reduce=False,
        growth=1.0,
        rounds=1,
        candidates=9,
        density=settings_of(),
    )
    model = ScriptedModel(json.dumps(answer))
    found = enricher.enrich(
        Document(text, id="d"), chunks, embedder=HashEmbedder(), llm=model
    )
    assert found[0].extras.get("dropped") == dropped
    shown = (
        model.prompts[0].split("Sentences:")[1].split("Missing")[0].strip().split("\n")
    )
    assert [line.split(". ")[0] for line in shown] == [
        str(n + 1) for n in range(len(shown))
    ]


@examples
def test_of_sentences_as_near_within_a_billionth_the_first_comes_first(
    closer: float, first: int
) -> None:
    texts = ["A is. ", "B is. ", "C is. ", "D is. "]
    starts = [0, 6, 12, 18]
    chunks = tuple(
        Chunk(f"d:{i}", "d", "s", start, start + 6, text)
        for i, (start, text) in enumerate(zip(starts, texts, strict=True))
    )
    rows = [[0.5], [0.5 + closer], [0.0], [1.0]]
    vectors = ChunkVectors(
        (((0, 6),),) * 4, tuple(np.array([row]) for row in rows), np.array(rows[3:] * 4)
    )
    source = Source(Document("".join(texts)), chunks, vectors)
    # The one beside the last chunk is left out.
    assert source.nearest(3, 2, set()) == [first, 1 - first]
    assert source.nearest(3, 1, {first}) == [1 - first]


def asked_in_rounds(
    rounds: int, candidates: int = 1, n: int = 5, answer: Any = None
) -> list[list[str]]:
    """The names shown in each prompt about the first chunk, which is given the first of them. With
    an answer that is given instead, or raised."""
    names = ["Alpha", "Bravo", "Delta", "Echo", "Golf"][:n]
    line = "{} rings here and there and in many other places of the town."
    text = f"{DENSE * 3}\n\nNobody knows. {' '.join(map(line.format, names))}"
    middle = text.index("Nobody")
    chunks = [
        Chunk("d:0", "d", "s", 0, middle, text[:middle]),
        Chunk("d:1", "d", "s", middle, len(text), text[middle:]),
    ]
    shown: list[list[str]] = []

    def script(prompt: str) -> str:
        passage, lines = prompt.split("Passage:\n")[1].split("\n\nSentences:\n")
        if "LSTM" not in passage:
            return "[]"
        numbered = lines.split("\n\nMissing")[0].split("\n")
        shown.append([line.partition(". ")[2].split()[0] for line in numbered if line])
        if isinstance(answer, Exception):
            raise answer
        return answer or json.dumps(shown[-1][:1])

    enricher = IDMSEnricher(
        high=0.01,
        low=0.0,
        reduce=False,
        growth=1.0,
        rounds=rounds,
        candidates=candidates,
        density=settings_of(),
    )
    llm = ScriptedModel(script)
    enricher.enrich(Document(text, id="d"), chunks, embedder=HashEmbedder(999), llm=llm)
    return shown


@examples
def test_each_round_shows_sentences_that_were_not_shown(
    rounds: int, candidates: int
) -> None:
    shown = asked_in_rounds(rounds, candidates)
    assert [len(names) for names in shown] == [candidates] * rounds
    names = [name for names in shown for name in names]
    assert len(set(names)) == len(names)


def test_density_falls_by_more_than_a_billionth() -> None:
    """One entity of 0.5 in 10 tokens; with 4 more tokens 0.7 in all has the same density."""
    entities = (Entity("b", 1, 0.5),)
    assert not supplement(entities=entities).add("k", LINE.text, LINE, 0.2)
    assert not supplement(entities=entities).add("k", LINE.text, LINE, 0.2 - 1e-10)
    assert supplement(entities=entities).add("k", LINE.text, LINE, 0.2 - 1e-6)


def test_only_a_call_that_failed_is_noted() -> None:
    for model, is_degraded in ((None, False), (ScriptedModel(OSError("down")), True)):
        found = enrich(model, high=0.01, low=0.0, reduce=False, growth=1.0)
        assert [item["entity"] for item in found[3].extras["added"]] == ["LSTM"]
        assert ("degraded" in found[3].extras) is is_degraded
