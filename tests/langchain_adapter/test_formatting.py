"""HiQAFormatter as a LangChain document transformer."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import Document

from langchain_structrag import HiQAFormatter
from structrag.errors import InvalidParameter

MANUAL = (
    "1 Overview\n\nThe pump moves water from the tank.\n\n1.1 Safety\n\nSwitch it off before you "
    "open it.\n\n"
    "2 Technical data\n\nIt weighs nine kilograms.\n"
)
PAGE = (
    "<html><body><h1>Pump</h1><p>It moves water.</p><h2>Safety</h2><p>Switch it "
    "off.</p></body></html>"
)
SOURCES = [
    Document(
        page_content=MANUAL, metadata={"source": "manual.txt", "tags": ["x"]}, id="m"
    ),
    Document(page_content=PAGE, metadata={"source": "page.html"}),
    Document(page_content="# Kept\n\nAs it is.\n", metadata={"source": "kept.md"}),
    Document(page_content="", metadata={"source": "empty.txt"}),
]


# -- files


def test_files_are_parsed_pdf_by_its_layout(tmp_path: Path) -> None:
    (tmp_path / "manual.txt").write_text(MANUAL, encoding="utf-8")
    (parsed,) = HiQAFormatter().parse(
        Blob.from_path(tmp_path / "manual.txt", metadata={"year": 2020})
    )
    (given,) = HiQAFormatter().transform_documents(SOURCES[:1])
    assert parsed.page_content == given.page_content
    assert (parsed.metadata["source"], parsed.metadata["year"]) == (
        str(tmp_path / "manual.txt"),
        2020,
    )
    assert (
        HiQAFormatter().parse(Blob.from_data(PAGE))[0].page_content.startswith("# Pump")
    )


def test_pdf_files_by_another_reader() -> None:
    blob = Blob(
        data=b"%PDF-1.4", mimetype="application/pdf", metadata={"source": "pump.pdf"}
    )
    formatter = HiQAFormatter(reader=lambda source: ["# Pump\n", "It moves water.\n"])
    (parsed,) = formatter.parse(blob)
    assert parsed.page_content == "# Pump\n\nIt moves water.\n"
    assert parsed.metadata["pages"] == 2
    with pytest.raises(InvalidParameter, match="reader must be one of"):
        HiQAFormatter(reader="other").parse(blob)


async def test_it_transforms_lazily_and_asynchronously() -> None:
    formatter = HiQAFormatter()
    made = formatter.transform_documents(SOURCES)
    assert await formatter.atransform_documents(SOURCES) == made
    assert list(formatter.lazy_transform_documents(SOURCES)) == made
    assert [one async for one in formatter.alazy_transform_documents(SOURCES)] == made
