"""Models by their names, which are looked for on this machine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from structrag.errors import InvalidParameter
from structrag.models.loading import load_local, load_pair


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


def test_several_gguf_files_must_be_chosen_from(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    for name in ("q4.gguf", "q8.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(
        InvalidParameter, match=r"holds 'q4.gguf', 'q8.gguf'. Pass the path of one"
    ):
        load_pair(str(tmp_path), None, "AutoModelForCausalLM", "a model")


def test_what_is_there_and_cannot_be_loaded_is_not_to_be_downloaded(
    tmp_path: Path,
) -> None:
    def load(name: str, **options: Any) -> None:
        raise OSError("no file named model.safetensors")

    with pytest.raises(
        InvalidParameter, match=r"exists but cannot be loaded: no file named"
    ):
        load_local("model", load, str(tmp_path), "a summariser")
