"""Ask questions of documents through LangChain and through LlamaIndex, beside a fixed-length
splitter with the same embedder.

`make demo` runs it on this project's own documentation; `make demo DOC=path Q="question"` on yours.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
warnings.filterwarnings("ignore")

HERE = Path(__file__).resolve().parent.parent
QUESTIONS = (
    "How is a table cut when its section is too long?",
    "How do I keep a crashed run from paying for the same model calls twice?",
    "For which documents is the gain small?",
)
HITS = 3


def main() -> None:
    """Parse the arguments, index, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--doc",
        type=Path,
        help="a document or a folder of documents; default: this project's documentation",
    )
    parser.add_argument("--question", help="default: three questions about the project")
    parser.add_argument(
        "--light", action="store_true", help="no sentence encoder: LSA vectors and BM25"
    )
    options = parser.parse_args()

    from structrag.errors import StructragError

    try:
        run(
            [options.doc] if options.doc else [HERE / "docs", HERE / "README.md"],
            options.question,
            light=options.light,
        )
    except StructragError as error:
        sys.exit(f"structrag: {error}")


def run(paths: list[Path], question: str | None, *, light: bool) -> None:
    """Index the documents once for both frameworks and once in chunks of fixed length, and print
    what each finds."""
    from structrag import FixedSplitter, Index, find_files, read_file

    embedder = (
        timed("loading the sentence encoder all-MiniLM-L6-v2", load_encoder) if not light else None
    )
    if light:
        print(
            "LIGHT: no sentence encoder is used; vectors are LSA of these documents (see "
            "docs/guide.md)."
        )

    files = [file for path in paths for file in find_files(path)]
    documents = [read_file(file, id=display_name(file)) for file in files]
    if not documents:
        sys.exit(
            f"structrag: there is no Markdown, HTML or text file in {', '.join(map(str, paths))}."
        )
    print(
        f"{len(documents)} documents, {sum(len(document.text) for document in documents):,} "
        "characters"
    )

    index, langchain = timed(
        "indexing through LangChain", lambda: langchain_search(files, embedder)
    )
    llama_index = timed("taking the same index in LlamaIndex", lambda: llama_index_search(index))
    fixed = Index(
        embedder=embedder,
        splitter=FixedSplitter(max_tokens=300),
        views=("raw",),
        progress=progress,
    )
    timed("indexing fixed-length chunks of 300 tokens", lambda: fixed.add(documents))

    for query in [question] if question else QUESTIONS:
        print(f"\n{'═' * width()}\n{query}")
        rows = [
            fixed_lines(rank, hit) for rank, hit in enumerate(fixed.search(query, HITS), start=1)
        ]
        neighbours(
            "LangChain EvidenceRetriever", langchain(query), "fixed length, same embedder", rows
        )
        neighbours("LlamaIndex EvidenceRetriever", llama_index(query), "", [])
    print(
        f"\nCost: {fixed.usage.calls} language-model calls. Each hit is an exact slice of its "
        "document."
    )


def langchain_search(files: list[Path], embedder: object) -> tuple:
    """Index with langchain_structrag; return the index, and a function that finds and describes."""
    from langchain_core.documents import Document

    from langchain_structrag import EvidenceRetriever

    documents = [
        Document(read(file), id=display_name(file), metadata={"source": str(file)})
        for file in files
    ]
    retriever = EvidenceRetriever.from_documents(
        documents, embedder, k=HITS, max_tokens=None, progress=progress
    )

    def search(query: str) -> list[list[str]]:
        return [
            describe(found.metadata, found.metadata, found.page_content)
            for found in retriever.invoke(query)
        ]

    return retriever.index, search


def llama_index_search(index) -> Callable[[str], list[list[str]]]:
    """A function that finds and describes with llama_index_structrag, in an index that is there."""
    from llama_index_structrag import EvidenceRetriever

    retriever = EvidenceRetriever(index, similarity_top_k=HITS, max_tokens=None)

    def search(query: str) -> list[list[str]]:
        lines = []
        for rank, hit in enumerate(retriever.retrieve(query), start=1):
            node = hit.node
            place = {
                "rank": rank,
                "score": hit.score,
                "start_index": node.start_char_idx,
                "end_index": node.end_char_idx,
            }
            facts = {**node.metadata, "doc_id": node.ref_doc_id}
            lines.append(describe(facts, place, node.text))
        return lines

    return search


def describe(found: dict, place: dict, text: str) -> list[str]:
    """A hit: section path, score, what matched, document and character range, first words."""
    title = found.get("heading_path")
    if isinstance(title, list):
        title = " > ".join(title)
    parts = sorted(found["score_parts"].items(), key=lambda part: -part[1])
    matched = ", ".join(f"{name} {value:.2f}" for name, value in parts[:3] if value > 0)
    return [
        f"{place['rank']}. {title or '(no heading)'}",
        f"score {place['score']:.2f} · {matched}",
        f"{found['doc_id']}[{place['start_index']}:{place['end_index']}]",
        excerpt(text),
    ]


def fixed_lines(rank: int, hit) -> list[str]:
    """A fixed-length hit, the same way."""
    place = f"{hit.chunk.doc_id}[{hit.chunk.start}:{hit.chunk.end}]"
    return [
        f"{rank}. (a window of the text)",
        f"score {hit.score:.2f}",
        place,
        excerpt(hit.chunk.text),
    ]


def read(file: Path) -> str:
    """The file's text."""
    return file.read_text(encoding="utf-8", errors="replace")


def load_encoder():
    """The bundled encoder."""
    import transformers

    from structrag import minilm

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return minilm()


def display_name(file: Path) -> str:
    """The file's name relative to the project or the working directory where it lies below one of
    them."""
    for base in (HERE, Path.cwd()):
        if file.resolve().is_relative_to(base):
            return str(file.resolve().relative_to(base))
    return str(file)


def timed(what: str, work: Callable):
    """Say what is being done, do it, say how long it took."""
    print(f"{what} ...", flush=True)
    started = time.perf_counter()
    result = work()
    print(f"  done in {time.perf_counter() - started:.1f} s", flush=True)
    return result


def progress(what: str, done: int, total: int) -> None:
    """One line that is written over on a terminal; in a log a line now and then."""
    if total > 1 and (sys.stdout.isatty() or done == total):
        print(
            f"  {what}: {done} of {total}",
            end="\r" if sys.stdout.isatty() and done < total else "\n",
            flush=True,
        )


def width() -> int:
    return min(160, os.get_terminal_size().columns) if sys.stdout.isatty() else 130


def excerpt(text: str) -> str:
    return textwrap.shorten(" ".join(text.split()), 170, placeholder=" …")


def neighbours(
    left_title: str, left: list[list[str]], right_title: str, right: list[list[str]]
) -> None:
    """Two columns of hits, or one."""
    half = (width() - 3) // 2 if right else width()
    print(f"\n{left_title:<{half}}" + (f" │ {right_title}" if right else ""))
    for i in range(max(len(left), len(right))):
        columns = [
            [line for part in side[i] for line in textwrap.wrap(part, half)]
            if i < len(side)
            else []
            for side in (left, right)
        ]
        for j in range(max(map(len, columns))):
            cells = [column[j] if j < len(column) else "" for column in columns]
            print(f"{cells[0]:<{half}}" + (f" │ {cells[1]}" if right else ""))
        print(" " * half + (" │" if right else ""))


if __name__ == "__main__":
    main()
