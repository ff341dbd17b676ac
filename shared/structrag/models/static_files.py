"""Folders of static models in model2vec's format, read and saved."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from structrag.errors import InvalidParameter, require

WEIGHTS = "model.safetensors"


def load_model(model: str | os.PathLike[str]) -> Any:
    """A `model2vec.StaticModel` from a folder or the name of one.

    A name is that of a model downloaded before; nothing is downloaded. Vectors are float32, and no
    text is truncated.

    Raises:
        InvalidParameter: there is no such model, or its files are broken or do not fit together.
        MissingExtra: the package model2vec is not installed.
    """
    package: Any = require("model2vec", extra="static")
    folder = _folder_of(model)
    try:
        static = package.StaticModel.from_pretrained(folder, max_length=None)
        static.embedding = np.asarray(static.embedding, dtype=np.float32)
    except Exception as error:
        raise InvalidParameter(
            f"model must be the folder of a static model in model2vec's format; {str(folder)!r} "
            f"cannot be read: {error}. An encoder goes through StaticEmbedder.distil."
        ) from error
    return static


def save_model(model: Any, folder: str | os.PathLike[str]) -> None:
    """Write the folder beside its place, then move it there.

    A static model there is replaced. Raises InvalidParameter if something else is there, or nothing
    can be written.
    """
    place = Path(folder)
    try:
        empty = not place.exists() or not any(place.iterdir())
        if not empty and not (place / WEIGHTS).is_file():
            raise InvalidParameter(
                f"folder must be new, empty or hold a static model; {str(place)!r} holds "
                "something else."
            )
        aside = place.parent / f".{place.name}-{uuid4().hex}"
        try:
            model.save_pretrained(aside)
            if place.exists():
                shutil.rmtree(place)
            aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise InvalidParameter(
            f"folder must be one that can be written; {str(place)!r} fails: {error}."
        ) from error


def _folder_of(model: str | os.PathLike[str]) -> Path:
    """The folder itself, or where a hub's name was downloaded to."""
    if not isinstance(model, str | os.PathLike):
        raise InvalidParameter(
            f"model must be the folder or the name of a static model; got {type(model).__name__}. "
            "An encoder goes through StaticEmbedder.distil."
        )
    if Path(model).is_dir():
        return Path(model)
    # model2vec would download a name that is not on this machine.
    hub: Any = require("huggingface_hub", extra="static")
    try:
        return Path(hub.snapshot_download(os.fspath(model), local_files_only=True))
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            "model must be a folder or the name of a static model on this machine; there is "
            f"none at {os.fspath(model)!r}, and nothing is downloaded here. Download it first."
        ) from error
