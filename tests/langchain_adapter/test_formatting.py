"""HiQAFormatter as a LangChain document transformer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

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
