"""What others read or cut, in LangChain."""

from __future__ import annotations

from langchain_core.documents import Document

from langchain_structrag import ContentAwareTextSplitter, EvidenceRetriever
from langchain_structrag.bridges import as_document, join_pages
from structrag.reading.bridges.unstructured import from_unstructured

ELEMENTS = [
    {
        "type": "Title",
        "text": "Pump",
        "metadata": {"category_depth": 0, "filename": "pump.docx"},
    },
    {"type": "Title", "text": "Seal", "metadata": {"category_depth": 1}},
    {
        "type": "NarrativeText",
        "text": "The seal wears.",
        "metadata": {"page_number": 4},
    },
]


def test_splitters_and_retrievers_take_them() -> None:
    placed = from_unstructured(ELEMENTS)
    document = as_document(placed, team="a")
    assert (
        document.metadata["team"] == "a" and document.metadata["source"] == "pump.docx"
    )
    (*_, chunk) = ContentAwareTextSplitter().split_documents([document])
    assert "Seal" in str(chunk.metadata["heading_path"])
    assert placed.pages(chunk.metadata["start_index"], chunk.metadata["end_index"]) == (
        4,
    )
    assert (chunk.metadata["page"], chunk.metadata["page_label"]) == (3, "4")
    (hit,) = EvidenceRetriever.from_documents([document]).invoke("What wears?")
    assert placed.pages(hit.metadata["start_index"], hit.metadata["end_index"]) == (4,)
    assert hit.metadata["page_label"] == "4" and "page_starts" not in hit.metadata


def test_pages_are_joined() -> None:
    pages = [Document(f"# {name}\n\ntext", metadata={"source": "m.pdf", "page": page})
             for page, name in enumerate("AB")]  # fmt: skip
    whole, other = join_pages([*pages, Document("x", id="7")])
    assert whole.page_content == "# A\n\ntext\n\n# B\n\ntext"
    assert whole.metadata == {"source": "m.pdf", "pages": 2, "page_starts": "0:1 11:2"}
    chunks = ContentAwareTextSplitter(chunk_size=12).split_documents([whole])
    assert [chunk.metadata["page"] for chunk in chunks] == [0, 1]
    assert (other.page_content, other.id) == ("x", "7")
