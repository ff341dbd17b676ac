"""Look-alike documents: what the path of titles is worth (spec, section 8)."""

from __future__ import annotations

import random

import pytest

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.evaluation import log_rank_index, macro_mean, mid_ranks
from structrag.index.lexical import LexicalIndex
from structrag.reading.files import read_text
from structrag.records import Chunk, Document

TEMPLATES = {
    "Features": "It offers {0} programs. The display shows {1} lines.",
    "Battery": "The battery lasts {0} hours. It charges in {1} minutes.",
    "Camera": "The camera has {0} megapixels and {1} lenses.",
    "Safety": "Keep it {0} centimetres from water.",
    "Warranty": "The warranty runs {0} months after purchase.",
    "Dimensions": "It measures {0} by {1} millimetres.",
}
ASKED = ("Battery", "Camera", "Warranty", "Dimensions")
PRODUCTS = [f"Nova {'ABCDE'[i % 5]}{10 + i}" for i in range(20)]


def manual(product: str, numbers: random.Random) -> Document:
    sections = [
        f"## {title}\n\n{template.format(numbers.randint(200, 999), numbers.randint(200, 999))}\n"
        for title, template in TEMPLATES.items()
    ]
    return read_text(f"# {product}\n\n" + "\n".join(sections), format="markdown")


def scores(metadata: str) -> tuple[float, float]:
    """Hit at 1 and Log-Rank Index, by mid-ranks among all 120 segments."""
    numbers = random.Random(7)
    splitter = HiQASplitter(metadata=metadata)
    chunks: list[Chunk] = [
        chunk for product in PRODUCTS for chunk in splitter.split(manual(product, numbers))
    ]
    assert len(chunks) == 120
    index = LexicalIndex.from_texts([chunk.index_text for chunk in chunks])
    hits: dict[str, float | None] = {}
    logs: dict[str, float | None] = {}
    for product in PRODUCTS:
        for title in ASKED:
            (right,) = [i for i, chunk in enumerate(chunks) if chunk.path == (product, title)]
            question = f"What is the {title.lower()} of the {product}?"
            rank = mid_ranks(index.scores(question).tolist())[right]
            hits[question] = float(rank <= 1)
            logs[question] = log_rank_index([rank], len(chunks))
    assert len(hits) == 80
    return macro_mean(hits, hits).mean, macro_mean(logs, logs).mean


@pytest.mark.parametrize(
    ("metadata", "hit", "log_rank"),
    [("none", 0.0, 0.417), ("section", 0.0, 0.509), ("path", 1.0, 1.0)],
)
def test_the_path_finds_the_product_among_its_doubles(
    metadata: str, hit: float, log_rank: float
) -> None:
    found = scores(metadata)
    assert found == (hit, pytest.approx(log_rank, abs=0.0006))
