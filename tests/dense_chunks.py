"""Chunks of different density of facts, measured and enriched."""

from __future__ import annotations

import json
from typing import Any

from doubles import HashEmbedder, by_words
from samples import dense_document

from structrag.chunks.enriching.density import (
    DensityFactors,
    DensitySettings,
    density_flow,
)
from structrag.chunks.enriching.enricher import (
    IDMSEnricher,
)
from structrag.chunks.fixed import FixedSplitter
from structrag.model_calls.runner import Runner
from structrag.reading.files import read_text
from structrag.records import Chunk
from structrag.text.tokens import count_tokens

TEXT = (
    "The NASA probe Voyager One left Earth. Voyager One carries a record. NASA built it. "
    "Bread needs flour and water. It rises in an hour. Bake it until brown. "
    "The ESA probe Rosetta met a comet. ESA flew Rosetta for years. It sent back 5 GB of data."
)


def chunks_of(text: str = TEXT, size: int = 27) -> list[Chunk]:
    return FixedSplitter(max_tokens=size, counter=by_words).split(read_text(text))


def measured(
    chunks: list[Chunk], *, llm: Any = None, **choices: Any
) -> list[DensityFactors]:
    runner = Runner(embedder=HashEmbedder(), llm=llm)
    return runner.run(density_flow(chunks, DensitySettings(**choices)))[0]


def enrich(llm: Any = None, **choices: Any) -> list[Chunk]:
    source, chunks = dense_document()
    return IDMSEnricher(**choices).enrich(
        source, chunks, embedder=HashEmbedder(), llm=llm
    )


def check_untouched(
    before: list[Chunk], after: list[Chunk], growth: float = 0.2
) -> None:
    assert [(c.id, c.start, c.end, c.text, c.n_tokens, c.path) for c in before] == [
        (c.id, c.start, c.end, c.text, c.n_tokens, c.path) for c in after
    ]
    for old, new in zip(before, after, strict=True):
        assert count_tokens(new.index_text) <= max(
            (1 + growth) * count_tokens(old.index_text), 1
        )
        json.dumps(dict(new.extras))
