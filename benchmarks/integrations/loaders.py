"""What loaders of both frameworks leave of headings, as a table.

python benchmarks/integrations/loaders.py

Each loader reads a long file with ten headings as Markdown, HTML and PDF, and our splitter or node
parser cuts what comes. A loader whose package is not installed is left out and named.
benchmarks/results/integrations.md holds the table, and
tests/benchmarks/test_integrations.py compares it with what comes out.
`pip install -e '.[langchain,llama-index,pdf]' reportlab pypdf langchain-community beautifulsoup4
lxml llama-index-readers-file` has all.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

SUFFIXES = (".md", ".html", ".pdf")
TITLES = [f"Pump number {number}" for number in range(10)]
BODY = "The seal of this pump wears out after a year, and then it leaks. " * 14


def write_files(folder: Path) -> None:
    """The file in each format."""
    (folder / "pumps.md").write_text(
        "".join(f"# {title}\n\n{BODY}\n\n" for title in TITLES)
    )
    parts = "".join(f"<h1>{title}</h1><p>{BODY}</p>\n" for title in TITLES)
    (folder / "pumps.html").write_text(f"<html><body>\n{parts}</body></html>")
    platypus = import_module("reportlab.platypus")
    styles = import_module("reportlab.lib.styles").getSampleStyleSheet()
    flow = [
        platypus.Paragraph(text, styles[style])
        for title in TITLES
        for text, style in ((title, "Heading1"), (BODY, "BodyText"))
    ]
    platypus.SimpleDocTemplate(str(folder / "pumps.pdf")).build(flow)


def of_lang_chain(
    module: str, name: str, **options: Any
) -> Callable[[Path], Sequence[Any]]:
    """The metadata of the chunks of what a loader of LangChain reads."""
    loader = getattr(import_module(module), name)

    def chunks(path: Path) -> Sequence[Any]:
        from langchain_structrag import ContentAwareTextSplitter

        documents = loader(str(path), **options).load()
        return [
            chunk.metadata
            for chunk in ContentAwareTextSplitter().split_documents(documents)
        ]

    return chunks


def of_llama_index(
    module: str, name: str, **options: Any
) -> Callable[[Path], Sequence[Any]]:
    """The metadata of the nodes of what a reader of LlamaIndex reads."""
    reader = getattr(import_module(module), name)
    # Which SimpleDirectoryReader needs for PDF.
    import_module("llama_index.readers.file")

    def nodes(path: Path) -> Sequence[Any]:
        from llama_index_structrag import ContentAwareNodeParser

        if name == "SimpleDirectoryReader":
            documents = reader(input_files=[str(path)]).load_data()
        else:
            documents = reader(**options).load_data(path)
        return [
            node.metadata
            for node in ContentAwareNodeParser().get_nodes_from_documents(documents)
        ]

    return nodes


COMMUNITY, FILES = "langchain_community.document_loaders", "llama_index.readers.file"
# What reads the files: by which function, where, with which options, and which kinds of files.
LOADERS: dict[str, tuple[Any, str, str, dict[str, Any], Sequence[str]]] = {
    "`StructragLoader`": (of_lang_chain, "langchain_structrag", "StructragLoader", {}, SUFFIXES),
    "`TextLoader`": (of_lang_chain, COMMUNITY, "TextLoader", {}, (".md", ".html")),
    "`BSHTMLLoader`": (of_lang_chain, COMMUNITY, "BSHTMLLoader", {}, (".html",)),
    "`PyPDFLoader`": (of_lang_chain, COMMUNITY, "PyPDFLoader", {}, (".pdf",)),
    '`PyPDFLoader(mode="single")`': (
        of_lang_chain, COMMUNITY, "PyPDFLoader", {"mode": "single"}, (".pdf",)
    ),
    "`StructragReader`": (of_llama_index, "llama_index_structrag", "StructragReader", {}, SUFFIXES),
    "`SimpleDirectoryReader`": (
        of_llama_index, "llama_index.core", "SimpleDirectoryReader", {}, (".md", ".pdf")
    ),
    "`MarkdownReader`": (of_llama_index, FILES, "MarkdownReader", {}, (".md",)),
    "`HTMLTagReader`": (of_llama_index, FILES, "HTMLTagReader", {"tag": "body"}, (".html",)),
    "`PDFReader`": (of_llama_index, FILES, "PDFReader", {}, (".pdf",)),
}  # fmt: skip


def left(metadata: Iterable[Any], messages: Iterable[str]) -> str:
    """What is left of the headings, in words."""
    paths = {str(facts["heading_path"]) for facts in metadata}
    if all(title in paths for title in TITLES):
        return "kept"
    is_warned = any("has no heading" in message for message in messages)
    return "dropped, with a warning" if is_warned else "dropped"


def rows() -> Iterator[tuple[str, list[str]]]:
    """A row for each loader."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        for number, (loader, (make, module, name, options, kinds)) in enumerate(
            LOADERS.items()
        ):
            cells = []
            for suffix in SUFFIXES:
                # Pages of one file are warned of once, so each loader has a file of its own name.
                path = Path(folder) / f"pumps{number}{suffix}"
                path.write_bytes((Path(folder) / f"pumps{suffix}").read_bytes())
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        read = make(module, name, **options)
                    except ImportError as error:
                        cells = [
                            f"left out: {error.name or error} is not installed",
                            "",
                            "",
                        ]
                        break
                    metadata = read(path) if suffix in kinds else []
                messages = [str(warning.message) for warning in caught]
                cells.append(left(metadata, messages) if suffix in kinds else "")
            yield loader, cells


def main() -> None:
    """Print the table."""
    print("| loader | Markdown | HTML | PDF |\n|---|---|---|---|")
    for name, cells in rows():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
