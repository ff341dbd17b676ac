"""Static vectors: the worked mean, model2vec's folder format, broken folders, vocabularies and
weights."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

model2vec = pytest.importorskip("model2vec", reason="the extra 'static' is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra 'static' is not installed")
safetensors = pytest.importorskip("safetensors.numpy", reason="the extra 'static' is not installed")

from structrag.errors import InvalidAnswer, InvalidParameter  # noqa: E402
from structrag.models.distilling import (  # noqa: E402
    counting_tokens,
    default_folder,
    reduce,
    sif_weights,
    word_tokenizer,
)
from structrag.models.embedders import FunctionEmbedder, LsaEmbedder  # noqa: E402
from structrag.models.static import StaticEmbedder  # noqa: E402

WORDS = ["[UNK]", "cats", "dogs", "eat"]
ROWS = np.array([[0, 0], [3, 0], [0, 4], [2, 2]], dtype=np.float32)
SAMPLES = [
    "Cats eat fish and dogs eat bones.",
    "The engine of the car needs oil, the car needs fuel.",
    "Cats and dogs sleep.",
]


def words(vocabulary: list[str] = WORDS, unknown: str = "[UNK]") -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(
            {word: i for i, word in enumerate(vocabulary)}, unk_token=unknown
        )
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


def static_of_rows(
    rows: Any = ROWS, tokenizer: Any = None, name: str = "tiny", *, normalise: bool = True
) -> StaticEmbedder:
    tokenizer = words() if tokenizer is None else tokenizer
    return StaticEmbedder(model2vec.StaticModel(rows, tokenizer, normalize=normalise), name)


def test_a_vector_is_the_scaled_mean_of_its_tokens() -> None:
    static = static_of_rows()
    found = static.embed(["cats", "cats eat", "dogs dogs dogs", "", "???", "cats ???"])
    expected = [[1, 0], np.array([5, 2]) / np.sqrt(29), [0, 1], [0, 0], [0, 0], [1, 0]]
    assert found.dtype == np.float32 and np.allclose(found, expected, atol=1e-6)
    plain = static_of_rows(normalise=False)
    assert np.allclose(plain.embed(["cats eat", "cats ???", "?"]), [[2.5, 1], [3, 0], [0, 0]])
    assert static.embed([]).shape == (0, 2) and static.dimension == 2 and static.max_tokens is None
    assert np.array_equal(asyncio.run(static.aembed(["cats"], query=True)), static.embed(["cats"]))


def test_nothing_is_padded_or_cut_and_the_callers_tokenizer_is_left_alone() -> None:
    tokenizer = words()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9, pad_id=1, pad_token="cats")
    found = static_of_rows(ROWS, tokenizer).embed(["dogs " * 50 + "cats", "dogs"])
    assert np.allclose(found, [np.array([3, 200]) / np.hypot(3, 200), [0, 1]])
    assert tokenizer.truncation["max_length"] == 2 and tokenizer.padding["length"] == 9


@given(st.lists(st.text(), max_size=6))
def test_any_text_gets_a_unit_vector_or_zeros_alone_or_beside_others(texts: list[str]) -> None:
    static = static_of_rows()
    texts = [*texts, "\ud800 cats"]
    found = static.embed(texts)
    sizes = np.linalg.norm(found, axis=1)
    assert np.all(np.isclose(sizes, 1, atol=1e-5) | (sizes == 0)) and sizes[-1] > 0
    assert np.array_equal(found, np.concatenate([static.embed([text]) for text in texts]))


def test_what_does_not_fit_is_said() -> None:
    for rows, match in ((ROWS * np.nan, "finite"), (np.zeros((4, 0)), "not empty")):
        with pytest.raises(InvalidParameter, match=match):
            static_of_rows(rows)
    with pytest.raises(InvalidParameter, match="must be a model2vec.StaticModel; got str"):
        StaticEmbedder("tiny")
    with pytest.raises(InvalidParameter, match="name must be"):
        static_of_rows(name=3)  # type: ignore[arg-type]


def test_a_model_without_a_name_goes_by_its_vectors() -> None:
    assert static_of_rows(name="").name == static_of_rows(name="").name != "tiny"
    assert static_of_rows(name="").name != static_of_rows(ROWS * 2, name="").name


def test_a_saved_folder_is_in_model2vecs_format_and_replaces_only_its_like(tmp_path: Path) -> None:
    static = static_of_rows(normalise=False)
    static.save(tmp_path / "new" / "tiny")
    folder = tmp_path / "new" / "tiny"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert np.array_equal(safetensors.load_file(folder / "model.safetensors")["embeddings"], ROWS)
    assert json.loads((folder / "config.json").read_text())["normalize"] is False
    again = StaticEmbedder.load(folder)
    texts = ["cats eat dogs", "eat", "none"]
    assert (
        again.name == "tiny"
        and not again.model.normalize
        and np.array_equal(again.embed(texts), static.embed(texts))
    )
    static_of_rows(ROWS * 2, name="double").save(str(folder))
    assert (
        StaticEmbedder.load(str(folder)).name == "double"
        and len(list(folder.parent.iterdir())) == 1
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_text("mine")
    with pytest.raises(InvalidParameter, match="holds something else"):
        static.save(tmp_path / "other")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidParameter, match="can be written"):
        static.save(tmp_path / "file" / "inside")
    pickled = pickle.loads(pickle.dumps(static))
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
    tensors["weights"] = tensors["weights"] * 2
    safetensors.save_file(tensors, tmp_path / "model.safetensors")
    assert StaticEmbedder.load(tmp_path).name != static.name
    assert StaticEmbedder.load(tmp_path, name="mine").name == "mine"


def test_a_unigram_model_names_its_unknown_by_number(tmp_path: Path) -> None:
    pieces = tokenizers.Tokenizer(
        tokenizers.models.Unigram([("<unk>", 0.0), ("cats", -1.0)], unk_id=0)
    )
    static_of_rows(np.ones((2, 2)), pieces, "pieces").save(tmp_path / "pieces")
    assert np.array_equal(StaticEmbedder.load(tmp_path / "pieces").embed(["cats", "zz"])[1], [0, 0])


def break_file(name: str, content: bytes | None) -> Any:
    def change(folder: Path) -> None:
        (folder / name).unlink() if content is None else (folder / name).write_bytes(content)

    return change


def other_tensor(tensors: dict[str, Any]) -> Any:
    return lambda folder: safetensors.save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (break_file("model.safetensors", None), "Could not find"),
        (break_file("tokenizer.json", None), "Could not find"),
        (break_file("model.safetensors", b"\x00" * 20), "cannot be read"),
        (break_file("tokenizer.json", b"{"), "cannot be read"),
        (break_file("config.json", b"{"), "cannot be read"),
        (break_file("config.json", b"[1]"), "cannot be read"),
        (other_tensor({"weight": ROWS}), "embeddings"),
        (other_tensor({"embeddings": ROWS[0]}), "does not match"),
        (other_tensor({"embeddings": ROWS[:2]}), "does not match"),
        (other_tensor({"embeddings": ROWS, "mapping": np.array([7])}), "do not fit"),
        (other_tensor({"embeddings": ROWS, "mapping": np.array([0, 1, 2, 7])}), "do not fit"),
        (other_tensor({"embeddings": ROWS, "weights": np.ones(3)}), "do not fit"),
    ],
)
def test_a_broken_folder_is_named(tmp_path: Path, change: Any, match: str) -> None:
    static_of_rows().save(tmp_path / "tiny")
    change(tmp_path / "tiny")
    with pytest.raises(InvalidParameter, match=match):
        StaticEmbedder.load(tmp_path / "tiny")


def test_a_name_that_is_not_on_this_machine_or_no_name_at_all() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(InvalidParameter, match="nothing is downloaded"):
        StaticEmbedder.load("nobody/has-this-static-model")
    with pytest.raises(InvalidParameter, match="nothing is downloaded"):
        StaticEmbedder.load("not a name")
    with pytest.raises(InvalidParameter, match="got HashEmbedder"):
        StaticEmbedder.load(HashEmbedder())  # type: ignore[arg-type]


def test_words_of_samples_are_the_vocabulary_of_an_encoder_without_a_tokenizer() -> None:
    encoder = HashEmbedder(64)
    static = StaticEmbedder.distil(encoder, texts=SAMPLES, dimensions=8, cache=False)
    assert static.dimension == 8 and encoder.texts[:3] == [".", "the", "and"]
    assert sorted(encoder.texts) == sorted(set(encoder.texts)) and "fish" in encoder.texts
    one, two, none = static.embed(["The CAR needs fuel", "the car needs oil", "Zyx"])
    assert one @ two > 0.5 and not none.any()
    again = StaticEmbedder.distil(HashEmbedder(64), texts=SAMPLES, dimensions=8, cache=False)
    assert (
        np.array_equal(again.model.embedding, static.model.embedding) and again.name == static.name
    )
    other = StaticEmbedder.distil(
        HashEmbedder(64, name="other"), texts=SAMPLES, dimensions=8, cache=False
    )
    assert other.name != static.name


def test_a_given_tokenizers_tokens_are_embedded_as_they_are_written() -> None:
    encoder = HashEmbedder()
    tokenizer = words(["[UNK]", "[unused1]", "cat", "##s", "\u2581dog", "\u0120eat", "<s>"])
    tokenizer.add_special_tokens(["<s>"])
    told: list[tuple[str, int, int]] = []
    static = StaticEmbedder.distil(
        encoder, tokenizer, cache=False, progress=lambda *done: told.append(done)
    )
    assert encoder.texts == ["cat", "s", "dog", "eat"] and told == [
        ("distilling the encoder", 4, 4)
    ]
    assert (
        counting_tokens(tokenizer) == [2, 3, 4, 5] and not static.model.embedding[[0, 1, 6]].any()
    )


def test_it_is_made_once_and_kept_and_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    def distil(encoder: Any, **options: Any) -> StaticEmbedder:
        return StaticEmbedder.distil(encoder, texts=SAMPLES, cache=tmp_path, **options)

    first = distil(HashEmbedder())
    unused = HashEmbedder()
    assert (
        np.array_equal(distil(unused).model.embedding, first.model.embedding) and not unused.texts
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
    assert StaticEmbedder.load(folder).name == first.name and not list(tmp_path.rglob(".*"))


def test_a_cache_that_cannot_be_written_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="not kept"):
        static = StaticEmbedder.distil(HashEmbedder(), texts=SAMPLES, cache=tmp_path / "file")
    assert static.embed(["cats"]).any()


@pytest.mark.parametrize(
    ("encoder", "options", "error", "match"),
    [
        (None, {}, InvalidParameter, "encoder must be a model"),
        (LsaEmbedder(), {}, InvalidParameter, "change with the texts"),
        (HashEmbedder(), {}, InvalidParameter, "tokenizer must be given"),
        (HashEmbedder(), {"texts": []}, InvalidParameter, "tokenizer must be given"),
        (HashEmbedder(), {"texts": ["one"]}, InvalidParameter, "2 different words; got 1"),
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
    wide = (generator.standard_normal((400, 100)) * np.linspace(10, 1, 100)).astype(np.float32)
    assert np.allclose(reduce(wide, 5), reduce(wide, 99)[:, :5]) and reduce(wide, 99).shape == (
        400,
        98,
    )


def test_weights_rise_with_the_rank_and_single_characters_are_ranked_apart() -> None:
    weights = sif_weights(["a", "b", "the", "of", "##s", "cat"])
    first = 1e-4 / (1e-4 + (1 / 2) / (1 / 2 + 1 / 3 + 1 / 4))
    assert weights[0] == weights[2] == pytest.approx(first)
    assert weights[0] < weights[1] < weights[4] and weights[2] < weights[3] < weights[5]
    assert sif_weights([]).shape == (0,)


def test_words_are_by_frequency_then_alphabet_and_scripts_without_spaces_by_character() -> None:
    tokenizer = word_tokenizer(["b a B c", "\u732b\u732b \u72d7"])
    assert tokenizer.get_vocab() == {"[UNK]": 0, "b": 1, "\u732b": 2, "a": 3, "c": 4, "\u72d7": 5}
    assert tokenizer.encode("A \u732b\u72d7 z").ids == [3, 2, 5, 0]
