"""Parsing and splitting: megabytes a second against the splitters of LangChain and LlamaIndex, and
growth with size."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import corpus_line
from benchmarks.question_sets import data_root, load
from benchmarks.speed_parse_peers import (
    Splitting,
    langchain_html,
    langchain_markdown,
    llama_html,
    llama_markdown,
)
from benchmarks.speed_tables import (
    Table,
    Timing,
    by_turns,
    peak_memory,
    rates,
    ratios,
    spread,
)
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.reading.files import read_text

PACKAGES = (
    "structrag",
    "markdown-it-py",
    "langchain-text-splitters",
    "llama-index-core",
    "beautifulsoup4",
    "selectolax",
    "lxml",
)
OURS = "structrag ContentAwareSplitter"
GROWTH_MB = (1, 2, 5, 10, 25, 50)
SMALL_SECTIONS_KB = (50, 100, 200, 400)


def run(repeat: int) -> list[Table]:
    """All tables of this part."""
    texts = markdown_texts()
    release_notes = (data_root() / "parsing/fastapi/en/release-notes.md").read_text(
        encoding="utf-8"
    )
    large = [text for text in texts if len(text) >= 100_000]
    return [
        corpus_table("all Markdown of parsing", texts, repeat),
        corpus_table("its files of 100 KB and more", large, min(repeat, 3)),
        growth_table(release_notes, repeat=min(repeat, 3)),
        small_sections_table(repeat=min(repeat, 3)),
        *(
            html_table(name, pages, repeat=min(repeat, 3))
            for name, pages in html_pages().items()
        ),
    ]


def markdown_texts() -> list[str]:
    """Every Markdown file of the parsing set, in the order of their paths."""
    return [_read(path) for path in sorted((data_root() / "parsing").rglob("*.md"))]


def html_pages() -> dict[str, list[str]]:
    """Name -> pages: the 10-K and the pages of Natural Questions."""
    folder = data_root() / "parsing/unstructured_html"
    largest = max(folder.rglob("*.htm*"), key=lambda path: path.stat().st_size)
    return {
        f"one 10-K ({largest.name})": [_read(largest)],
        "the pages of nq": [document.text for document in load("nq").documents],
    }


def corpus_table(name: str, texts: Sequence[str], repeat: int) -> Table:
    """Speed over a corpus of Markdown, and whether the chunks joined give the input."""
    splitters: dict[str, Splitting] = {
        OURS: split_ours,
        f"{OURS} without size limits, as the others": split_ours_unlimited,
        "LangChain MarkdownHeaderTextSplitter": langchain_markdown(),
        "LlamaIndex MarkdownNodeParser": llama_markdown(),
    }

    def given_back(chunks: Sequence[list[str]]) -> str:
        exact = sum(
            "".join(parts) == text for parts, text in zip(chunks, texts, strict=True)
        )
        return f"{exact} of {len(texts)}"

    rows, values = _compared(splitters, texts, repeat, given_back)
    return Table(
        f"Markdown, parse and split: {name}",
        (*_SPEED_COLUMNS, "chunks", "texts that the joined chunks give back"),
        rows,
        corpus_line(name, texts),
        (
            "From a string to chunks with heading path, offsets and token counts; the title is "
            "looked for too. One call a text.",
            "The other two know no size limit: they leave long sections whole.",
            "Headers h1 to h6, `strip_headers=False` for LangChain; defaults for LlamaIndex.",
        ),
        values,
    )


def growth_table(
    text: str, *, repeat: int, sizes_mb: Sequence[float] = GROWTH_MB
) -> Table:
    """Time and peak memory for one document of growing size, made of one text repeated."""
    rows = []
    figures: dict[str, Any] = {}
    texts = []
    for size in sizes_mb:
        wanted = int(size * 1e6)
        document = (text * (wanted // len(text.encode("utf-8")) + 1))[:wanted]
        texts.append(document)
        timing = by_turns({OURS: partial(split_ours, document)}, repeat, warm_up=False)[
            OURS
        ]
        peak = peak_memory(partial(split_ours, document))
        megabytes = _megabytes([document])
        chunks = split_ours(document)
        figures[str(size)] = {
            "wall": timing.wall,
            "cpu": timing.cpu,
            "peak_bytes": peak,
        }
        rows.append(
            (
                f"{megabytes:.1f}",
                spread(timing.wall, 2),
                f"{timing.cpu_seconds:.2f}",
                f"{timing.seconds / megabytes * 1000:.0f}",
                f"{peak / 1e6:,.0f}",
                f"{peak / 1e6 / megabytes:.1f}",
                "yes" if "".join(chunks) == document else "no",
            )
        )
    return Table(
        "Growth: one document of n MB",
        (
            "MB",
            "s, median (min-max)",
            "CPU s",
            "ms per MB",
            "peak memory, MB",
            "peak MB per MB",
            "joined chunks give the input",
        ),
        tuple(rows),
        corpus_line("fastapi/en/release-notes.md repeated", texts),
        (
            "Linear if `ms per MB` stays. Memory is what Python allocates beyond the input, the "
            "chunks' texts included.",
        ),
        figures,
    )


def small_sections_table(
    *, repeat: int, sizes_kb: Sequence[int] = SMALL_SECTIONS_KB
) -> Table:
    """Many small sections in one document: the input on which MarkdownNodeParser grows with the
    square."""
    rows = []
    figures: dict[str, Any] = {}
    texts = [small_sections(size * 1000) for size in sizes_kb]
    langchain, llama = langchain_markdown(), llama_markdown()
    for size, text in zip(sizes_kb, texts, strict=True):
        tasks = {"structrag": split_ours, "LangChain": langchain, "LlamaIndex": llama}
        timings = by_turns(
            {name: partial(split, text) for name, split in tasks.items()},
            repeat,
            warm_up=False,
        )
        ours = timings["structrag"].wall
        figures[str(size)] = {
            name: {"wall": timing.wall, "cpu": timing.cpu}
            for name, timing in timings.items()
        }
        rows.append(
            (
                f"{size}",
                f"{text.count('## '):,}",
                *(spread(timing.wall, 3) for timing in timings.values()),
                spread(ratios(timings["LlamaIndex"].wall, ours), 0),
                spread(ratios(timings["LangChain"].wall, ours), 2),
            )
        )
    return Table(
        "Many small sections: `# T`, then `## Section n` with ten words each",
        (
            "KB",
            "sections",
            "structrag, s",
            "MarkdownHeaderTextSplitter, s",
            "MarkdownNodeParser, s",
            "MarkdownNodeParser / structrag",
            "MarkdownHeaderTextSplitter / structrag",
        ),
        tuple(rows),
        corpus_line("made", texts),
        ("MarkdownNodeParser hashes the whole document again for every section.",),
        figures,
    )


def html_table(name: str, pages: Sequence[str], *, repeat: int) -> Table:
    """Speed over HTML pages, and the characters of the visible text that the chunks keep."""
    splitters: dict[str, Splitting] = {
        OURS: split_ours_html,
        "LangChain HTMLHeaderTextSplitter": langchain_html(),
        "LlamaIndex HTMLNodeParser": llama_html(),
    }
    visible = [_visible(page) for page in pages]
    total = max(1, sum(characters.total() for characters in visible))

    def shared(chunks: Sequence[list[str]]) -> str:
        both = (
            (_characters("".join(parts)) & characters).total()
            for parts, characters in zip(chunks, visible, strict=True)
        )
        return f"{100 * sum(both) / total:.1f} %"

    rows, values = _compared(splitters, pages, repeat, shared)
    return Table(
        f"HTML: {name}",
        (
            *_SPEED_COLUMNS,
            "chunks",
            "characters of the page's text found in the chunks",
        ),
        rows,
        corpus_line(name, pages),
        (
            "MB of HTML source. The page's text is BeautifulSoup's, without script, style, "
            "template and head. "
            "White space is not counted, nor is order.",
        ),
        values,
    )


def small_sections(size: int) -> str:
    """A document of about `size` characters: one top heading, then sections of ten words such as
    `w3x7`."""
    random_numbers = random.Random(0)
    parts = ["# T\n"]
    length = 0
    while length < size:
        words = " ".join(
            f"w{random_numbers.randrange(1000)}x{random_numbers.randrange(100)}"
            for _ in range(10)
        )
        parts.append(f"\n## Section {len(parts)}\n\n{words}\n")
        length += len(parts[-1])
    return "".join(parts)


def split_ours(text: str) -> list[str]:
    """Our splitter on Markdown."""
    return [
        chunk.text
        for chunk in ContentAwareSplitter().split(
            read_text(text, format="markdown", id="d")
        )
    ]


def split_ours_unlimited(text: str) -> list[str]:
    """Our splitter on Markdown, cutting nothing inside a section: the work the other two do."""
    splitter = ContentAwareSplitter(max_tokens=None, flat_max_tokens=None)
    return [
        chunk.text
        for chunk in splitter.split(read_text(text, format="markdown", id="d"))
    ]


def split_ours_html(page: str) -> list[str]:
    """Our reader and splitter on HTML."""
    return [
        chunk.text
        for chunk in ContentAwareSplitter().split(
            read_text(page, format="html", id="d")
        )
    ]


_SPEED_COLUMNS = (
    "splitter",
    "MB/s, median (min-max)",
    "MB per CPU second",
    "structrag is faster by, wall",
    "by CPU time",
)


def _speed_cells(name: str, timings: dict[str, Timing], size: float) -> tuple[str, ...]:
    timing = timings[name]
    ours = timings[OURS]
    faster = [
        spread(ratios(timing.wall, ours.wall), 2),
        spread(ratios(timing.cpu, ours.cpu), 2),
    ]
    return (
        name,
        spread(rates(size, timing.wall)),
        f"{size / timing.cpu_seconds:.1f}",
        *(["1"] * 2 if name == OURS else faster),
    )


def _compared(
    splitters: Mapping[str, Splitting],
    texts: Sequence[str],
    repeat: int,
    fidelity: Callable[[Sequence[list[str]]], str],
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Any]]:
    """A row a splitter, timed by turns, and the numbers behind them. `fidelity` is the last cell:
    what the chunks of all texts keep of them."""
    tasks = {name: partial(_each, split, texts) for name, split in splitters.items()}
    timings = by_turns(tasks, repeat)
    size = _megabytes(texts)
    rows = []
    for name, split in splitters.items():
        chunks = [split(text) for text in texts]
        count = f"{sum(map(len, chunks)):,}"
        rows.append((*_speed_cells(name, timings, size), count, fidelity(chunks)))
    seconds = {name: {"wall": t.wall, "cpu": t.cpu} for name, t in timings.items()}
    return tuple(rows), {"megabytes": size, **seconds}


def _each(split: Splitting, texts: Iterable[str]) -> None:
    for text in texts:
        split(text)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _megabytes(texts: Iterable[str]) -> float:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6


def _characters(text: str) -> Counter[str]:
    return Counter(re.sub(r"\s+", "", text))


def _visible(page: str) -> Counter[str]:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some pages begin like XML
        soup = BeautifulSoup(page, "lxml")
    for tag in soup(["script", "style", "template", "noscript", "head"]):
        tag.decompose()
    return _characters(soup.get_text(" "))
