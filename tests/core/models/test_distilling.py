"""Static vectors made of an encoder's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from static_making import words

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.models.distilling import (
    counting_tokens,
    default_folder,
    reduce,
    sif_weights,
    word_tokenizer,
)
from structrag.models.embedders import FunctionEmbedder, LsaEmbedder
from structrag.models.static import StaticEmbedder

SAMPLES = [
    "Cats eat fish and dogs eat bones.",
    "The engine of the car needs oil, the car needs fuel.",
    "Cats and dogs sleep.",
]


def test_words_of_samples_are_the_vocabulary_of_an_encoder_without_a_tokenizer() -> (
    None
):
    encoder = HashEmbedder(64)
    static = StaticEmbedder.distil(encoder, texts=SAMPLES, dimensions=8, cache=False)
    assert static.dimension == 8 and encoder.texts[:3] == [".", "the", "and"]
    assert (
        sorted(encoder.texts) == sorted(set(encoder.texts)) and "fish" in encoder.texts
    )
    one, two, none = static.embed(["The CAR needs fuel", "the car needs oil", "Zyx"])
    assert one @ two > 0.5 and not none.any()
    again = StaticEmbedder.distil(
        HashEmbedder(64), texts=SAMPLES, dimensions=8, cache=False
    )
    assert (
        np.array_equal(again.model.embedding, static.model.embedding)
        and again.name == static.name
    )
    other = StaticEmbedder.distil(
        HashEmbedder(64, name="other"), texts=SAMPLES, dimensions=8, cache=False
    )
    assert other.name != static.name


def test_it_is_made_once_and_kept_and_what_is_damaged_is_made_again(
    tmp_path: Path,
) -> None:
    def distil(encoder: Any, **options: Any) -> StaticEmbedder:
        return StaticEmbedder.distil(encoder, texts=SAMPLES, cache=tmp_path, **options)

    first = distil(HashEmbedder())
    unused = HashEmbedder()
    assert (
        np.array_equal(distil(unused).model.embedding, first.model.embedding)
        and not unused.texts
    )
    assert distil(unused, dimensions=3).dimension == 3 and unused.texts
    (folder,) = [
        path
        for path in (tmp_path / "static").iterdir()
        if StaticEmbedder.load(path).name == first.name
    ]
    from structrag.models import distilling

    distilling._loaded.cache_clear()
    (folder / "model.safetensors").write_bytes(b"half")
    assert np.array_equal(distil(HashEmbedder()).model.embedding, first.model.embedding)
    assert StaticEmbedder.load(folder).name == first.name and not list(
        tmp_path.rglob(".*")
    )


def test_a_cache_that_cannot_be_written_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="not kept"):
        static = StaticEmbedder.distil(
            HashEmbedder(), texts=SAMPLES, cache=tmp_path / "file"
        )
    assert static.embed(["cats"]).any()


@pytest.mark.parametrize(
    ("encoder", "options", "error", "match"),
    [
        (None, {}, InvalidParameter, "encoder must be a model"),
        (LsaEmbedder(), {}, InvalidParameter, "change with the texts"),
        (HashEmbedder(), {}, InvalidParameter, "tokenizer must be given"),
        (HashEmbedder(), {"texts": []}, InvalidParameter, "tokenizer must be given"),
        (
            HashEmbedder(),
            {"texts": ["one"]},
            InvalidParameter,
            "2 different words; got 1",
        ),
        (HashEmbedder(), {"texts": "one two"}, InvalidParameter, "in a list"),
        (HashEmbedder(), {"tokenizer": len}, InvalidParameter, "fast tokenizer"),
        (
            HashEmbedder(),
            {"texts": SAMPLES, "dimensions": 1},
            InvalidParameter,
            "dimensions must be",
        ),
        (
            FunctionEmbedder(lambda texts: [[np.nan]] * len(texts), "nan"),
            {"texts": SAMPLES},
            InvalidAnswer,
            "NaN",
        ),
        (
            FunctionEmbedder(lambda texts: [[1.0]], "short"),
            {"texts": SAMPLES},
            InvalidAnswer,
            "shape",
        ),
    ],
)
def test_what_cannot_be_distilled(
    encoder: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        StaticEmbedder.distil(encoder, cache=False, **options)


def test_the_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTRAG_CACHE", "here")
    assert default_folder() == Path("here")
    monkeypatch.delenv("STRUCTRAG_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_folder() == Path("/caches/structrag")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache" / "structrag"
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_folder() == Path.home() / "Library" / "Caches" / "structrag"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert default_folder() == Path("/local/structrag")


def test_principal_axes_come_by_variance_without_what_all_share() -> None:
    generator = np.random.default_rng(0)
    spread = np.array([9.0, 5.0, 3.0, 1.0])
    vectors = (generator.standard_normal((400, 4)) * spread + 7).astype(np.float32)
    reduced = reduce(vectors, 3)
    assert reduced.shape == (400, 3) and np.allclose(reduced.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(reduced.std(axis=0), spread[:3], rtol=0.15)
    assert reduce(vectors, 9).shape == (400, 4)
    wide = (generator.standard_normal((400, 100)) * np.linspace(10, 1, 100)).astype(
        np.float32
    )
    assert np.allclose(reduce(wide, 5), reduce(wide, 99)[:, :5]) and reduce(
        wide, 99
    ).shape == (
        400,
        98,
    )


def test_a_given_tokenizers_tokens_are_embedded_as_they_are_written() -> None:
    encoder = HashEmbedder()
    tokenizer = words(
        ["[UNK]", "[unused1]", "cat", "##s", "\u2581dog", "\u0120eat", "<s>"]
    )
    tokenizer.add_special_tokens(["<s>"])
    told: list[tuple[str, int, int]] = []
    static = StaticEmbedder.distil(
        encoder, tokenizer, cache=False, progress=lambda *done: told.append(done)
    )
    assert encoder.texts == ["cat", "s", "dog", "eat"] and told == [
        ("distilling the encoder", 4, 4)
    ]
    assert (
        counting_tokens(tokenizer) == [2, 3, 4, 5]
        and not static.model.embedding[[0, 1, 6]].any()
    )


def test_weights_rise_with_the_rank_and_single_characters_are_ranked_apart() -> None:
    weights = sif_weights(["a", "b", "the", "of", "##s", "cat"])
    first = 1e-4 / (1e-4 + (1 / 2) / (1 / 2 + 1 / 3 + 1 / 4))
    assert weights[0] == weights[2] == pytest.approx(first)
    assert weights[0] < weights[1] < weights[4] and weights[2] < weights[3] < weights[5]
    assert sif_weights([]).shape == (0,)


def test_words_are_by_frequency_then_alphabet_and_scripts_without_spaces_by_character() -> (
    None
):
    tokenizer = word_tokenizer(["b a B c", "\u732b\u732b \u72d7"])
    assert tokenizer.get_vocab() == {
        "[UNK]": 0,
        "b": 1,
        "\u732b": 2,
        "a": 3,
        "c": 4,
        "\u72d7": 5,
    }
    assert tokenizer.encode("A \u732b\u72d7 z").ids == [3, 2, 5, 0]
