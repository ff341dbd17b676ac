"""Static vectors: the worked mean, model2vec's folder format, broken folders, vocabularies and
weights."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from static_making import ROWS, model2vec, static_of_rows, words

from structrag.errors import InvalidParameter
from structrag.models.static import StaticEmbedder, static_of


def test_a_vector_is_the_scaled_mean_of_its_tokens() -> None:
    static = static_of_rows()
    found = static.embed(["cats", "cats eat", "dogs dogs dogs", "", "???", "cats ???"])
    expected = [[1, 0], np.array([5, 2]) / np.sqrt(29), [0, 1], [0, 0], [0, 0], [1, 0]]
    assert found.dtype == np.float32 and np.allclose(found, expected, atol=1e-6)
    plain = static_of_rows(normalise=False)
    assert np.allclose(
        plain.embed(["cats eat", "cats ???", "?"]), [[2.5, 1], [3, 0], [0, 0]]
    )
    assert (
        static.embed([]).shape == (0, 2)
        and static.dimension == 2
        and static.max_tokens is None
    )
    assert np.array_equal(
        asyncio.run(static.aembed(["cats"], query=True)), static.embed(["cats"])
    )


def test_nothing_is_padded_or_cut_and_the_callers_tokenizer_is_left_alone() -> None:
    tokenizer = words()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9, pad_id=1, pad_token="cats")
    found = static_of_rows(ROWS, tokenizer).embed(["dogs " * 50 + "cats", "dogs"])
    assert np.allclose(found, [np.array([3, 200]) / np.hypot(3, 200), [0, 1]])
    assert tokenizer.truncation["max_length"] == 2 and tokenizer.padding["length"] == 9


def test_texts_are_read_whole_and_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    static = static_of_rows()
    options: dict[str, object] = {}

    def encode(texts: list[str], **chosen: object) -> np.ndarray:
        options.update(chosen)
        return np.zeros((len(texts), 2))

    monkeypatch.setattr(static.model, "encode", encode)
    static.embed(["cats"])
    assert options["max_length"] is None and options["use_multiprocessing"] is False


@given(st.lists(st.text(), max_size=6))
def test_any_text_gets_a_unit_vector_or_zeros_alone_or_beside_others(
    texts: list[str],
) -> None:
    static = static_of_rows()
    texts = [*texts, "\ud800 cats"]
    found = static.embed(texts)
    sizes = np.linalg.norm(found, axis=1)
    assert np.all(np.isclose(sizes, 1, atol=1e-5) | (sizes == 0)) and sizes[-1] > 0
    assert np.array_equal(
        found, np.concatenate([static.embed([text]) for text in texts])
    )


def test_what_does_not_fit_is_said() -> None:
    for rows, match in ((ROWS * np.nan, "finite"), (np.zeros((4, 0)), "not empty")):
        with pytest.raises(InvalidParameter, match=match):
            static_of_rows(rows)
    with pytest.raises(
        InvalidParameter, match=r"must be a model2vec\.StaticModel; got str"
    ):
        StaticEmbedder("tiny")
    with pytest.raises(InvalidParameter, match="name must be"):
        static_of_rows(name=3)  # type: ignore[arg-type]


def test_a_model_without_a_name_goes_by_its_vectors() -> None:
    assert static_of_rows(name="").name == static_of_rows(name="").name != "tiny"
    assert static_of_rows(name="").name != static_of_rows(ROWS * 2, name="").name


def test_words_added_to_a_tokenizer_need_vectors_too() -> None:
    tokenizer = words()
    tokenizer.add_tokens(["birds"])
    model = model2vec.StaticModel(ROWS, tokenizer, token_mapping=np.arange(4))
    with pytest.raises(
        InvalidParameter, match="each of its tokenizer's 5 tokens; got 4"
    ):
        StaticEmbedder(model)
    more = np.vstack([ROWS, [1, 0]]).astype(np.float32)
    assert np.allclose(static_of_rows(more, tokenizer).embed(["birds"]), [[1, 0]])


def test_a_model_without_a_name_goes_by_twelve_digits_of_vectors_and_weights() -> None:
    def name(weights: np.ndarray | None) -> str:
        model = model2vec.StaticModel(
            ROWS, words(), weights=weights, token_mapping=np.arange(4)
        )
        return StaticEmbedder(model).name

    names = {name(None), name(np.ones(4)), name(np.arange(4.0))}
    assert len(names) == 3
    assert all(re.fullmatch(r"static/[0-9a-f]{12}", one) for one in names)


@examples
def test_every_token_has_a_row_and_a_weight(
    rows: int, mapping: list[int] | None, weights: int | None, fits: bool
) -> None:
    model = model2vec.StaticModel(
        ROWS[:rows],
        words(),
        token_mapping=None if mapping is None else np.array(mapping),
        weights=None if weights is None else np.ones(weights),
    )
    if fits:
        assert StaticEmbedder(model, "tiny").name == "tiny"
        return
    with pytest.raises(InvalidParameter, match="each of its tokenizer's 4 tokens; got"):
        StaticEmbedder(model)


def test_vectors_of_one_number_each_are_rows_too() -> None:
    assert static_of_rows(ROWS[:, :1] + 1).dimension == 1
    model = model2vec.StaticModel(ROWS, words())
    model.embedding = ROWS[:, 0]
    with pytest.raises(InvalidParameter, match=r"got shape \(4,\)"):
        StaticEmbedder(model)


def test_an_instant_encoder_is_static_already_and_one_without_a_tokenizer_is_not() -> (
    None
):
    static = static_of_rows()
    assert static_of(static) is static
    with pytest.raises(InvalidParameter, match="'hash' has none"):
        static_of(HashEmbedder())
