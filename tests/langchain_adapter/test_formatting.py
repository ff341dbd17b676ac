"""HiQAFormatter as a LangChain document transformer."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pdf_making
import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_structrag import ContentAwareTextSplitter, HiQAFormatter
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.formatting.formatter import HiQAFormatter as CoreFormatter
from structrag.reading.files import read_text

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


class Markdown(FakeListChatModel):
    """Makes headings of numbered lines in the part of the message between the marks of a window."""

    responses: list[str] = []  # noqa: RUF012
    breaks: bool = False

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        shown = str(messages[-1].content)
        text = (
            "nothing"
            if self.breaks
            else re.sub(
                r"^(\d(?:\.\d)*) ", r"# \1 ", window_of(shown), flags=re.MULTILINE
            )
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])


def window_of(message: str) -> str:
    """The manual, which one window holds whole."""
    start = message.rindex("1 Overview")
    return message[
        start : message.index("nine kilograms.", start) + len("nine kilograms.")
    ]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_documents_become_markdown_with_a_report_and_are_not_changed() -> None:
    formatter = HiQAFormatter()
    assert isinstance(formatter, BaseDocumentTransformer)
    before = [document.model_copy(deep=True) for document in SOURCES]
    manual, page, kept, empty = formatter.transform_documents(SOURCES)
    assert before == SOURCES
    assert (manual.id, page.id) == ("m", None)
    assert (
        "# 1 Overview" in manual.page_content and "## 1.1 Safety" in manual.page_content
    )
    assert words(manual.page_content) == words(MANUAL)
    assert (
        "# Pump" in page.page_content
        and "## Safety" in page.page_content
        and "<" not in page.page_content
    )
    assert kept.page_content == SOURCES[2].page_content
    assert empty.page_content == ""
    assert [
        json.loads(d.metadata["format_report"])["mode"] for d in (manual, page, kept)
    ] == [
        "rules",
        "layout",
        "kept",
    ]
    for document, source in zip((manual, page, kept, empty), SOURCES, strict=True):
        assert document.metadata["source"] == source.metadata["source"]
        assert document.metadata["text_format"] == "markdown"
        assert json.loads(json.dumps(document.metadata)) == document.metadata
    manual.metadata["tags"].append("y")
    assert SOURCES[0].metadata["tags"] == ["x"]


def test_it_is_the_core_formatter() -> None:
    core = CoreFormatter().format(
        read_text(MANUAL, format="text", meta={"source": "manual.txt"})
    )
    assert (
        HiQAFormatter().transform_documents(SOURCES[:1])[0].page_content
        == core.document.text
    )


def test_what_follows_reads_it_as_markdown_whatever_the_file_was_called() -> None:
    (manual,) = HiQAFormatter().transform_documents(SOURCES[:1])
    chunks = ContentAwareTextSplitter(
        chunk_size=80, plain_headings=False
    ).split_documents([manual])
    assert "1 Overview > 1.1 Safety" in [
        chunk.metadata["heading_path"] for chunk in chunks
    ]


async def test_a_chat_model_writes_it_sync_and_async() -> None:
    formatter = HiQAFormatter(Markdown())
    (manual,) = formatter.transform_documents(SOURCES[:1])
    assert json.loads(manual.metadata["format_report"]) | {"uncertain": []} == {
        "mode": "model",
        "windows": 1,
        "retries": 0,
        "fallbacks": 0,
        "restored": 0,
        "uncertain": [],
        "removed": [],
    }
    assert "# 1.1 Safety" in manual.page_content
    assert words(manual.page_content) == words(MANUAL)
    assert formatter.usage.calls == 1
    assert await formatter.atransform_documents(
        SOURCES
    ) == formatter.transform_documents(SOURCES)
    assert [d async for d in formatter.alazy_transform_documents(SOURCES)] == list(
        formatter.lazy_transform_documents(SOURCES)
    )


def test_presets_pickling_and_metadata_lists() -> None:
    formatter = HiQAFormatter(
        Markdown(), preset="code", metadata_lists=True, repeat_prompt=False
    )
    assert formatter.core.settings.window_words == 500
    again = pickle.loads(pickle.dumps(formatter))
    assert again.core.settings == formatter.core.settings
    assert again.transform_documents(SOURCES) == formatter.transform_documents(SOURCES)
    (manual,) = formatter.transform_documents(SOURCES[:1])
    assert manual.metadata["format_report"]["mode"] == "model"
    (quiet,) = HiQAFormatter(add_report=False).transform_documents(SOURCES[:1])
    assert "format_report" not in quiet.metadata


def test_wrong_documents_are_named() -> None:
    with pytest.raises(InvalidParameter, match="documents"):
        HiQAFormatter().transform_documents("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        HiQAFormatter(window=3)


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


def test_pdf_files(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    path = tmp_path / "pump.pdf"
    path.write_bytes(pdf_making.made(pdf_making.pump_page))
    for blob in (
        Blob.from_path(path),
        Blob.from_data(path.read_bytes(), mime_type="application/pdf", path=str(path)),
    ):
        (parsed,) = HiQAFormatter().parse(blob)
        assert "# Pump" in parsed.page_content and "# 1 Safety" in parsed.page_content
        assert (parsed.metadata["source"], parsed.metadata["pages"]) == (str(path), 1)
        assert json.loads(parsed.metadata["format_report"])["mode"] == "layout"
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(InvalidDocument, match="broken"):
        HiQAFormatter().parse(Blob.from_path(tmp_path / "broken.pdf"))


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
