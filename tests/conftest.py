"""Fixtures that several test files share. Nothing here, and no test, reaches a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from places import DATA

for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ[_name] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
settings.register_profile("without_a_clock", deadline=None)  # a busy machine is no failure
settings.load_profile("without_a_clock")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of evaluation data, which is no part of the project: STRUCTRAG_DATA, or
    ../shared/data beside the checkout."""
    folder = DATA
    if not folder.is_dir():
        pytest.skip(f"no evaluation data at {folder}; set STRUCTRAG_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def minilm() -> Any:
    """all-MiniLM-L6-v2 from the development extra, loaded once."""
    pytest.importorskip("sentence_transformers", reason="the extra 'models' is not installed")
    from structrag.errors import MissingExtra
    from structrag.models import bundled

    try:
        return bundled.minilm()
    except MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.fixture
def embedder() -> Any:
    """A fresh HashEmbedder."""
    from doubles import HashEmbedder

    return HashEmbedder()
