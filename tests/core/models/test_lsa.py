"""LSA: vectors of the corpus it was fitted on, the same after saving and in every process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from structrag.models import LsaEmbedder
from structrag.text.terms import Tokenizer

PARTS, TARGETS, FLUIDS = (
    ("pump", "gear", "motor"),
    ("wheel", "shaft"),
    ("oil", "water", "air"),
)
CORPUS = [
    f"The {a} drives the {b} with {c}." for a in PARTS for b in TARGETS for c in FLUIDS
]


def test_lsa_gives_unit_vectors_and_zeros_for_unknown_words() -> None:
    lsa = LsaEmbedder().fit(CORPUS)
    matrix = lsa.embed([*CORPUS, "unknown words only", "", "the of"])
    assert matrix.dtype == np.float32 and matrix.shape[0] == len(CORPUS) + 3
    assert np.allclose(np.linalg.norm(matrix[:-3], axis=1), 1, atol=1e-5)
    assert not matrix[-3:].any()
    assert lsa.embed([]).shape[0] == 0


@examples
def test_lsa_on_very_few_texts_is_tfidf(texts: list[str]) -> None:
    matrix = LsaEmbedder().fit(texts).embed(texts)
    assert matrix.shape[0] == len(texts) and np.isfinite(matrix).all()
    assert matrix[0] @ matrix[0] == pytest.approx(1, abs=1e-6)
    fitted = LsaEmbedder().fit(texts).fitted
    assert fitted is not None and fitted.term_vectors is None


@pytest.mark.parametrize(
    ("texts", "dimensions", "rank"),
    [
        (["pump gear", "gear oil", "oil"], 256, 2),
        (["pump gear", "gear oil", "oil", "pump"], 256, 2),  # of three terms
        (["pump gear air", "gear oil", "oil", "pump wheel"], 256, 3),  # of four texts
        (CORPUS, 2, 2),
        (CORPUS, 1, None),
        (["pump gear oil", "oil"], 256, None),
        (["pump gear", "gear", "pump"], 256, None),
    ],
)
def test_the_rank_is_below_the_number_of_texts_and_of_terms(
    texts: list[str], dimensions: int, rank: int | None
) -> None:
    fitted = LsaEmbedder(dimensions).fit(texts).fitted
    assert fitted is not None
    if rank is None:
        assert fitted.term_vectors is None
        assert fitted.dimensions == len(fitted.terms)
    else:
        assert fitted.term_vectors is not None and fitted.dimensions == rank


@examples
def test_lsa_without_a_term_gives_zeros(texts: list[str]) -> None:
    lsa = LsaEmbedder().fit(texts)
    assert not lsa.embed(["pump", "gear"]).any() and lsa.embed(["pump"]).shape == (1, 1)


@pytest.mark.slow
def test_lsa_is_equal_in_every_process() -> None:
    code = (
        "import sys, json, hashlib; from structrag.models import LsaEmbedder; t = "
        "json.loads(sys.stdin.read()); "
        "m = LsaEmbedder().fit(t).embed(t); print(hashlib.sha256(m.round(5).tobytes()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(CORPUS),
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
            env={"PYTHONHASHSEED": seed, "PATH": "", "OMP_NUM_THREADS": "1"},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and len(outputs.pop()) == hashlib.sha256().digest_size * 2


@given(texts=st.lists(st.text(max_size=30), max_size=8))
@settings(max_examples=50, deadline=None)
def test_what_is_restored_gives_the_same_vectors(texts: list[str]) -> None:
    fitted = LsaEmbedder(dimensions=4).fit([*texts, "pump gear", "gear oil", "oil"])
    restored = LsaEmbedder(dimensions=4).restored(fitted.arrays())
    assert restored is not None and restored.name == fitted.name
    assert np.array_equal(
        restored.embed([*texts, "oil pump"]), fitted.embed([*texts, "oil pump"])
    )


def test_only_an_embedder_of_the_same_settings_is_restored() -> None:
    arrays = LsaEmbedder(dimensions=4).fit(CORPUS).arrays()
    assert LsaEmbedder(dimensions=4).restored(arrays) is not None
    for other in (LsaEmbedder(dimensions=5), LsaEmbedder(4, Tokenizer("german"))):
        assert other.restored(arrays) is None
    assert LsaEmbedder(4, Tokenizer(stems=True)).restored(arrays) is None
    assert (
        LsaEmbedder(dimensions=4).restored({}) is None and LsaEmbedder().arrays() == {}
    )


def test_vectors_do_not_depend_on_the_threads_of_blas_whose_number_stays() -> None:
    texts = [f"{a} {b} {a}{b}" for a in ascii_lowercase for b in ascii_lowercase]
    fits = []
    for number in (1, 2, 4):
        with threadpool_limits(number, user_api="blas"):
            fits.append(LsaEmbedder().fit(texts).arrays()["term_vectors"])
            assert blas_threads() <= {1, number}
    assert all(np.array_equal(fits[0], fit) for fit in fits)


def blas_threads() -> set[int]:
    return {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    }


@pytest.mark.parametrize("wide", [False, True])
def test_the_vectors_are_singular_vectors_of_tfidf(wide: bool) -> None:
    """The texts hold 20 terms, or each one of its own: fewer or more terms than texts."""
    rng = np.random.default_rng(3)
    words = [chr(ord("a") + i) * 3 for i in range(20)]
    texts = [
        " ".join([*rng.choice(words, 6), f"own{i}" * wide, f"other{i}" * wide])
        for i in range(60)
    ]
    rows = LsaEmbedder(dimensions=1).fit(texts).embed(texts).astype(float)  # TF-IDF
    _, _, exact = np.linalg.svd(rows, full_matrices=False)
    fitted = LsaEmbedder(dimensions=15).fit(texts).fitted
    assert fitted is not None and fitted.term_vectors is not None
    vectors = fitted.term_vectors.T
    assert np.allclose(vectors @ vectors.T, np.eye(15), atol=1e-4)
    assert np.abs(np.sum(vectors[:3] * exact[:3], axis=1)).min() > 0.9
    captured = np.linalg.norm(rows @ vectors.T) / np.linalg.norm(rows @ exact[:15].T)
    assert captured > 0.97
    largest = np.abs(vectors).argmax(axis=1)
    assert (vectors[np.arange(15), largest] > 0).all()


def test_a_fit_to_equal_texts_has_no_direction_beyond_them() -> None:
    texts = ["pump gear oil", "valve water air", "shaft wheel"] * 20
    fitted = LsaEmbedder().fit(texts)
    similarities = fitted.embed(texts) @ fitted.embed(texts).T
    assert np.allclose(similarities, np.kron(np.ones((20, 20)), np.eye(3)), atol=1e-4)
    assert fitted.fitted is not None and fitted.fitted.term_vectors is not None
    assert (np.linalg.norm(fitted.fitted.term_vectors, axis=0) > 1e-3).sum() == 3


@pytest.mark.slow
def test_the_first_search_by_lsa_imports_no_scientific_library() -> None:
    code = """
import sys
from structrag import Index, PICSplitter, read_text
document = read_text("# Pump\\n\\nPumps move. They leak.\\n\\n# Cat\\n\\nCats eat. They sleep.")
index = Index(splitter=PICSplitter(max_tokens=8, min_tokens=2))
index.add([document])
index.search("pumps")
print(sorted(set(sys.modules) & {"scipy", "sklearn", "pandas", "nltk"}))
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert (output.stdout.strip(), output.stderr) == ("[]", "")
