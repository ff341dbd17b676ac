"""Static vectors made of an encoder's."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from small_models import words_tokenizer
from static_making import tokenizers, words

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.models.distilling import (
    counting_tokens,
    default_folder,
    distil,
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
    with pytest.warns(UserWarning, match="not kept") as warned:
        static = StaticEmbedder.distil(
            HashEmbedder(), texts=SAMPLES, cache=tmp_path / "file"
        )
    assert warned[0].filename == __file__  # the caller's line
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


def test_the_words_of_marks_are_no_token_for_unknown_words() -> None:
    tokenizer = word_tokenizer(["[UNK] m\u00fcller"])
    assert tokenizer.get_vocab() == {
        "[UNK]": 0, "[": 1, "]": 2, "m\u00fcller": 3, "unk": 4
    }  # fmt: skip


def test_a_vocabulary_of_samples_has_at_most_thirty_thousand_words() -> None:
    texts = [" ".join(f"w{i}" for i in range(30_001)), "w30000 w5"]
    vocabulary = word_tokenizer(texts).get_vocab()
    assert len(vocabulary) == 1 + 30_000
    assert (vocabulary["w30000"], vocabulary["w5"], vocabulary["w0"]) == (1, 2, 3)
    assert "w9998" in vocabulary and "w9999" not in vocabulary


def test_progress_is_told_every_1024_tokens() -> None:
    steps: list[tuple[str, int, int]] = []
    texts = [" ".join(f"w{i}" for i in range(1025))]
    distil(
        HashEmbedder(), texts=texts, cache=False, progress=lambda *s: steps.append(s)
    )
    assert [step[1:] for step in steps] == [(1024, 1025), (1025, 1025)]


@examples
def test_two_percent_of_the_axes_are_left_out_and_one_percent_of_the_tokens_at_most(
    n: int, width: int, kept: int
) -> None:
    vectors = np.random.default_rng(0).standard_normal((n, width)).astype(np.float32)
    assert reduce(vectors, 1000).shape == (n, kept)
    assert reduce(vectors, kept - 1).shape == (n, kept - 1)


def test_the_largest_part_of_an_axis_is_positive() -> None:
    rows = np.array([[-3, 0.5], [3, -0.5], [0, 0], [0, 0]], dtype=np.float32)
    reduced = reduce(rows + 5, 1)
    length = (9 + 0.25) ** 0.5
    assert reduced[:, 0].tolist() == pytest.approx([-length, length, 0, 0], abs=1e-5)


def test_the_second_token_weighs_by_the_second_frequency() -> None:
    total = 1 / 2 + 1 / 3 + 1 / 4
    frequencies = np.array([1 / 2, 1 / 3, 1 / 4]) / total
    assert sif_weights(["the", "of", "cats"]) == pytest.approx(
        1e-4 / (1e-4 + frequencies)
    )


def test_vectors_have_the_length_one() -> None:
    static = StaticEmbedder.distil(HashEmbedder(), texts=SAMPLES, cache=False)
    vectors = static.embed(["cats eat fish", "oil"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_two_words_and_two_dimensions_will_do() -> None:
    static = StaticEmbedder.distil(
        HashEmbedder(), texts=["one two"], dimensions=2, cache=False
    )
    assert static.dimension == 2 and static.embed(["one"]).any()


def test_the_default_folder_is_used_unless_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRUCTRAG_CACHE", str(tmp_path))
    encoder = HashEmbedder(name="\u00e9/" + "x" * 80)
    StaticEmbedder.distil(encoder, texts=SAMPLES, cache=False)
    assert not list(tmp_path.iterdir())
    static = StaticEmbedder(distil(encoder, texts=SAMPLES))
    (folder,) = (tmp_path / "static").iterdir()
    # 60 characters of the name, 24 of the key
    assert re.fullmatch(r"e-x{58}-[0-9a-f]{24}", folder.name)
    key = folder.name.rpartition("-")[2]
    assert static.name == f"static({encoder.name}, 256, {key[:12]})"


def test_a_name_without_letters_still_has_a_folder(tmp_path: Path) -> None:
    distil(HashEmbedder(name="\u732b"), texts=SAMPLES, cache=tmp_path)
    (folder,) = (tmp_path / "static").iterdir()
    assert re.fullmatch(r"encoder-[0-9a-f]{24}", folder.name)


def test_a_vocabulary_may_leave_numbers_out() -> None:
    numbers = {"[UNK]": 0, "cats": 2, "dogs": 7}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(numbers, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    static = StaticEmbedder.distil(HashEmbedder(), tokenizer, cache=False)
    assert static.model.embedding.shape[0] == 8
    cats, dogs, unknown = static.embed(["cats", "dogs", "fish"])
    assert cats.any() and dogs.any() and not unknown.any()
    assert not np.allclose(cats, dogs)


def test_words_that_were_added_to_a_tokenizer_count() -> None:
    tokenizer = words(["[UNK]", "cats"])
    tokenizer.add_tokens(["a mouse"])
    assert counting_tokens(tokenizer) == [1, 2]
    encoder = HashEmbedder()
    distil(encoder, tokenizer, cache=False)
    assert encoder.texts == ["cats", "a mouse"]


def test_the_token_for_unknown_words_is_that_of_any_model() -> None:
    pieces = [("a", -1.0), ("<unk>", 0.0), ("b", -2.0)]
    unigram = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=1))
    assert counting_tokens(unigram) == [0, 2]
    complete = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1}, []))
    assert counting_tokens(complete) == [0, 1]


class Network:
    """A sentence-transformers model: how often each token stands in a row."""

    device = "cpu"

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.rows: list[list[int]] = []

    def eval(self) -> Network:
        return self

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        torch = pytest.importorskip("torch")
        ids = features["input_ids"]
        assert features["attention_mask"].tolist() == [[1] * ids.shape[1]] * len(ids)
        self.rows += ids.tolist()
        return {"sentence_embedding": torch.nn.functional.one_hot(ids, 8).sum(1)}


SURROUNDED = ["<unk>", "<s>", "</s>", "a", "cats", "dogs", "eat", "sleep"]


def test_tokens_of_an_encoders_own_stand_between_the_marks_of_a_text() -> None:
    pytest.importorskip("transformers")
    tokenizer = words_tokenizer(
        SURROUNDED, "<s> $A </s> </s>", bos_token="<s>", eos_token="</s>"
    )
    encoder = SimpleNamespace(name="network", embed=None, model=Network(tokenizer))
    static = StaticEmbedder.distil(encoder, cache=False)
    assert encoder.model.rows == [[1, i, 2, 2] for i in range(3, 8)]
    assert static.model.embedding[3:].any(axis=1).all()
    assert not static.model.embedding[:3].any()


def test_a_tokenizer_beside_an_encoder_with_its_own_is_read_as_text() -> None:
    pytest.importorskip("transformers")
    encoder = HashEmbedder()
    encoder.model = Network(words_tokenizer(SURROUNDED))  # type: ignore[attr-defined]
    distil(encoder, words(["[UNK]", "cats", "dogs"]), cache=False)
    assert encoder.texts == ["cats", "dogs"] and not encoder.model.rows  # type: ignore[attr-defined]
