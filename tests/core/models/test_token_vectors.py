"""Token vectors: offsets, parts of long texts, and the same pass as the text's own vector."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples

from structrag import SentenceTransformerEmbedder
from structrag.errors import InvalidParameter
from structrag.models import TransformersTokens
from structrag.models.bundled import minilm_path
from structrag.models.token_vectors import TokenReader, as_token_encoder, reader_of


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


class Letters:
    """A fast tokenizer: a is token 1, b token 2; 0 stands in front, 27 and 28 behind."""

    is_fast = True
    pad_token_id: int | None = 9
    model_input_names: tuple[str, ...] = ("input_ids", "attention_mask")

    def __call__(self, texts: Any, **options: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {key: rows[0] for key, rows in self([texts], **options).items()}
        ids = [[ord(letter) - 96 for letter in text] for text in texts]
        if options.get("add_special_tokens", True):
            ids = [[0, *row, 27, 28] for row in ids]
        spans = [[(i, i + 1) for i in range(len(text))] for text in texts]
        return {"input_ids": ids, "offset_mapping": spans}


class Numbers:
    """A model: the hidden state of a token is its number; remembers what it was given."""

    def __init__(self) -> None:
        self.rows: list[list[list[int]]] = []
        self.masks: list[list[list[int]]] = []
        self.others: list[Any] = []

    def __call__(self, features: Any) -> tuple[Any, None]:
        rest = dict(features)
        ids = rest.pop("input_ids")
        self.rows.append(ids.tolist())
        self.masks.append(rest.pop("attention_mask").tolist())
        self.others.append(rest)
        return ids.float()[..., None], None

    def with_vectors(self, features: Any) -> tuple[Any, Any]:
        """The vector of a part is the number of its first token."""
        hidden, _ = self(features)
        return hidden, hidden[:, 1]


class Words(Letters):
    """Spans hold the blanks before their words, as those of SentencePiece and byte pairs do."""

    def __call__(self, texts: Any, **options: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {key: rows[0] for key, rows in self([texts], **options).items()}
        spans = [
            [match.span() for match in re.finditer(r"\s*[a-z]+|\s+", text)]
            for text in texts
        ]
        ids = [[1] * len(of_text) for of_text in spans]
        if options.get("add_special_tokens", True):
            ids = [[0, *row, 27, 28] for row in ids]
        return {"input_ids": ids, "offset_mapping": spans}


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
    pytest.importorskip("torch")
    reader = TokenReader(Words(), Numbers(), 64, batch_size=8)
    (tokens,) = reader.read([text], prompt)
    assert [text[start:end] for start, end in tokens.spans] == shown


@examples
def test_a_text_above_the_limit_is_read_in_parts_with_the_marks_around_each(
    limit: int, n: int, lengths: list[int]
) -> None:
    pytest.importorskip("torch")
    model = Numbers()
    reader = TokenReader(Letters(), model, limit, batch_size=8)
    (tokens,) = reader.read(["abcdefgh"[:n]])
    (rows,), (masks,) = model.rows, model.masks
    assert [sum(mask) - 3 for mask in masks] == lengths
    for row, length in zip(rows, lengths, strict=True):
        assert row[0] == 0 and row[1 + length : 3 + length] == [27, 28]
    assert tokens.vectors[:, 0].tolist() == tokens.ids.tolist() == [*range(1, n + 1)]
    assert tokens.spans.tolist() == [[i, i + 1] for i in range(n)]
    assert tokens.vector.tolist() == [(n + 1) / 2]


@examples
def test_parts_of_like_length_share_a_pass_and_are_padded_at_the_end(
    pad: int | None, filled: int
) -> None:
    pytest.importorskip("torch")
    letters, model = Letters(), Numbers()
    letters.pad_token_id = pad
    reader = TokenReader(letters, model, limit=64, batch_size=2)
    texts = ["a", "bcd", "ef", "ghi"]
    read = reader.read(texts)
    assert [one.ids.tolist() for one in read] == [[1], [2, 3, 4], [5, 6], [7, 8, 9]]
    assert model.rows == [
        [[0, 2, 3, 4, 27, 28], [0, 7, 8, 9, 27, 28]],
        [[0, 5, 6, 27, 28], [0, 1, 27, 28, filled]],
    ]
    assert model.masks[1] == [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]
    assert model.others == [{}, {}]


class Named:
    """A part of a sentence-transformers model."""


class Transformer(Named):
    pass


class Pooling(Named):
    def __init__(self, mode: str, *, is_old: bool = False) -> None:
        self.pooling_mode = None if is_old else mode
        self.get_pooling_mode_str = lambda: mode


class Normalize(Named):
    pass


class Dense(Named):
    pass


class Sentences(list[Any]):
    """A SentenceTransformer of parts; a text's vector is 100."""

    device = "cpu"
    tokenizer: Any = Letters()
    max_seq_length: int | None = None
    forward = None

    def eval(self) -> None:
        pass

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        hidden, _ = Numbers()(features)
        vectors = hidden[:, 0] + 100
        return {"token_embeddings": hidden, "sentence_embedding": vectors}


@pytest.mark.parametrize(
    ("parts", "is_own"),
    [
        ([Transformer(), Pooling("mean")], True),
        ([Transformer(), Pooling("mean", is_old=True), Normalize()], True),
        ([Transformer(), Pooling("cls")], False),
        ([Transformer(), Pooling("cls", is_old=True), Normalize()], False),
        ([Transformer(), Pooling("mean"), Dense()], False),
        ([Transformer()], False),
    ],
)
def test_the_vector_of_a_text_is_the_models_where_that_is_the_mean_of_its_tokens(
    parts: list[Any], is_own: bool
) -> None:
    pytest.importorskip("torch")
    reader = reader_of(Sentences(parts), batch_size=4)
    assert reader is not None
    (tokens,) = reader.read(["ac"])
    assert tokens.vector.tolist() == [100.0 if is_own else 2.0]
    assert tokens.vectors[:, 0].tolist() == [1, 3]


def test_a_sentence_model_reads_as_far_as_it_says_or_512_tokens() -> None:
    model = Sentences([Transformer()])
    reader = reader_of(model, batch_size=4)
    assert reader is not None and (reader.limit, reader.batch_size) == (512, 4)
    model.max_seq_length = 7
    shorter = reader_of(model, batch_size=4)
    assert shorter is not None and shorter.limit == 7
    model.tokenizer = SimpleNamespace(is_fast=False)
    assert reader_of(model, batch_size=4) is None
    assert reader_of(SimpleNamespace(tokenizer=Letters()), batch_size=4) is None
    model.tokenizer = SimpleNamespace()  # says nothing of its speed
    assert reader_of(model, batch_size=4) is None
    with pytest.raises(InvalidParameter, match="tokenizer must be a fast one"):
        TransformersTokens(Encoder(), SimpleNamespace())


class Encoder:
    """An encoder of transformers."""

    device = "cpu"

    def __init__(self, **config: Any) -> None:
        self.config = SimpleNamespace(**config)
        self.numbers = Numbers()

    def __call__(self, **features: Any) -> Any:
        return SimpleNamespace(last_hidden_state=self.numbers(features)[0])


def test_an_encoder_is_named_by_what_it_was_loaded_from_and_its_prompts() -> None:
    plain = TransformersTokens(Encoder(), Letters())
    assert plain.name == "tokens/Encoder||"
    loaded = Encoder(_name_or_path="some/bert")
    prompted = TransformersTokens(
        loaded, Letters(), query_prompt="q", document_prompt="d"
    )
    assert prompted.name == "tokens/some/bert|q|d"
    assert TransformersTokens(loaded, Letters(), name="mine").name == "tokens/mine||"


def test_questions_and_documents_have_their_own_prompts() -> None:
    pytest.importorskip("torch")
    model = Encoder()
    encoder = TransformersTokens(
        model, Letters(), query_prompt="q", document_prompt="yz"
    )
    (question,) = encoder.embed_tokens(["a"], query=True)
    (document,) = encoder.embed_tokens(["a"])
    first, second = (rows[0][1:-2] for rows in model.numbers.rows)
    assert (first, second) == ([17, 1], [25, 26, 1])
    assert question.ids.tolist() == document.ids.tolist() == [1]
    assert question.spans.tolist() == document.spans.tolist() == [[0, 1]]


@examples
def test_an_encoder_reads_as_many_tokens_as_it_has_positions_if_nothing_is_said(
    config: dict[str, Any], max_tokens: int | None, expected: int
) -> None:
    encoder = TransformersTokens(Encoder(**config), Letters(), max_tokens=max_tokens)
    assert encoder.max_tokens == expected
