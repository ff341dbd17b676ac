"""Static token vectors: one row of the table a token, with its place."""

from __future__ import annotations

import numpy as np
import pytest
from static_making import ROWS, static_of_rows, words

from structrag import EvidenceRetriever, read_text
from structrag.errors import InvalidParameter
from structrag.models import StaticTokens


def test_every_token_has_its_row_and_its_place() -> None:
    encoder = StaticTokens(static_of_rows())
    text = "cats never eat dogs"
    (tokens, blank) = encoder.embed_tokens([text, ""])
    assert [text[start:end] for start, end in tokens.spans] == ["cats", "eat", "dogs"]
    assert np.array_equal(tokens.vectors, ROWS[[1, 3, 2]])
    assert np.allclose(tokens.vector, tokens.vectors.mean(axis=0))
    assert blank.vectors.shape == (0, 2) and blank.vector.tolist() == [0, 0]
    assert encoder.name == "tokens/tiny" and encoder.embed_tokens([]) == []


def test_lone_surrogates_move_no_offset() -> None:
    text = "\ud83d cats"
    (tokens,) = StaticTokens(static_of_rows()).embed_tokens([text])
    assert text[slice(*tokens.spans[-1])] == "cats"


def test_a_retriever_matches_them() -> None:
    documents = [read_text("cats eat", id="a"), read_text("dogs eat", id="b")]
    retriever = EvidenceRetriever.from_documents(
        documents, StaticTokens(static_of_rows())
    )
    (hit,) = retriever.search("dogs", 1)
    assert hit.chunk.doc_id == "b" and hit.parts["tokens"] > 0


def test_only_a_static_embedder_has_a_table() -> None:
    with pytest.raises(
        InvalidParameter, match="embedder must be a StaticEmbedder; got str"
    ):
        StaticTokens("potion")  # type: ignore[arg-type]


def test_where_no_token_stands_for_unknown_words_all_have_vectors() -> None:
    static = static_of_rows(ROWS[1:], words(["cats", "dogs", "eat"], unknown="none"))
    (tokens,) = StaticTokens(static).embed_tokens(["dogs cats"])
    assert np.array_equal(tokens.vectors, ROWS[[2, 1]])
