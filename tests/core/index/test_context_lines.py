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
    MOST_WORDS,
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


def around(*chunks: tuple[str, str]) -> list[str]:
    """The surroundings of chunks of (path, body); a path is written A/B."""
    bodies = [body for _, body in chunks]
    return surroundings(
        [
            Chunk(f"d:{i}-{i + 1}", "d", "d#0", i, i + 1, body, path=path_of(path))
            for i, (path, body) in enumerate(chunks)
        ],
        bodies,
    )


def path_of(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")) if path else ()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        # One chunk: alone at its level, and nothing is above.
        ("A", ["0"]),
        # Two of one section, and one alone, which is seen with all of the document.
        ("A A B", ["01", "01", "012"]),
        ("B A A", ["012", "12", "12"]),
        # A section below belongs to the one above it, not the other way round.
        ("A A/B A/C", ["012", "012", "012"]),
        ("A/B A/B A/C A/C D", ["01", "01", "23", "23", "01234"]),
        ("A/B A/C A/D", ["012", "012", "012"]),
        ("C A/B A/C C", ["0123", "12", "12", "0123"]),
        # What stands behind another section is not of this run.
        ("A A B B A A", ["01", "01", "23", "23", "45", "45"]),
    ],
)
def test_what_surrounds_a_chunk_is_its_section_or_the_one_above(
    paths: str, expected: list[str]
) -> None:
    chunks = [(path, str(i)) for i, path in enumerate(paths.split())]
    assert [text.replace("\n\n", "") for text in around(*chunks)] == expected


def test_of_a_long_section_there_is_what_stands_nearest() -> None:
    third = MOST_CHARACTERS // 3
    section = [("A", digit * third) for digit in "01234"]
    nearest = [
        "".join(dict.fromkeys(text.replace("\n", ""))) for text in around(*section)
    ]
    # The chunk and one on each side reach the limit; at an end they go on to the other side.
    assert nearest == ["012", "012", "123", "234", "234"]
    section = [("A", digit * (third - 1)) for digit in "01234"]
    nearest = [
        "".join(dict.fromkeys(text.replace("\n", ""))) for text in around(*section)
    ]
    assert nearest == ["0123", "0123", "01234", "1234", "1234"]


def test_surroundings_are_bodies_without_outer_white_space_and_a_blank_line() -> None:
    assert around(("A", "\n one \n\n"), ("A", " two")) == ["one\n\ntwo"] * 2
    assert surroundings([], []) == []


@pytest.mark.parametrize(("words", "is_read"), [(80, True), (81, False)])
def test_an_answer_of_more_than_two_lines_words_is_none(
    words: int, is_read: bool
) -> None:
    answer = " ".join(f"word{i}" for i in range(words))
    assert read_line(answer) == (answer if is_read else "")


def test_an_extracted_line_is_two_sentences_of_forty_words_at_most() -> None:
    sentence = " ".join(f"pump{i}" for i in range(19)) + " leaks."
    assert len(sentence.split()) == MOST_WORDS // 2 == 20
    (line,) = extracted_lines([f"{sentence}\n\n{sentence} {sentence}"], "english")
    assert len(line.split()) == 40 and "\n" not in line
    long = "The pump leaks " + "and hums " * 20 + "today."
    (line,) = extracted_lines([long], "english")
    assert len(line.split()) <= 40
