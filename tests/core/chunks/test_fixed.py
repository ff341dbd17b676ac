"""Fixed-length chunks; tiling and limits on random text are in test_chunks_content_aware."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.reading.files import read_text

TEXT = (
    "# One\n\n"
    + "A sentence of six words here. " * 8
    + "\n\n## Two\n\n"
    + "Another sentence of six words. " * 4
)


def test_sections_are_borders_only_when_asked() -> None:
    document = read_text(TEXT, format="markdown")
    assert any(
        "One" in c.text and "Two" in c.text for c in FixedSplitter(500).split(document)
    )
    inside = FixedSplitter(500, within_sections=True, context=True).split(document)
    assert [chunk.path for chunk in inside] == [("One",), ("One", "Two")]
    assert [chunk.context for chunk in inside] == ["One", "One > Two"]


def words(text: str) -> int:
    return len(text.split())


def test_every_chunk_is_as_full_as_the_first() -> None:
    document = read_text("Rain. Snow. Wind. Hail. Fog. Dew. Sun.", format="text")
    chunks = FixedSplitter(2, counter=words).split(document)
    assert [words(chunk.text) for chunk in chunks] == [2, 2, 2, 1]


def test_a_character_above_the_limit_is_a_chunk_by_itself() -> None:
    chunks = FixedSplitter(1, counter=lambda text: 2 * len(text)).split(
        read_text("abc")
    )
    assert [chunk.text for chunk in chunks] == ["a", "b", "c"]
    assert all(chunk.extras["oversize"] for chunk in chunks)


def test_titles_are_left_out_within_sections_only() -> None:
    with pytest.raises(
        InvalidParameter, match="exclude_titles must be empty when within_sect"
    ):
        FixedSplitter(exclude_titles=["Two"])
    splitter = FixedSplitter(within_sections=True, exclude_titles=["Two"])
    chunks = splitter.split(read_text(TEXT, format="markdown"))
    assert [chunk.path for chunk in chunks] == [("One",)]


@examples
def test_the_heading_path_counts_to_the_limit(limit: int, texts: list[str]) -> None:
    document = read_text("# A\n\nOne two. Three. Four.", format="markdown")
    splitter = FixedSplitter(limit, within_sections=True, context=True, counter=words)
    chunks = splitter.split(document)
    assert [chunk.text for chunk in chunks] == texts


@examples
def test_sentences_that_count_more_together_are_halved(
    limit: int, sizes: list[int]
) -> None:
    def uneven(text: str) -> int:
        """1 for a sentence, then 4, 7 and 10 for four."""
        return 3 * len(text.split(".")) - 5 if "." in text else 1

    document = read_text("Aa. Bb. Cc. Dd.", format="text")
    chunks = FixedSplitter(limit, counter=uneven).split(document)
    assert [chunk.text.count(".") for chunk in chunks] == sizes
    assert [chunk.extras.get("oversize", False) for chunk in chunks] == [
        uneven(chunk.text) > limit for chunk in chunks
    ]


def test_a_sentence_above_the_limit_is_cut_between_words() -> None:
    document = read_text("One two three. Four. Five six.", format="text")
    chunks = FixedSplitter(2, counter=words).split(document)
    assert [chunk.text for chunk in chunks] == [
        "One two ",
        "three. Four. ",
        "Five six.",
    ]


def test_a_limit_of_one_token_is_taken() -> None:
    assert FixedSplitter(1).max_tokens == 1


def test_without_sections_and_without_context_there_is_no_path() -> None:
    document = read_text(TEXT, format="markdown", title="Manual")
    for settings in ({"context": True}, {"within_sections": True}):
        chunks = FixedSplitter(30, **settings).split(document)
        assert {chunk.context for chunk in chunks} == {""}
