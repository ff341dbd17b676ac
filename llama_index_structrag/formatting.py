"""HiQA's Markdown formatter: a transformation of pipelines and a reader of files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal, TypeVar

from llama_index.core.bridge.pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    TextNode,
    TransformComponent,
)
from typing_extensions import Self

from llama_index_structrag.conversion import read_node
from llama_index_structrag.models import core_model
from llama_index_structrag.reading import (
    LanguageModelField,
    checked_cache,
    shown_groups,
)
from structrag.errors import InvalidDocument
from structrag.formatting.formatter import Formatted
from structrag.formatting.formatter import HiQAFormatter as CoreFormatter
from structrag.integrations.documents import is_pdf
from structrag.integrations.formatted import format_notes, formatter_of
from structrag.integrations.metadata import (
    FORMAT_KEY,
    FORMAT_REPORT_KEY,
    PAGES_KEY,
    without_page_starts,
)
from structrag.model_calls.requests import Flow, gather
from structrag.reading.decoding import decoded
from structrag.reading.opening import file_bytes
from structrag.reading.paging import PAGE_STARTS
from structrag.reading.pdf.pages import Page
from structrag.records import Document as CoreDocument

NodeT = TypeVar("NodeT", bound=BaseNode)
_HIDDEN = (FORMAT_KEY, FORMAT_REPORT_KEY)


class HiQAFormatter(TransformComponent, BaseReader):
    """Turns plain text or HTML into structured Markdown without losing a word (HiQA).

    Example:
        >>> from llama_index.core.ingestion import IngestionPipeline
        >>> manual = Document(text="1. Pump\\n\\nIt moves water.\\n\\n1.1 Cleaning\\n\\nRinse it.")
        >>> pipeline = IngestionPipeline(transformations=[HiQAFormatter()])  # or with llm=...
        >>> (markdown,) = pipeline.run(documents=[manual])
        >>> print(markdown.text)
        # 1. Pump
        <BLANKLINE>
        It moves water.
        <BLANKLINE>
        ## 1.1 Cleaning
        <BLANKLINE>
        Rinse it.
        <BLANKLINE>

    Each document becomes a copy with the same id and metadata, plus two keys that models do not
    see. `text_format` is "markdown", which tells the parsers and retrievers of this package how to
    read it. `format_report` is a JSON string with mode, windows, retries, fallbacks, restored,
    uncertain (a sentence for each possible error) and removed (running heads and page numbers).

    It also reads files, PDF by the layout of its pages (extra `pdf`), alone or for a folder:

        SimpleDirectoryReader("manuals", file_extractor={".pdf": HiQAFormatter()}).load_data()

    Pass whole documents. If a reader cuts a file into pages, join them; form feeds between pages
    let the formatter recognise running heads and page numbers. Nodes without text are passed on.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True
    )

    llm: LanguageModelField = Field(
        default=None,
        description=(
            "LlamaIndex LLM that writes the Markdown window by window; every answer is checked. "
            "None: rules and layout."
        ),
    )
    preset: Literal["default", "paper"] = Field(
        default="default",
        description="'paper': headings at level 1 with numbers, as published.",
    )
    window_words: int | None = Field(
        default=None,
        description="Words converted in one call; None: set by the preset.",
    )
    padding_words: int | None = Field(
        default=None,
        description="Words of context around them; None: set by the preset.",
    )
    prompt: str | None = Field(
        default=None,
        description="The instruction in each message; None: set by the preset.",
    )
    format: Literal["auto", "html", "markdown", "text"] = Field(
        default="auto",
        description=(
            "Format of the documents; auto: detected from file_type, the file's suffix or the "
            "text."
        ),
    )
    add_report: bool = Field(
        default=True, description="Whether to add format_report to the metadata."
    )
    algorithm_version: Literal[1] = Field(
        default=1,
        description="The version changes when the same input would be formatted differently.",
    )
    password: str | None = Field(
        default=None,
        exclude=True,
        repr=False,
        description="The password of encrypted PDF files.",
    )
    reader: Any = Field(
        default="layout",
        exclude=True,
        description="The reader of PDF files: 'layout', 'docling' or a function.",
    )
    cache: Any = Field(
        default=None,
        exclude=True,
        description="A structrag Cache that keeps finished calls; None: no cache.",
    )
    max_concurrency: int = Field(
        default=8,
        gt=0,
        exclude=True,
        description="The largest number of concurrent calls.",
    )
    max_calls: int | None = Field(
        default=None,
        gt=0,
        exclude=True,
        description="The largest number of calls in one run; None: no limit.",
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        exclude=True,
        description="The time limit of one call in seconds; None: no limit.",
    )

    @classmethod
    def class_name(cls) -> str:
        return "HiQAFormatter"

    @model_validator(mode="after")
    def _check_core(self) -> Self:
        self._core()
        return self

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The documents in Markdown, in order. The input is not changed."""
        core = self._core()
        documents: list[BaseNode] = []
        for group in shown_groups(
            nodes, bool(kwargs.get("show_progress")), "Formatting documents"
        ):
            results = core.runner.run(self._flow(core, group))
            documents += self._in_markdown(group, results)
        return documents

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The same by the model's own asynchronous calls."""
        core = self._core()
        documents: list[BaseNode] = []
        for group in shown_groups(
            nodes, bool(kwargs.get("show_progress")), "Formatting documents"
        ):
            results = await core.runner.arun(self._flow(core, group))
            documents += self._in_markdown(group, results)
        return documents

    def load_data(
        self, file: Any, extra_info: dict[str, Any] | None = None, fs: Any = None
    ) -> list[Document]:
        """The Markdown of a file.

        One document, whose id is the path. For a PDF, `pages` in its metadata is the number of
        pages.

        Raises:
            InvalidDocument: a PDF is a scan, encrypted or damaged (a ValueError).
            MissingExtra: the package that reads PDF files is not installed (an ImportError).
        """
        document, pdf = _opened(file, extra_info, fs, self.reader, self.password)
        source = pdf or read_node(document, document.id_, format=self.format)
        return [self._copy(document, self._core().format(source))]

    async def aload_data(
        self, file: Any, extra_info: dict[str, Any] | None = None, fs: Any = None
    ) -> list[Document]:
        """`load_data` by the model's own asynchronous calls."""
        document, pdf = await asyncio.to_thread(
            _opened, file, extra_info, fs, self.reader, self.password
        )
        source = pdf or read_node(document, document.id_, format=self.format)
        return [self._copy(document, await self._core().aformat(source))]

    def __getstate__(self) -> dict[Any, Any]:
        """The state for pickle, which unlike the base class drops no setting."""
        return dict(BaseModel.__getstate__(self))

    def _core(self) -> CoreFormatter:
        return formatter_of(
            self.preset,
            core_model(self.llm),
            window_words=self.window_words,
            padding_words=self.padding_words,
            prompt=self.prompt,
            cache=checked_cache(self.cache),
            max_concurrency=self.max_concurrency,
            max_calls=self.max_calls,
            timeout=self.timeout,
        )

    def _flow(
        self, core: CoreFormatter, nodes: Sequence[BaseNode]
    ) -> Flow[list[Formatted]]:
        sources = [
            read_node(node, node.node_id, format=self.format)
            for node in nodes
            if _text(node)
        ]
        return gather([core.flow(source) for source in sources])

    def _in_markdown(
        self, nodes: Sequence[BaseNode], results: Sequence[Formatted]
    ) -> list[BaseNode]:
        ready = iter(results)
        return [
            self._copy(node, next(ready)) if _text(node) else node for node in nodes
        ]

    def _copy(self, node: NodeT, formatted: Formatted) -> NodeT:
        copy = node.model_copy(deep=True)
        copy.set_content(formatted.document.text)
        notes = format_notes(formatted, report=self.add_report, flat=True)
        copy.metadata = {**without_page_starts(copy.metadata), **notes}
        hidden = [*_HIDDEN, *([PAGE_STARTS] if PAGE_STARTS in notes else [])]
        for keys in (
            copy.excluded_embed_metadata_keys,
            copy.excluded_llm_metadata_keys,
        ):
            keys += [key for key in hidden if key not in keys]
        # Offsets of another parser are of the text as it was.
        if isinstance(copy, TextNode) and not isinstance(copy, Document):
            copy.start_char_idx = copy.end_char_idx = None
        return copy


def _opened(
    file: str | os.PathLike[str],
    extra_info: Mapping[str, Any] | None,
    fs: Any,
    reader: Any,
    password: str | None,
) -> tuple[Document, list[Page] | CoreDocument | None]:
    """A file as a document, and a PDF as formatters take it.

    The document of a PDF has no text yet.
    """
    name = os.fspath(file)
    metadata = {
        "file_path": name,
        "file_name": PurePath(name).name,
        **(extra_info or {}),
    }
    has_pages = is_pdf(name)
    data: Any = name  # a reader of PDF reads the file itself
    if fs is not None or not has_pages:
        try:
            data = file_bytes(Path(name)) if fs is None else fs.read_bytes(name)
        except OSError as error:
            raise InvalidDocument(
                f"Cannot read {name!r}: {error.strerror or error}."
            ) from error
    if not has_pages:
        text, undecodable = decoded(data, name)
        if undecodable:
            metadata["undecodable"] = undecodable
        return Document(text=text, id_=name, metadata=metadata), None
    # With the packages of an extra.
    from structrag.reading.pdf.document import source_of_pdf

    pdf, pages = source_of_pdf(data, reader=reader, password=password)
    document = Document(text="", id_=name, metadata={**metadata, PAGES_KEY: pages})
    for keys in (
        document.excluded_embed_metadata_keys,
        document.excluded_llm_metadata_keys,
    ):
        keys.append(PAGES_KEY)
    return document, pdf


def _text(node: BaseNode) -> str:
    return node.get_content(metadata_mode=MetadataMode.NONE).strip()
