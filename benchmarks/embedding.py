"""What faster ways to run one encoder cost, and how far their vectors and hits agree.

    python benchmarks/embedding.py [--chunks 300] [--questions 60]

all-MiniLM-L6-v2 by sentence-transformers' own backends: PyTorch in float32, which is what a name or
folder gives, in bfloat16, ONNX Runtime, and OpenVINO in float32 and bfloat16, one thread each. Each
embeds the same chunks in turns of 50, so that a busy machine slows all alike; times are the
processor's. Then each finds the ten nearest chunks of the same questions, with its own vectors for
both. ONNX and OpenVINO need sentence-transformers 5 today, in an environment of its own:
`pip install 'sentence-transformers[onnx,openvino]<6'`. What is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.question_sets import load_or_exit
from structrag import ContentAwareSplitter, SentenceTransformerEmbedder
from structrag.models.bundled import minilm_path

RESULTS = Path(__file__).resolve().parent / "results" / "embedding.md"
SETS = ("covid_qa", "cuad", "qasper")
TURN = 50  # chunks that one embeds before the next does
NEAREST = 10
PACKAGES = ("sentence-transformers", "transformers", "torch", "onnxruntime", "openvino")
INSTRUCTIONS = ("avx512f", "avx512_bf16", "amx_bf16")

Vectors = NDArray[np.float64]


def main() -> int:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=300, help="of each set")
    parser.add_argument("--questions", type=int, default=60, help="of each set")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chunks, questions = sampled(options.chunks, options.questions)
    embedders, absent = loaded()
    seconds = dict.fromkeys(embedders, 0.0)
    parts: dict[str, list[Vectors]] = {name: [] for name in embedders}
    for first in range(0, len(chunks), TURN):
        for name, embedder in embedders.items():
            began = time.process_time()
            parts[name].append(unit(embedder.embed(chunks[first : first + TURN])))
            seconds[name] += time.process_time() - began
        print(f"{first + TURN} of {len(chunks)} chunks", file=sys.stderr, flush=True)
    vectors = {name: np.concatenate(of_chunks) for name, of_chunks in parts.items()}
    hits = {
        name: nearest(unit(embedder.embed(questions, query=True)), vectors[name])
        for name, embedder in embedders.items()
    }
    plain = next(iter(embedders))
    rows = [
        f"| {name} | {seconds[name] / len(chunks) * 1000:.1f} "
        f"| {seconds[name] / seconds[plain]:.2f} "
        f"| {agreement(vectors[name], vectors[plain])} | {overlap(hits[name], hits[plain])} |"
        for name in embedders
    ]
    page = "\n".join(
        [
            "# Faster ways to run one encoder",
            "",
            "Measured by `python benchmarks/embedding.py`.",
            "",
            f"- machine: {machine_line()}; of {', '.join(INSTRUCTIONS)} it has {instructions()}",
            f"- {versions_line(PACKAGES)}",
            f"- all-MiniLM-L6-v2, one thread, batches of {embedders[plain].batch_size}",
            f"- {corpus_line('chunks of ' + ', '.join(SETS), chunks)}; {len(questions)} questions",
            *(f"- left out: {sentence}" for sentence in absent),
            "",
            "| | CPU ms a chunk | of float32 | cosine with float32, mean and least "
            f"| of the {NEAREST} nearest chunks of float32, with 95 % |",
            "| --- | ---: | ---: | ---: | ---: |",
            *rows,
            "",
        ]
    )
    print(page)
    save(options.results, page, __file__)
    return 0


def sampled(n_chunks: int, n_questions: int) -> tuple[list[str], list[str]]:
    """Chunks of the first documents of each set, and questions about these."""
    splitter = ContentAwareSplitter(max_tokens=300)
    chunks: list[str] = []
    questions: list[str] = []
    for name in SETS:
        dataset = load_or_exit(name)
        of_set: list[str] = []
        ids = set()
        for document in dataset.documents:
            if len(of_set) >= n_chunks:
                break
            ids.add(document.id)
            of_set += [chunk.index_text for chunk in splitter.split(document)]
        about = [
            q.question for q in dataset.questions if q.gold and q.gold[0][0] in ids
        ]
        chunks += of_set[:n_chunks]
        questions += list(dict.fromkeys(about))[:n_questions]
    return chunks, questions


def loaded() -> tuple[dict[str, SentenceTransformerEmbedder], list[str]]:
    """The encoder in each way that is installed, float32 first, and sentences about the others."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)

    def onnx() -> dict[str, Any]:
        import onnxruntime

        one_thread = onnxruntime.SessionOptions()
        one_thread.intra_op_num_threads = one_thread.inter_op_num_threads = 1
        return {"backend": "onnx", "model_kwargs": {"session_options": one_thread}}

    def openvino(precision: str) -> dict[str, Any]:
        config = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": "1"}
        return {"backend": "openvino", "model_kwargs": {"ov_config": config}}

    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "PyTorch, float32": dict,
        "PyTorch, bfloat16": lambda: {"model_kwargs": {"dtype": torch.bfloat16}},
        "ONNX Runtime, float32": onnx,
        "OpenVINO, float32": lambda: openvino("f32"),
        "OpenVINO, bfloat16": lambda: openvino("bf16"),
    }
    embedders: dict[str, SentenceTransformerEmbedder] = {}
    absent = []
    for name, options in ways.items():
        try:
            model = SentenceTransformer(str(minilm_path()), device="cpu", **options())
        except Exception as error:  # noqa: BLE001 - of whatever package is not there
            absent.append(f"{name} ({str(error).splitlines()[0]})")
            continue
        embedders[name] = SentenceTransformerEmbedder(model)
        embedders[name].embed(["The first text takes longer."] * 20)
    names = [embedder.name for embedder in embedders.values()]
    assert len(set(names)) == len(names), "two ways have one name"
    return embedders, absent


def unit(vectors: Any) -> Vectors:
    """The vectors in float64, of length 1."""
    matrix: Vectors = np.asarray(vectors, dtype=np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def nearest(questions: Vectors, chunks: Vectors) -> NDArray[np.int64]:
    """The chunks nearest to each question."""
    return np.argsort(-questions @ chunks.T, axis=1, kind="stable")[:, :NEAREST]


def agreement(vectors: Vectors, plain: Vectors) -> str:
    """Cosines of the same chunks' vectors."""
    cosines = np.sum(vectors * plain, axis=1)
    return f"{cosines.mean():.5f}, {cosines.min():.5f}"


def overlap(hits: NDArray[np.int64], plain: NDArray[np.int64]) -> str:
    """The share of hits in common, with the central 95 % of 1,000 samples of the questions."""
    shares = np.array(
        [len(set(a) & set(b)) / NEAREST for a, b in zip(hits, plain, strict=True)]
    )
    drawn = np.random.default_rng(0).integers(len(shares), size=(1000, len(shares)))
    low, high = np.quantile(shares[drawn].mean(axis=1), (0.025, 0.975))
    return f"{shares.mean():.3f} [{low:.3f}, {high:.3f}]"


def instructions() -> str:
    """Those of this processor that make 16 bits fast, where the system tells."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return "unknown"
    return ", ".join(name for name in INSTRUCTIONS if name in flags) or "none"


if __name__ == "__main__":
    raise SystemExit(main())
