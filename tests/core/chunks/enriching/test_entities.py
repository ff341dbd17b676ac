"""Entities of chunks: by form, a function or a model."""

from __future__ import annotations

import json

from dense_chunks import chunks_of, measured
from doubles import ScriptedModel

from structrag.chunks.enriching.density import ner_entities


def test_entities_in_more_than_half_of_the_chunks_are_dropped() -> None:
    text = " ".join(
        f"The ACME report says X{i}Y grew by a lot this year again." for i in range(6)
    )
    names = {
        entity.name for own in measured(chunks_of(text, 16)) for entity in own.entities
    }
    assert names == {f"X{i}Y" for i in range(6)}


def test_entities_by_a_function_or_a_model_must_occur() -> None:
    chunks = chunks_of()
    found = measured(chunks, entities=lambda text: ["flour", "sugar", "", "FLOUR"])
    assert [[entity.name for entity in own.entities] for own in found] == [
        [],
        ["flour"],
        [],
    ]
    model = ScriptedModel(json.dumps(["a record", "brown", "unicorn", "comet"]))
    found = measured(chunks, entities="llm", llm=model)
    assert [[entity.name for entity in own.entities] for own in found] == [
        ["a record"],
        ["brown"],
        ["comet"],
    ]
    for broken in (
        ScriptedModel("I cannot help with that."),
        ScriptedModel(OSError("down")),
        None,
    ):
        assert measured(chunks, entities="llm", llm=broken) == measured(chunks)


def test_a_pipeline_gives_slices() -> None:
    found = ner_entities(lambda text: [{"start": 4, "end": 8, "word": "nasa"}])
    assert list(found("The NASA probe")) == ["NASA"]
