"""Ask questions of documents, beside chunks of fixed length that the same vectors and BM25 find.

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
from itertools import zip_longest
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
RIVAL_TOKENS = 200


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
            [options.doc]
            if options.doc
            else [*sorted((HERE / "docs").glob("*.md")), HERE / "README.md"],
            options.question,
            light=options.light,
        )
    except StructragError as error:
        sys.exit(f"structrag: {in_a_clone(error)}")


def run(paths: list[Path], question: str | None, *, light: bool) -> None:
    """Index the documents for evidence and in chunks of fixed length, and print what each finds."""
    from langchain_structrag import EvidenceRetriever, MultiViewRetriever
    from llama_index_structrag import EvidenceRetriever as LlamaIndexRetriever
    from structrag import FixedSplitter

    documents = load(paths)
    embedder = (
        timed("loading the sentence encoder all-MiniLM-L6-v2", load_encoder) if not light else "lsa"
    )
    if light:
        print(
            "LIGHT: no sentence encoder is used; vectors are LSA of these documents (see "
            "docs/guide.md)."
        )
    evidence = timed(
        "indexing for EvidenceRetriever",
        lambda: EvidenceRetriever.from_documents(
            documents, embedder, k=HITS, max_tokens=None, progress=progress
        ),
    )
    fixed = timed(
        f"indexing chunks of {RIVAL_TOKENS} tokens, vectors and BM25",
        lambda: MultiViewRetriever.from_documents(
            documents,
            embedder,
            splitter=FixedSplitter(max_tokens=RIVAL_TOKENS),
            views=["raw"],
            k=HITS,
            progress=progress,
        ),
    )
    llama_index = LlamaIndexRetriever(evidence.index, similarity_top_k=HITS, max_tokens=None)

    is_same = True
    for query in [question] if question else QUESTIONS:
        print(f"\n{'═' * width()}\n{query}")
        passages = evidence.invoke(query)
        neighbours(
            "EvidenceRetriever",
            [describe(passage) for passage in passages],
            f"fixed length ({RIVAL_TOKENS} tokens), the same vectors, BM25",
            [describe(chunk) for chunk in fixed.invoke(query)],
        )
        nodes = [scored.node for scored in llama_index.retrieve(query)]
        places = [(node.ref_doc_id, node.start_char_idx, node.end_char_idx) for node in nodes]
        is_same &= places == [
            tuple(passage.metadata[key] for key in ("doc_id", "start_index", "end_index"))
            for passage in passages
        ]
    print(
        "\nShown are LangChain's retrievers. LlamaIndex's, over the same index, "
        + ("returned the same passages." if is_same else "returned other passages.")
    )
    print("No language model was called. Each passage is an exact slice of its document.")


def load(paths: list[Path]) -> list:
    """The documents of files and folders. A file of a folder that cannot be read is named."""
    from langchain_structrag import StructragLoader

    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        documents = StructragLoader(paths).load()
    for message in messages:
        if message.category is UserWarning:
            print(f"  {in_a_clone(message.message)}")
    documents = [document for document in documents if document.page_content.strip()]
    if not documents:
        sys.exit(
            f"structrag: there is no text in {', '.join(map(str, paths))}. Give a document, or a "
            "folder with some."
        )
    characters = sum(len(document.page_content) for document in documents)
    print(f"{len(documents)} documents, {characters:,} characters")
    return documents


def in_a_clone(message: object) -> str:
    """A message whose advice to install an extra works before the package is published."""
    return str(message).replace("pip install 'structrag[", "pip install -e '.[")


def describe(passage) -> list[str]:
    """Section path, score, what matched, document and character range, first words."""
    facts = passage.metadata
    parts = sorted(facts["score_parts"].items(), key=lambda part: -part[1])
    matched = ", ".join(f"{name} {value:.2f}" for name, value in parts[:3] if value > 0)
    pages = f", page {facts['page_label']}" if "page_label" in facts else ""
    name = display_name(Path(facts["source"]))
    return [
        f"{facts['rank']}. {facts['heading_path'] or '(no heading)'}",
        f"score {facts['score']:.2f} · {matched}",
        f"{name}[{facts['start_index']}:{facts['end_index']}]{pages}",
        textwrap.shorten(passage.page_content, 170, placeholder=" …"),
    ]


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


def neighbours(
    left_title: str, left: list[list[str]], right_title: str, right: list[list[str]]
) -> None:
    """Two columns of results."""
    half = (width() - 3) // 2
    print(f"\n{left_title:<{half}} │ {right_title}")
    for pair in zip_longest(left, right, fillvalue=[]):
        columns = [[line for part in lines for line in textwrap.wrap(part, half)] for lines in pair]
        for row in zip_longest(*columns, fillvalue=""):
            print(f"{row[0]:<{half}} │ {row[1]}")
        print(" " * half + " │")


if __name__ == "__main__":
    main()
