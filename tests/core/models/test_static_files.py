"""Folders of static models."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from static_making import ROWS, static_of_rows, tokenizers, words

from structrag.errors import InvalidParameter
from structrag.models.static import StaticEmbedder

safetensors = pytest.importorskip(
    "safetensors.numpy", reason="the extra 'static' is not installed"
)


def test_a_saved_folder_is_in_model2vecs_format_and_replaces_only_its_like(
    tmp_path: Path,
) -> None:
    static = static_of_rows(normalise=False)
    static.save(tmp_path / "new" / "tiny")
    folder = tmp_path / "new" / "tiny"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert np.array_equal(
        safetensors.load_file(folder / "model.safetensors")["embeddings"], ROWS
    )
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
    assert np.array_equal(
        StaticEmbedder.load(tmp_path / "pieces").embed(["cats", "zz"])[1], [0, 0]
    )


def break_file(name: str, content: bytes | None) -> Any:
    def change(folder: Path) -> None:
        (folder / name).unlink() if content is None else (folder / name).write_bytes(
            content
        )

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
        (
            other_tensor({"embeddings": ROWS, "mapping": np.array([0, 1, 2, 7])}),
            "do not fit",
        ),
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


def test_an_empty_folder_is_filled_and_a_failed_save_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    static, folder = static_of_rows(), tmp_path / "tiny"
    folder.mkdir()
    static.save(folder)
    assert StaticEmbedder.load(folder).name == "tiny"

    def half(place: Path, **options: Any) -> None:
        place.mkdir()
        raise OSError("no room")

    monkeypatch.setattr(static.model, "save_pretrained", half)
    with pytest.raises(InvalidParameter, match=r"can be written; .* no room"):
        static.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
    assert StaticEmbedder.load(folder).name == "tiny"
