"""The first second: what importing, the first cut and the first search cost beside the hosts' own.

    python benchmarks/start.py [--repeat N]

Each row is measured in fresh processes, by turns, and the fastest counts: processor seconds, and
the largest memory of the process. Then the classes' throughput, in one process, by turns: many
short documents through LlamaIndex's parsers, long ones through LangChain's class and the core, and
a small file read in this process and in a reader process, which one small file cannot repay.
Prints the tables and writes benchmarks/results/start.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.quality_tables import markdown_table
from benchmarks.speed_tables import by_turns

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
SHORT, CHARACTERS = 2400, 500
PACKAGES = ("structrag", "langchain-text-splitters", "llama-index-core")
LC_MODEL = "DeterministicFakeEmbedding(size=64)"
LI_MODEL = "MockEmbedding(64)"
LC_FAKE = "from langchain_core.embeddings import DeterministicFakeEmbedding"
LI_FAKE = "from llama_index.core import MockEmbedding"
LC_OWN = f"""from langchain_core.vectorstores import InMemoryVectorStore as S; {LC_FAKE}
S.from_documents(chunks, {LC_MODEL}).similarity_search('chunks')"""
LI_OWN = f"""from llama_index.core import VectorStoreIndex; {LI_FAKE}
VectorStoreIndex(chunks, embed_model={LI_MODEL}).as_retriever().retrieve('chunks')"""


class Row(NamedTuple):
    """A class of a host or ours: its import, the chunks, a search in them."""

    name: str
    imports: str
    cut: str
    search: str


HOSTS = {
    "LangChain": (
        Row(
            "RecursiveCharacterTextSplitter",
            "from langchain_text_splitters import RecursiveCharacterTextSplitter as C",
            "C(chunk_size=1000).create_documents([text])",
            LC_OWN,
        ),
        Row(
            "MarkdownHeaderTextSplitter",
            "from langchain_text_splitters import MarkdownHeaderTextSplitter as C",
            "C([('#', 'a'), ('##', 'b')]).split_text(text)",
            LC_OWN,
        ),
        Row(
            "ContentAwareTextSplitter, MultiViewRetriever",
            "from langchain_structrag import ContentAwareTextSplitter as C",
            "C(chunk_size=1000).create_documents([text])",
            f"""from langchain_structrag import MultiViewRetriever as R; {LC_FAKE}
R.from_texts([text], {LC_MODEL}).invoke('chunks')""",
        ),
    ),
    "LlamaIndex": (
        *(
            Row(
                name,
                f"from llama_index.core.node_parser import {name} as C",
                "C().get_nodes_from_documents([D(text=text)])",
                LI_OWN,
            )
            for name in ("SentenceSplitter", "MarkdownNodeParser")
        ),
        Row(
            "ContentAwareNodeParser, MultiViewRetriever",
            "from llama_index_structrag import ContentAwareNodeParser as C",
            "C().get_nodes_from_documents([D(text=text)])",
            f"""from llama_index_structrag import MultiViewRetriever as R; {LI_FAKE}
R.from_documents([D(text=text)], embed_model={LI_MODEL}).retrieve('chunks')""",
        ),
    ),
}
CODE = """import json, resource, time, warnings
warnings.simplefilter('ignore')
text = open({path!r}, encoding='utf-8').read()
times = [time.process_time()]
{imports}
times.append(time.process_time())
{document}
chunks = {cut}
times.append(time.process_time())
{search}
times.append(time.process_time())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([*(b - a for a, b in zip(times, times[1:])), peak]))"""


def measured(host: str, row: Row, path: Path) -> list[float]:
    """Seconds of import, first cut and first search, and the peak in MB, of one process."""
    document = "from llama_index.core import Document as D" if host[1] == "l" else ""
    code = CODE.format(path=str(path), document=document, **row._asdict())
    # Bytecode is kept, as that of an installed package.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    figures: list[float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def starts(host: str, rows: tuple[Row, ...], repeat: int) -> str:
    """A host's table; ratios are to its first row."""
    path = DOCS / "guide.md"
    turns = [[measured(host, row, path) for row in rows] for _ in range(repeat + 1)]
    best = [
        list(map(min, zip(*of_row, strict=True)))
        for of_row in zip(*turns[1:], strict=True)
    ]
    cells = [
        [
            row.name,
            *(f"{a:.2f} ({a / b:.2f})" for a, b in zip(one, best[0], strict=True)),
        ]
        for row, one in zip(rows, best, strict=True)
    ]
    head = [host, "import, s", "first cut, s", "first search, s", "peak, MB"]
    return markdown_table(head, cells, labels=1)


def throughput(texts: list[str], repeat: int) -> str:
    """Short documents through LlamaIndex's parsers, long ones through LangChain's class."""
    from langchain_core.documents import Document
    from llama_index.core import Document as Node
    from llama_index.core.node_parser import SentenceSplitter

    from langchain_structrag import ContentAwareTextSplitter
    from llama_index_structrag import ContentAwareNodeParser
    from structrag import ContentAwareSplitter, read_file, read_text

    whole = "".join(texts)
    step = (len(whole) - CHARACTERS) // SHORT
    nodes: list[Any] = [
        Node(text=whole[n * step :][:CHARACTERS], metadata={"file_path": f"{n}.md"})
        for n in range(SHORT)
    ]
    documents = [Document(text, metadata={"source": "a.md"}) for text in texts]
    core = ContentAwareSplitter(
        max_tokens=4000, flat_max_tokens=None, counter=len, context=False
    )
    pairs = {
        f"{SHORT:,} documents of {CHARACTERS} characters": {
            "SentenceSplitter": partial(
                SentenceSplitter().get_nodes_from_documents, nodes
            ),
            "ContentAwareNodeParser": partial(
                ContentAwareNodeParser().get_nodes_from_documents, nodes
            ),
        },
        f"{len(texts)} pages by characters": {
            "the core": lambda: [
                core.split(read_text(text, meta={"source": "a.md"})) for text in texts
            ],
            "ContentAwareTextSplitter": partial(
                ContentAwareTextSplitter().split_documents, documents
            ),
        },
    }
    by_clock = "a page of docs, by the clock"
    pairs[by_clock] = {
        "in this process": partial(read_file, DOCS / "limits.md", isolated=False),
        "in a reader process": partial(read_file, DOCS / "limits.md", isolated=True),
    }
    rows = []
    for what, tasks in pairs.items():
        timings = by_turns(tasks, repeat)
        first, ours = (
            min(timing.wall if what == by_clock else timing.cpu)
            for timing in timings.values()
        )
        rows.append(
            [what, *tasks, f"{first:.2g}", f"{ours:.2g}", f"{ours / first:.2f}"]
        )
    return markdown_table(["what", "first", "second", "s", "s", "ratio"], rows)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    texts = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))]
    page = "\n\n".join(
        [
            "# The first second, and throughput of the adapters",
            "`python benchmarks/start.py`. Processor seconds, the fastest of "
            f"{repeat} processes; in brackets the ratio to the first row.",
            *(starts(host, rows, repeat) for host, rows in HOSTS.items()),
            throughput(texts, repeat),
            f"{machine_line()}; {versions_line(PACKAGES)}; {corpus_line('docs', texts)}",
        ]
    )
    save(HERE / "results" / "start.md", page, __file__)
    print(page)


if __name__ == "__main__":
    main()
