"""Models by their names, which are looked for on this machine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from structrag.errors import InvalidParameter
from structrag.models.loading import load_local, load_pair


def test_a_name_is_looked_for_on_this_machine() -> None:
    def load(name: str, **options: Any) -> tuple[str, dict[str, Any]]:
        return name, options

    assert load_local("model", load, "a/name", "a summariser") == (
        "a/name",
        {"local_files_only": True},
    )


@pytest.mark.parametrize("error", [OSError, ValueError, KeyError])
def test_what_cannot_be_loaded_is_named(error: type[Exception]) -> None:
    def load(name: str, **options: Any) -> None:
        raise error("no such file")

    with pytest.raises(InvalidParameter) as raised:
        load_local("model", load, "a/name", "a summariser")
    assert str(raised.value) == (
        "model must be a folder or the name of a summariser on this machine; 'a/name' cannot be "
        "loaded, and nothing is downloaded here. Download it first, or pass a loaded one."
    )
    assert isinstance(raised.value.__cause__, error)


def test_objects_stay_as_they_are() -> None:
    model, tokenizer = object(), object()
    assert load_pair(model, tokenizer, "AutoModel", "a model") == (model, tokenizer)
    with pytest.raises(InvalidParameter, match="tokenizer must be given"):
        load_pair(model, None, "AutoModel", "a model")


def test_what_is_there_and_cannot_be_loaded_is_not_to_be_downloaded(
    tmp_path: Path,
) -> None:
    def load(name: str, **options: Any) -> None:
        raise OSError("no file named model.safetensors")

    with pytest.raises(
        InvalidParameter, match=r"is there and cannot be loaded: no file named"
    ):
        load_local("model", load, str(tmp_path), "a summariser")


class Loader:
    """A loader of transformers that tells what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def from_pretrained(self, name: str, **options: Any) -> Any:
        self.asked.append((name, options))
        return self

    def eval(self) -> Any:
        return self


@pytest.mark.parametrize("is_file", [True, False])
def test_a_gguf_file_or_the_folder_of_one_is_loaded(
    is_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("transformers")
    for package in ("gguf", "accelerate"):
        pytest.importorskip(package, reason="the extra 'gguf' is not installed")
    models, tokenizers = Loader(), Loader()
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", models)
    monkeypatch.setattr(transformers, "AutoTokenizer", tokenizers)
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    pair = load_pair(
        str(file if is_file else tmp_path), None, "AutoModelForCausalLM", "a model"
    )
    assert pair == (models, tokenizers)
    expected = (str(tmp_path), {"local_files_only": True, "gguf_file": "small.gguf"})
    assert models.asked == tokenizers.asked == [expected]


def test_several_gguf_files_must_be_chosen_from(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    for name in ("q4.gguf", "q8.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(
        InvalidParameter, match=r"holds 'q4.gguf', 'q8.gguf'. Pass the path of one"
    ):
        load_pair(str(tmp_path), None, "AutoModelForCausalLM", "a model")


def test_a_folder_with_a_configuration_is_no_folder_of_a_gguf_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("transformers")
    models, tokenizers = Loader(), Loader()
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", models)
    monkeypatch.setattr(transformers, "AutoTokenizer", tokenizers)
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    (tmp_path / "config.json").write_text("{}")
    absent = str(tmp_path / "absent.gguf")
    for name in (str(tmp_path), absent, "some/model"):
        load_pair(name, None, "AutoModelForCausalLM", "a model")
    load_pair("a/model", "a/tokenizer", "AutoModelForCausalLM", "a model")
    names = [str(tmp_path), absent, "some/model"]
    here = {"local_files_only": True}
    assert models.asked == [(name, here) for name in [*names, "a/model"]]
    assert tokenizers.asked == [(name, here) for name in [*names, "a/tokenizer"]]


def test_the_ending_of_a_gguf_file_may_be_written_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("transformers")
    for package in ("gguf", "accelerate"):
        pytest.importorskip(package, reason="the extra 'gguf' is not installed")
    loader = Loader()
    monkeypatch.setattr(transformers, "AutoTokenizer", loader)
    (tmp_path / "SMALL.GGUF").write_bytes(b"GGUF")
    (tmp_path / "config.json").write_text("{}")  # the file stands for itself
    load_pair(None, str(tmp_path / "SMALL.GGUF"), "AutoModel", "a model")
    ((name, options),) = loader.asked
    assert name == str(tmp_path) and options["gguf_file"] == "SMALL.GGUF"
