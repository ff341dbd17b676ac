"""The line of context a chunk: what surrounds it, extracted or answered by a model."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import ScriptedModel
from hypothesis import given
from hypothesis import strategies as st

from structrag import ContentAwareSplitter, Document, Index
from structrag.errors import InvalidParameter
from structrag.index.context_lines import (
    MOST_CHARACTERS,
    extracted_lines,
    read_line,
    surroundings,
)
from structrag.index.views import Prompts
from structrag.records import Chunk

TEXT = (
    "# Pump\n\nThe Nova pump moves water.\n\n## Filter\n\nRinse it weekly.\n\n"
    "# Valve\n\n" + "It is made of brass. " * 30
)
DOCUMENT = Document(TEXT, id="d", title="Manual", format="markdown")


def contexts(llm: Any = None, **options: Any) -> list[str | None]:
    index = Index(
        llm=llm,
        views=["context"],
        splitter=ContentAwareSplitter(max_tokens=60),
        **options,
    )
    index.add([DOCUMENT])
    reader = index.reader()
    return [reader.view_text(row, "context") for row in range(len(reader))]


def test_a_chunk_alone_in_its_section_is_seen_in_the_one_above() -> None:
    chunks = ContentAwareSplitter(max_tokens=60).split(DOCUMENT)
    around = surroundings(chunks, [chunk.body for chunk in chunks])
    assert around[0] == around[1] == "The Nova pump moves water.\n\nRinse it weekly."
    assert len(set(around[2:])) == 1 and around[2].count("brass") == 30


def test_the_line_stands_above_the_raw_text() -> None:
    texts = contexts()
    assert texts[1] == (
        "The Nova pump moves water. Rinse it weekly.\nManual > Pump\n## Filter\n\n"
        "Rinse it weekly.\n\n"
    )
    alone = Document("One sentence.", id="s")
    index = Index(views=["context", "raw"])
    index.add([alone])
    assert set(index.reader().view_texts(0).values()) == {"One sentence."}


def test_a_model_is_asked_for_each_chunk_and_bad_answers_are_extracted() -> None:
    llm = ScriptedModel("How the Nova's\nfilter is rinsed.")
    texts = contexts(llm)
    # Two pieces are equal.
    assert len(set(llm.prompts)) == len(llm.prompts) == len(texts) - 1
    assert all(
        text and text.startswith("How the Nova's filter is rinsed.\n") for text in texts
    )
    # chunks are asked for at once, so their prompts come in any order
    assert any(
        "Title: Pump > Filter" in asked and "Nova pump" in asked
        for asked in llm.prompts
    )
    for bad in ("", "I am sorry, I cannot.", "word " * 90, TimeoutError("no answer")):
        assert contexts(ScriptedModel(bad)) == contexts()
    index = Index(llm=ScriptedModel(""), views=["context"])
    assert index.add([DOCUMENT]).usage["fallbacks"] == {"context": 3}


def test_the_prompt_can_be_another() -> None:
    llm = ScriptedModel("A line.")
    contexts(llm, prompts=Prompts(context="Situate {text} in {surroundings}."))
    assert any(
        asked.startswith("Situate \nThe Nova pump moves water.")
        for asked in llm.prompts
    )
    with pytest.raises(InvalidParameter, match="surroundings"):
        Prompts(summary="{text} {surroundings}")


def test_reading_a_line() -> None:
    assert read_line(' {"summary": "It is blue."} ') == "It is blue."
    assert read_line("a\nb") == "a b" and read_line("I cannot help.") == ""


PATHS = st.lists(
    st.sampled_from([(), ("A",), ("A", "B"), ("C",)]), min_size=1, max_size=12
)


@given(
    paths=PATHS, size=st.sampled_from([5, MOST_CHARACTERS // 3, 2 * MOST_CHARACTERS])
)
def test_a_chunk_is_within_its_surroundings_which_are_bounded(
    paths: list[tuple[str, ...]], size: int
) -> None:
    bodies = [f"{i:05}" * (size // 5) for i in range(len(paths))]
    chunks = [
        Chunk(f"d:{i}-{i + 1}", "d", "d#0", i, i + 1, body, path=path)
        for i, (path, body) in enumerate(zip(paths, bodies, strict=True))
    ]
    around = surroundings(chunks, bodies)
    for body, text in zip(bodies, around, strict=True):
        assert body in text and len(text) <= MOST_CHARACTERS + 3 * size + 2 * len(
            bodies
        )
    assert (
        extracted_lines(around[:1] * 2, "english")[0]
        == extracted_lines(around[:1], "english")[0]
    )
