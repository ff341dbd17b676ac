"""How sentences match a question, word by word."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import HashEmbedder, HashTokens

from structrag import EvidenceRetriever, read_text

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
    (_, heading), (_, words), (_, others) = explained(model, "Which pumps leak?")
    assert heading[0] == ("pumps", "Pumps", 1.0)
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
