"""Static vectors: the worked mean, model2vec's folder format, broken folders, vocabularies and
weights."""

from __future__ import annotations

import asyncio
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from static_making import ROWS, model2vec, static_of_rows, words

from structrag.errors import InvalidParameter
from structrag.models.static import StaticEmbedder

safetensors = pytest.importorskip(
    "safetensors.numpy", reason="the extra 'static' is not installed"
)


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


def test_a_folder_of_model2vec_is_read(tmp_path: Path) -> None:
    static = static_of_rows(normalise=False)
    static.model.save_pretrained(tmp_path)
    again = StaticEmbedder.load(str(tmp_path))
    texts = ["cats eat dogs", "eat", "none"]
    assert not again.model.normalize
    assert np.array_equal(again.embed(texts), static.embed(texts))
    assert StaticEmbedder.load(tmp_path, name="mine").name == "mine"
    pickled = pickle.loads(pickle.dumps(again))
    assert np.array_equal(pickled.embed(texts), static.embed(texts))


def test_a_published_folder_may_have_weights_a_mapping_and_a_row_for_the_unknown(
    tmp_path: Path,
) -> None:
    tensors = {
        "embeddings": np.array([[9, 9], [1, 0], [0, 1]], dtype=np.float16),
        "mapping": np.array([0, 1, 2, 2]),
        "weights": np.array([1, 2, 1, 3], dtype=np.float64),
    }
    safetensors.save_file(tensors, tmp_path / "model.safetensors")
    words().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"normalize": false}')
    static = StaticEmbedder.load(tmp_path)
    assert np.array_equal(
        static.embed(["none", "cats", "dogs", "eat"]), [[0, 0], [2, 0], [0, 1], [0, 3]]
    )
    assert static.name.startswith("static/") and not static.model.normalize


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("model.safetensors", None, "Could not find"),
        ("tokenizer.json", None, "Could not find"),
        ("model.safetensors", b"\x00" * 20, "cannot be read"),
        ("tokenizer.json", b"{", "cannot be read"),
        ("config.json", b"[1]", "cannot be read"),
    ],
)
def test_a_broken_folder_is_named(
    tmp_path: Path, name: str, content: bytes | None, match: str
) -> None:
    static_of_rows().model.save_pretrained(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidParameter, match=match):
        StaticEmbedder.load(tmp_path)


@pytest.mark.parametrize("name", ["nobody/has-this-static-model", "not a name", 3])
def test_a_name_that_is_not_on_this_machine_or_no_name_at_all(name: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"model must be .* a static model"):
        StaticEmbedder.load(name)
