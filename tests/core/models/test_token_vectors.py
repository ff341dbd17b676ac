"""Token vectors: offsets, parts of long texts, and the same pass as the text's own vector."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from forking import exit_code, forked, forks

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


class Words:
    """A fast tokenizer, 0 in front of its tokens and 27 and 28 behind. Spans hold the blanks before
    their words, as those of SentencePiece and byte pairs do."""

    is_fast = True
    pad_token_id = 9
    model_input_names = ("input_ids", "attention_mask")

    def __call__(self, texts: Any, **options: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {key: rows[0] for key, rows in self([texts], **options).items()}
        words = re.compile(r"\s*[a-z]+|\s+")
        spans = [[match.span() for match in words.finditer(text)] for text in texts]
        ids = [[1] * len(of_text) for of_text in spans]
        if options.get("add_special_tokens", True):
            ids = [[0, *row, 27, 28] for row in ids]
        return {"input_ids": ids, "offset_mapping": spans}


def numbers(rows: Any) -> tuple[Any, None]:
    """The hidden state of a token is its number."""
    return np.array(rows, dtype=np.float32)[..., None], None


@pytest.mark.parametrize(
    ("text", "prompt", "shown"),
    [
        ("a pump", "", ["a", "pump"]),
        ("  a\n\u2003pump", "", ["a", "pump"]),
        ("a pump", "query: ", ["a", "pump"]),
        ("a\u00a0pump ", "", ["a", "pump", " "]),
        (" ", "", [" "]),
        ("", "", []),
    ],
)
def test_blanks_in_front_of_a_word_are_no_part_of_its_token(
    text: str, prompt: str, shown: list[str]
) -> None:
    reader = TokenReader(Words(), numbers, 64, batch_size=8)
    (tokens,) = reader.read([text], prompt)
    assert [text[start:end] for start, end in tokens.spans] == shown


@forks
def test_a_forked_child_does_not_wait_for_the_threads_of_pytorch() -> None:
    table, before = torch.ones(256, 4096), torch.get_num_threads()

    def work() -> None:
        torch.nn.functional.layer_norm(table, (4096,))

    torch.set_num_threads(2)
    try:
        work()
        assert exit_code(forked(work)) == 0
    finally:
        torch.set_num_threads(before)
