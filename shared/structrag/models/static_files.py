"""Folders of static models in model2vec's format: what is read from each file, and what is said of
a broken one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from structrag.asking.requests import Array
from structrag.errors import InvalidParameter, require

WEIGHTS, TOKENIZER, CONFIG = "model.safetensors", "tokenizer.json", "config.json"
TABLES = (
    "embeddings",
    "embedding.weight",
)  # model2vec's name of the tensor, and that of sentence-transformers


def folder_of(model: str | os.PathLike[str]) -> Path:
    """The folder of a static model: itself, or where a name of the Hugging Face hub was downloaded
    to. Nothing is downloaded.

    Raises:
        InvalidParameter: it is no such folder or name, or one without weights or tokenizer.
        MissingExtra: a name, and huggingface_hub is not installed.
    """
    if not isinstance(model, str | os.PathLike):
        raise InvalidParameter(
            f"model must be the folder or the name of a static model; got {type(model).__name__}. "
            "An encoder goes through "
            "StaticEmbedder.distil."
        )
    folder = Path(model)
    if not folder.is_dir():
        package: Any = require("huggingface_hub", extra="models")
        try:
            folder = Path(package.snapshot_download(os.fspath(model), local_files_only=True))
        except (OSError, ValueError) as error:
            raise InvalidParameter(
                "model must be a folder or the name of a static model on this machine; there is "
                f"none at {os.fspath(model)!r}, and "
                "nothing is downloaded here. Download it first."
            ) from error
    missing = [name for name in (WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise InvalidParameter(
            f"model must be a folder in model2vec's format; {str(folder)!r} has no "
            f"{' and no '.join(missing)}."
        )
    return folder


def read_vectors(file: Path) -> Array:
    """The rows of the tokens: those of a table, or of a smaller table that `mapping` points into,
    times `weights`.

    Shape (tokens, dimension), float32. Raises InvalidParameter for a broken file and for tensors of
    another kind of model.
    """
    package: Any = require("safetensors.numpy", extra="models")
    try:
        tensors: Mapping[str, Any] = package.load_file(file)
    except Exception as error:
        raise InvalidParameter(
            f"model must be a folder with whole files; {str(file)!r} is broken: {error}."
        ) from error
    table = next((tensors[name] for name in TABLES if name in tensors), None)
    if table is None:
        raise InvalidParameter(
            f"model must be a static model; {str(file)!r} has no tensor 'embeddings'. An encoder "
            "goes through StaticEmbedder.distil."
        )
    try:
        vectors = np.array(table, dtype=np.float32)
        if "mapping" in tensors:
            vectors = vectors[np.asarray(tensors["mapping"], dtype=np.int64)]
        if "weights" in tensors:
            vectors *= np.asarray(tensors["weights"], dtype=np.float32)[:, None]
    except (IndexError, ValueError) as error:
        raise InvalidParameter(
            f"model must be a static model; the tensors of {str(file)!r} do not fit: {error}."
        ) from error
    return vectors


def read_tokenizer(file: Path) -> Any:
    """The `tokenizers.Tokenizer` of a file. Raises InvalidParameter for a broken one."""
    package: Any = require("tokenizers", extra="models")
    try:
        tokenizer = package.Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:
        raise InvalidParameter(
            f"model must be a folder with whole files; {str(file)!r} is broken: {error}."
        ) from error
    return tokenizer


def read_config(file: Path) -> dict[str, Any]:
    """The settings of a model; {} where there is no such file. Raises InvalidParameter for what is
    no JSON object."""
    try:
        config = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            f"model must be a folder with whole files; {str(file)!r} is broken: {error}."
        ) from error
    if not isinstance(config, dict):
        raise InvalidParameter(
            f"model must be a folder with whole files; {str(file)!r} is no JSON object."
        )
    return config
