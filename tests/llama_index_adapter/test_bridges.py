"""What others read or cut, in LlamaIndex."""

from __future__ import annotations

from llama_index.core import Document

from llama_index_structrag import ContentAwareNodeParser, EvidenceRetriever
from llama_index_structrag.bridges import as_document, join_pages
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


def test_parsers_and_retrievers_take_them() -> None:
    placed = from_unstructured(ELEMENTS)
    document = as_document(placed, team="a")
    assert document.metadata["team"] == "a" and document.id_ == "pump.docx"
    assert "pages" in document.excluded_embed_metadata_keys
    (*_, node) = ContentAwareNodeParser().get_nodes_from_documents([document])
    assert "Seal" in str(node.metadata["heading_path"])
    assert placed.pages(node.start_char_idx, node.end_char_idx) == (4,)
    (hit,) = EvidenceRetriever.from_documents([document]).retrieve("What wears?")
    assert placed.pages(hit.node.start_char_idx, hit.node.end_char_idx) == (4,)
    assert node.metadata["page_label"] == hit.node.metadata["page_label"] == "4"


def test_pages_are_joined() -> None:
    pages = [
        Document(text=name, metadata={"file_path": "m.pdf", "page_label": str(page)})
        for page, name in enumerate("AB", start=1)
    ]
    alone = Document(text="x")
    whole, other = join_pages([*pages, alone])
    assert (whole.text, whole.id_) == ("A\n\nB", "m.pdf") and other is alone
    assert whole.metadata == {
        "file_path": "m.pdf",
        "pages": 2,
        "page_starts": "0:1 3:2",
    }
