"""Token vectors: offsets, parts of long texts, and the same pass as the text's own vector."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens

from structrag import SentenceTransformerEmbedder
from structrag.errors import InvalidParameter
from structrag.models import TransformersTokens
from structrag.models.bundled import minilm_path
from structrag.models.token_vectors import TokenReader, as_token_encoder


def test_minilm_gives_the_vectors_its_own_is_the_mean_of(minilm: Any) -> None:
    text = "Pümps move water."
    (tokens,) = minilm.embed_tokens([text])
    assert [text[start:end] for start, end in tokens.spans] == [
        "Pümps",
        "move",
        "water",
        ".",
    ]
    assert tokens.vectors.shape == (4, 384) and tokens.ids.dtype == np.int32
    assert np.allclose(tokens.vector, minilm.embed([text])[0], atol=1e-6)


def test_a_text_alone_and_in_a_batch_has_the_same_vectors(minilm: Any) -> None:
    texts = [
        "Pumps move water.",
        "A much longer text about valves, seals and their care.",
        "",
    ]
    together = minilm.embed_tokens(texts)
    for text, tokens in zip(texts, together, strict=True):
        (alone,) = minilm.embed_tokens([text])
        assert np.array_equal(alone.ids, tokens.ids)
        assert np.allclose(alone.vectors, tokens.vectors, atol=1e-4)
    assert not len(together[-1].ids) and together[-1].vector.shape == (384,)
    assert minilm.embed_tokens([]) == []


def test_a_long_text_is_read_in_equal_parts(minilm: Any) -> None:
    text = "word " * 700
    (tokens,) = minilm.embed_tokens([text])
    assert len(tokens.ids) == 700 and tokens.spans[-1].tolist() == [3495, 3499]
    third = minilm.embed_tokens(["word " * 233])[0]
    assert np.allclose(tokens.vectors[:233], third.vectors, atol=1e-4)


def test_lone_surrogates_move_no_offset(minilm: Any) -> None:
    text = "a \ud83d\ude00 pump"  # two halves, as a broken file has them
    (tokens,) = minilm.embed_tokens([text])
    assert text[slice(*tokens.spans[-1])] == "pump"


def test_tokens_of_a_prompt_are_left_out(minilm: Any) -> None:
    prompted = SentenceTransformerEmbedder(minilm.model, query_prompt="query: ")
    (tokens,) = prompted.embed_tokens(["Pumps move"], query=True)
    assert tokens.spans.tolist() == [[0, 5], [6, 10]]
    (plain,) = prompted.embed_tokens(["Pumps move"])
    assert np.array_equal(plain.ids, tokens.ids) and not np.allclose(
        plain.vectors, tokens.vectors
    )


def test_encoders_of_transformers_give_the_same_vectors(minilm: Any) -> None:
    encoder = TransformersTokens(str(minilm_path()), max_tokens=256)
    (own,), (theirs,) = (
        encoder.embed_tokens(["Pumps move."]),
        minilm.embed_tokens(["Pumps move."]),
    )
    assert np.array_equal(own.ids, theirs.ids)
    assert np.allclose(own.vectors, theirs.vectors, atol=1e-4)
    assert np.allclose(own.vector, own.vectors.mean(axis=0), atol=1e-5)
    assert encoder.name.startswith("tokens/model|||float32#")


class Words:
    """A tokenizer: words with the blanks before them, and an empty token at the end."""

    model_input_names: tuple[str, ...] = ()
    pad_token_id = 0

    def __call__(self, texts: Any, **options: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {key: of_texts[0] for key, of_texts in self([texts]).items()}
        spans = [
            [match.span() for match in re.finditer(r"\s*\S+|$", text)] for text in texts
        ]
        ids = [[end - start for start, end in of_text] for of_text in spans]
        return {"input_ids": ids, "offset_mapping": spans}


def test_tokens_without_a_character_of_the_text_are_left_out() -> None:
    torch = pytest.importorskip("torch")

    def forward(features: Any) -> Any:
        return torch.as_tensor(features["input_ids"]).float()[..., None], None

    reader = TokenReader(Words(), forward, limit=64, batch_size=8)
    beside, (across,) = reader.read([" ab c"], "q:"), reader.read(["b c"], "q: a")
    assert beside[0].spans.tolist() == [[0, 3], [3, 5]]
    assert beside[0].vectors.tolist() == [[3], [2]]
    # The token ab begins in the prompt.
    assert across.spans.tolist() == [[0, 1], [1, 3]]
    assert across.ids.tolist() == [3, 2]


def test_what_gives_token_vectors_is_told_from_what_does_not(minilm: Any) -> None:
    encoder = HashTokens()
    assert as_token_encoder(encoder) is encoder and as_token_encoder(minilm) is minilm
    assert as_token_encoder(HashEmbedder()) is None and as_token_encoder(None) is None


def test_a_tokenizer_without_offsets_is_named() -> None:
    model = SimpleNamespace(tokenizer=SimpleNamespace(is_fast=False), encode=None)
    embedder = SentenceTransformerEmbedder(model, name="slow")
    assert as_token_encoder(embedder) is None
    with pytest.raises(
        InvalidParameter, match="the tokenizer of 'slow' must be a fast one"
    ):
        embedder.embed_tokens(["a"])
    with pytest.raises(InvalidParameter, match="tokenizer must be a fast one"):
        TransformersTokens(SimpleNamespace(config=None), SimpleNamespace(is_fast=False))
