"""How sentences match a question, word by word."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens
from fixture_cases import examples

from structrag import EvidenceRetriever, read_text
from structrag.asking.requests import TokenVectors
from structrag.retrieval.evidence.matching import (
    PlacedTokens,
    _pieces,
    _placed,
    _word_at,
    by_stems,
    by_tokens,
)

TEXT = "# Pumps\n\nThe blue pump leaks. It hums all day.\n\n# Cats\n\nCats sleep.\n"
DOCUMENTS = [read_text(TEXT, id="pumps"), read_text("Nothing here.", id="other")]


def explained(
    model: Any, question: str
) -> list[tuple[str, list[tuple[str, str, float]]]]:
    retriever = EvidenceRetriever.from_documents(DOCUMENTS, model)
    hits = retriever.search(question, 1)
    (sentences,) = retriever.explain(question, hits)
    assert sentences[0].score == pytest.approx(hits[0].score) or len(sentences) > 1
    return [
        (
            TEXT[sentence.start : sentence.end].strip(),
            [
                (one.word, TEXT[one.start : one.end], one.similarity)
                for one in sentence.words
            ],
        )
        for sentence in sentences
    ]


def test_each_word_is_matched_by_the_vectors_of_its_tokens() -> None:
    (first, words), (second, others) = explained(HashTokens(), "Which blue pump?")
    assert (first, second) == ("The blue pump leaks.", "It hums all day.")
    assert [(word, match) for word, match, _ in words[1:]] == [
        ("blue", "blue"),
        ("pump", "pump"),
    ]
    assert all(similarity > 0.8 for *_, similarity in words[1:])
    assert all(similarity < 0.8 for *_, similarity in others)
    assert [word for word, *_ in words] == ["Which", "blue", "pump"]


@pytest.mark.parametrize("model", [None, HashEmbedder()], ids=["lsa", "embedder"])
def test_without_token_vectors_words_match_by_stems(model: Any) -> None:
    (_, words), (_, others) = explained(model, "Which pumps leak?")
    assert words == [("pumps", "pump", 1.0), ("leak", "leaks", 1.0)]
    assert others == [("pumps", "", 0.0), ("leak", "", 0.0)]


def test_a_question_without_words_has_no_matches() -> None:
    retriever = EvidenceRetriever.from_documents(DOCUMENTS, HashTokens())
    hits = retriever.search("pump")
    assert retriever.explain(" ", hits) == [() for _ in hits]
    assert all(
        not one.words for of_hit in retriever.explain("?", hits) for one in of_hit
    )
    assert retriever.explain("pump", []) == []
    assert by_stems("the of", TEXT, (0, 20), "english") == ()


def test_only_the_pieces_around_the_hits_are_read_again() -> None:
    long = read_text(
        "\n\n".join(f"Part {i} is made of steel. " * 20 for i in range(30)), id="l"
    )
    encoder = HashTokens()
    retriever = EvidenceRetriever.from_documents([long], encoder)
    hits = retriever.search("Part 7", 1)
    encoder.passes.clear()
    retriever.explain("Part 7", hits)
    assert 0 < len(encoder.passes[-1]) < 4


def vectors(spans: list[tuple[int, int]], rows: list[list[float]]) -> TokenVectors:
    matrix = np.array(rows, np.float32)
    return TokenVectors(
        np.arange(len(spans)), np.array(spans), matrix, matrix.mean(axis=0)
    )


WHICH, PU, MP, OTHER = np.eye(4).tolist()
SENTENCE = "ab pump leaks now"  # of which "pump leaks" is looked at


def test_the_best_token_of_the_sentence_stands_for_a_word() -> None:
    asked = vectors([(0, 5), (6, 8), (8, 10)], [WHICH, PU, MP])
    tokens = PlacedTokens(
        np.array([0, 3, 5, 8, 14]),
        np.array([PU, PU, [0, 0, 0.6, 0.8], [0.8, 0.6, 0, 0], WHICH]),
    )
    which, pump = by_tokens("Which pump?", asked, SENTENCE, (3, 14), tokens)
    assert (which.word, which.start, which.end) == ("Which", 8, 13)
    assert which.similarity == pytest.approx(0.8)
    # the mean of its tokens, at the place of the one that matches best
    assert (pump.word, pump.start, pump.end) == ("pump", 3, 7)
    assert pump.similarity == pytest.approx(0.8)
    # the second half of a word leads to the whole word
    weak = PlacedTokens(tokens.starts, np.array([PU, OTHER, MP, OTHER, WHICH]))
    _, pump = by_tokens("Which pump?", asked, SENTENCE, (3, 14), weak)
    assert (pump.start, pump.end, pump.similarity) == (3, 7, pytest.approx(0.5))
    nothing = by_tokens("Which pump?", asked, SENTENCE, (13, 14), tokens)
    assert [(one.start, one.end, one.similarity) for one in nothing] == [
        (13, 13, 0.0)
    ] * 2


def test_tokens_outside_of_words_and_words_without_tokens_are_left_out() -> None:
    tokens = PlacedTokens(np.array([3]), np.array([PU]))
    asked = vectors([(0, 1), (8, 12)], [OTHER, PU])
    found = by_tokens("\u00bf Which pump?", asked, SENTENCE, (3, 7), tokens)
    assert [(one.word, one.similarity) for one in found] == [("pump", 1.0)]


def test_a_mark_between_words_is_of_the_word_before_it() -> None:
    asked = vectors([(0, 1), (1, 2), (2, 3)], [PU, WHICH, MP])
    tokens = PlacedTokens(np.array([3]), np.array([MP]))
    one, other = by_tokens("a-b", asked, SENTENCE, (3, 7), tokens)
    assert (one.word, one.similarity) == ("a", 0.0)
    assert (other.word, other.similarity) == ("b", 1.0)


@pytest.mark.parametrize("model", [None, HashTokens()], ids=["lsa", "tokens"])
def test_sentences_of_a_later_document_have_their_own_scores(model: Any) -> None:
    later = read_text("# Boats\n\nBoats float. They sink.\n", id="boats")
    retriever = EvidenceRetriever.from_documents([*DOCUMENTS, later], model)
    (hit,) = retriever.search("Which boats float?", 1)
    (first, second) = retriever.explain("Which boats float?", [hit])[0]
    assert hit.chunk.doc_id == "boats"
    assert first.score == pytest.approx(hit.score) and first.score > second.score


def test_a_sentence_that_begins_where_a_passage_ends_is_not_in_it() -> None:
    text = "水泵漏水。密封坏了。"
    retriever = EvidenceRetriever.from_documents(
        [read_text(text, id="c")], HashTokens()
    )
    (hit,) = retriever.search("水泵")
    assert [(one.start, one.end) for one in retriever.explain("水泵", [hit])[0]] == [
        (0, 5),
        (5, 10),
    ]
    for start, end, expected in ((0, 5, [(0, 5)]), (5, 10, [(5, 10)]), (2, 7, None)):
        part = replace(hit, chunk=replace(hit.chunk, start=start, end=end))
        places = [(one.start, one.end) for one in retriever.explain("水泵", [part])[0]]
        assert places == (expected or [(2, 5), (5, 7)])


@examples
def test_the_word_that_holds_a_character(place: int, span: tuple[int, int]) -> None:
    assert _word_at(SENTENCE, place) == span


def test_pieces_hold_part_of_a_chunk() -> None:
    document: Any = SimpleNamespace(pieces=[(0, 10), (10, 20), (20, 30)])
    for start, end, expected in (
        (10, 20, [1]),
        (9, 21, [0, 1, 2]),
        (10, 21, [1, 2]),
        (0, 1, [0]),
    ):
        chunk: Any = SimpleNamespace(start=start, end=end)
        assert _pieces(document, chunk) == [document.pieces[i] for i in expected]


def test_tokens_of_pieces_are_placed_in_the_document() -> None:
    read = vectors([(0, 2), (3, 5)], [WHICH, PU])
    placed = _placed({(0, 10): None, (10, 20): read, (20, 30): read})
    assert placed is not None and placed.starts.tolist() == [10, 13, 20, 23]
    assert placed.vectors.tolist() == [WHICH, PU, WHICH, PU]
    assert _placed({(0, 10): None}) is None
