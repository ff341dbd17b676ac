"""Elements of Unstructured through splitters and retrievers of both adapters, as a table.

python benchmarks/integrations/elements.py

Unstructured reads its example pages of HTML, and a Word file and slides that are written here;
`from_unstructured` makes one document of each. Both frameworks cut it and answer a question from
it. No model of ours is needed, Unstructured fetches one of spaCy's when it is first used.
benchmarks/results/integrations.md holds the table, and
tests/benchmarks/test_integrations.py compares it with what comes out.
`pip install 'unstructured[docx,pptx]'` beside the extras `langchain` and `llama-index`.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.question_sets import data_root
from structrag import parse
from structrag.reading.bridges.unstructured import from_unstructured

COLUMNS = (
    "elements",
    "sections",
    "tables",
    "pages",
    "words lost",
    "chunks in LangChain",
    "nodes in LlamaIndex",
    "the answer is in the first hit",
)
# Files, each with a question and a word of its answer.
QUESTIONS = {
    "example-10k.html": (
        "Who is the stock transfer agent and registrar?",
        "Philadelphia",
    ),
    "example-steelJIS-datasheet.html": (
        "How much carbon does the composition have?",
        "0.39",
    ),
    "example-with-scripts.html": (
        "Which readiness check did Lukashenko order?",
        "readiness",
    ),
    "fake-html-with-duplicate-elements.html": ("Which span is another?", "another"),
    "manual.docx": ("What does the rotor weigh?", "2 kg"),
    "slides.pptx": ("When do seals leak?", "after a year"),
}


def write_manual(path: Path) -> None:
    """A Word file with headings, a numbered list and a table."""
    manual = import_module("docx").Document()
    manual.add_heading("Seals", 1)
    manual.add_paragraph("The seal wears out after a year.")
    manual.add_heading("Cleaning", 2)
    for step in ("Open it.", "Rinse it."):
        manual.add_paragraph(step, style="List Number")
    manual.add_heading("Parts", 1)
    table = manual.add_table(2, 2)
    for number, text in enumerate(("Part", "Weight", "Rotor", "2 kg")):
        table.cell(*divmod(number, 2)).text = text
    manual.save(str(path))


def write_slides(path: Path) -> None:
    """Two slides, each with a title and a text."""
    slides = import_module("pptx").Presentation()
    for title, text in (
        ("Pumps", "Pumps move water."),
        ("Seals", "Seals leak after a year."),
    ):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    slides.save(str(path))


def partitioned() -> Iterator[tuple[str, list[Any]]]:
    """The elements of each file, by its name."""
    folder = data_root() / "parsing/unstructured_html"
    partition_html = import_module("unstructured.partition.html").partition_html
    for path in sorted(folder.glob("*.html")):
        yield path.name, partition_html(filename=str(path))
    with tempfile.TemporaryDirectory() as written:
        for name, write in (
            ("manual.docx", write_manual),
            ("slides.pptx", write_slides),
        ):
            path = Path(written) / name
            write(path)
            module = import_module(f"unstructured.partition.{path.suffix[1:]}")
            yield name, getattr(module, f"partition_{path.suffix[1:]}")(str(path))


def rows() -> Iterator[tuple[str, list[str]]]:
    """A row for each file."""
    for name, elements in partitioned():
        placed = from_unstructured(elements)
        document = placed.document
        outline = parse(document)
        words = set(re.findall(r"\w+", document.text))
        lost = {
            word for element in elements for word in re.findall(r"\w+", element.text)
        } - words
        tables = len(re.findall(r"^\|(?:---\|)+$", document.text, re.MULTILINE))
        facts = [
            len(elements),
            len(outline.sections) - 1,
            tables,
            document.meta.get("pages", 0),
        ]
        chunks, first_of_chunks = in_lang_chain(placed, QUESTIONS[name][0])
        nodes, first_of_nodes = in_llama_index(placed, QUESTIONS[name][0])
        found = [
            QUESTIONS[name][1] in text for text in (first_of_chunks, first_of_nodes)
        ]
        answered = "both" if all(found) else "one" if any(found) else "none"
        yield name, [*map(str, [*facts, len(lost), chunks, nodes]), answered]


def in_lang_chain(placed: Any, question: str) -> tuple[int, str]:
    """The number of chunks, and the text of the first hit."""
    from langchain_structrag import ContentAwareTextSplitter, MultiViewRetriever
    from langchain_structrag.bridges import as_document

    document = as_document(placed)
    chunks = ContentAwareTextSplitter().split_documents([document])
    for chunk in chunks:
        start, end = chunk.metadata["start_index"], chunk.metadata["end_index"]
        assert chunk.page_content == placed.document.text[start:end]
        pages = placed.pages(start, end)
        if pages:
            assert chunk.metadata["page_label"] == "-".join(
                map(str, sorted({pages[0], pages[-1]}))
            )
    retriever = MultiViewRetriever.from_documents([document], "lsa")
    return len(chunks), retriever.invoke(question)[0].page_content


def in_llama_index(placed: Any, question: str) -> tuple[int, str]:
    """The number of nodes, and the text of the first hit."""
    from llama_index_structrag import ContentAwareNodeParser, MultiViewRetriever
    from llama_index_structrag.bridges import as_document

    document = as_document(placed)
    nodes = ContentAwareNodeParser().get_nodes_from_documents([document])
    for node in nodes:
        text = placed.document.text[node.start_char_idx : node.end_char_idx]  # type: ignore[attr-defined]
        assert node.get_content() == text
    retriever = MultiViewRetriever.from_documents([document], embed_model="lsa")
    return len(nodes), retriever.retrieve(question)[0].text


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"| file | {' | '.join(COLUMNS)} |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name, cells in rows():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
