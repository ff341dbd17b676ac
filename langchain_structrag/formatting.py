"""HiQA's Markdown formatter: a document transformer and a parser of files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from langchain_core.document_loaders import BaseBlobParser, Blob
from langchain_core.documents import BaseDocumentTransformer, Document
from typing_extensions import Unpack

from langchain_structrag.conversion import check_documents
from langchain_structrag.models import as_language_model
from langchain_structrag.reading import DocumentQueue
from langchain_structrag.splitting import further_settings
from structrag.formatting.formatter import Formatted
from structrag.formatting.formatter import HiQAFormatter as CoreFormatter
from structrag.integrations.documents import is_pdf
from structrag.integrations.formatted import format_notes, formatter_of
from structrag.integrations.metadata import PAGES_KEY, without_page_starts
from structrag.model_calls.settings import CallOptions
from structrag.model_calls.usage import Usage
from structrag.reading.formats import check_format


class FormatterArguments(CallOptions, total=False):
    """Settings of `HiQAFormatter` for its language model."""

    window_words: int
    padding_words: int
    prompt: str


class HiQAFormatter(BaseDocumentTransformer, BaseBlobParser):
    """Turns plain text or HTML into structured Markdown without losing a word (HiQA).

    Example:
        >>> manual = Document("1. Pump\\n\\nIt moves water.\\n\\n1.1 Cleaning\\n\\nRinse it.")
        >>> (markdown,) = HiQAFormatter().transform_documents([manual])  # or HiQAFormatter(llm)
        >>> print(markdown.page_content)
        # 1. Pump
        <BLANKLINE>
        It moves water.
        <BLANKLINE>
        ## 1.1 Cleaning
        <BLANKLINE>
        Rinse it.
        <BLANKLINE>

    Each document becomes one document with the same id and a copy of the metadata, plus two keys.
    `text_format` is "markdown", which tells the splitters and retrievers of this package how to
    read it. `format_report` holds mode, windows, retries, fallbacks, restored, uncertain (a
    sentence for each possible error) and removed (running heads and page numbers). The input
    documents are not changed.

    It also reads files, PDF by the layout of its pages (extra `pdf`), alone or as the parser of a
    loader:

        HiQAFormatter(llm).parse(Blob.from_path("manual.pdf"))

    Pass whole documents. If a loader cuts a file into pages, use its mode that joins them; form
    feeds between pages let the formatter recognise running heads and page numbers.

    Args:
        llm: A chat model or LLM that writes the Markdown window by window; every answer is checked.
            None: rules and layout alone.
        preset: "default"; "paper": every heading at level 1, with a number that shows its depth,
            each window after the whole of the one before.
        format: How documents are read: "markdown", "html", "text", or "auto" as in
            `ContentAwareTextSplitter`.
        add_report: Whether `format_report` is added.
        metadata_lists: Whether it is a dict; otherwise it is a JSON string, which every store
            accepts.
        password: The password of encrypted PDF files.
        reader: The reader of PDF files, as in `structrag.read_file`: "layout", "docling" or your
            own function.
        settings: Those of `structrag.HiQAFormatter`: window_words, padding_words, prompt,
            cache, max_concurrency, max_calls, progress, timeout.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        preset: str = "default",
        format: str = "auto",
        add_report: bool = True,
        metadata_lists: bool = False,
        password: str | None = None,
        reader: Any = "layout",
        **settings: Unpack[FormatterArguments],
    ) -> None:
        others = further_settings(HiQAFormatter, settings, FormatterArguments)
        self._format = check_format(format)
        self._add_report = add_report
        self._metadata_lists = metadata_lists
        self._password = password
        self._reader = reader
        options = {
            "preset": preset,
            "format": format,
            "add_report": add_report,
            "metadata_lists": metadata_lists,
            "password": password,
            "reader": reader,
        }
        self._remake = partial(type(self), llm, **options, **settings)
        self.core: CoreFormatter = formatter_of(
            preset, as_language_model(llm), **others
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._remake, ()  # counts and locks stay behind

    @property
    def usage(self) -> Usage:
        """The cost of this formatter so far."""
        return self.core.usage

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        """The documents in Markdown, in order."""
        return list(self.lazy_transform_documents(check_documents(documents)))

    def lazy_transform_documents(
        self, documents: Iterable[Document]
    ) -> Iterator[Document]:
        """`transform_documents` as a generator, which holds only a few documents at a time."""
        queue = DocumentQueue(documents, self._format)
        for formatted in self.core.format_all(queue):
            parent, _, _ = queue.next()
            yield self._in_markdown(parent, formatted)

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        """`transform_documents` on an event loop, by the model's own async calls."""
        return [
            document
            async for document in self.alazy_transform_documents(
                check_documents(documents)
            )
        ]

    async def alazy_transform_documents(
        self, documents: Iterable[Document]
    ) -> AsyncIterator[Document]:
        """`lazy_transform_documents` on an event loop."""
        queue = DocumentQueue(documents, self._format)
        async for formatted in self.core.aformat_all(queue):
            parent, _, _ = queue.next()
            yield self._in_markdown(parent, formatted)

    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        """The Markdown of a file.

        One document with its `source` and, for a PDF, the number of `pages`.

        Raises:
            InvalidDocument: a PDF is a scan, encrypted or damaged (a ValueError).
            MissingExtra: the package that reads PDF files is not installed (an ImportError).
        """
        metadata = dict(blob.metadata)
        if blob.source:
            metadata["source"] = str(blob.source)
        if not is_pdf(blob.source, blob.mimetype):
            document = Document(page_content=blob.as_string(), metadata=metadata)
            yield from self.transform_documents([document])
            return
        # With the packages of an extra.
        from structrag.reading.pdf.document import source_of_pdf

        file = blob.path if blob.path is not None else blob.as_bytes()
        source, pages = source_of_pdf(
            file, reader=self._reader, password=self._password
        )
        parent = Document(page_content="", metadata={**metadata, PAGES_KEY: pages})
        yield self._in_markdown(parent, self.core.format(source))

    def _in_markdown(self, parent: Document, formatted: Formatted) -> Document:
        notes = format_notes(
            formatted, report=self._add_report, flat=not self._metadata_lists
        )
        metadata = {**deepcopy(without_page_starts(parent.metadata)), **notes}
        return Document(
            page_content=formatted.document.text, metadata=metadata, id=parent.id
        )
