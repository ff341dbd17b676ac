"""Entities of chunks: by form, a function or a model."""

from __future__ import annotations

import json

import pytest
from dense_chunks import chunks_of, measured
from doubles import ScriptedModel

from structrag.asking.runner import Runner
from structrag.chunks.enriching.entities import entity_steps, ner_entities


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


@pytest.mark.parametrize(
    ("texts", "share", "entities"),
    [
        # Of three texts or fewer none is common.
        (["a b", "a", "a"], 0.1, [{"a", "b"}, {"a"}, {"a"}]),
        # Two of four are just half, three are more.
        (["a b c", "b c", "c", "d"], 0.5, [{"a", "b"}, {"b"}, set(), {"d"}]),
        (["a", "a", "a", "a"], 1.0, [{"a"}] * 4),
    ],
)
def test_a_name_in_more_than_the_share_of_four_texts_is_left_out(
    texts: list[str], share: float, entities: list[set[str]]
) -> None:
    steps = entity_steps(texts, lambda text: text.split(), share)
    assert [set(names) for names in Runner().run(steps)] == entities


def test_a_name_is_written_as_where_it_first_occurs() -> None:
    names = ["Voyager\nOne", "VOYAGER ONE", "sun", " "]
    steps = entity_steps(["The Voyager One and voyager one."], lambda text: names, 1.0)
    assert Runner().run(steps) == [{"voyager one": "Voyager One"}]


def test_nobody_is_asked_about_no_text() -> None:
    model = ScriptedModel("[]")
    assert Runner(llm=model).run(entity_steps([], "llm", 0.5)) == []
    assert not model.prompts
