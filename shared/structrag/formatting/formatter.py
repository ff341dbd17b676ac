"""HiQA's Markdown formatter: any source to structured Markdown, no word lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from structrag.chunks.model_splitter import groups_of
from structrag.errors import InvalidParameter, check_whole
from structrag.formatting.converting import (
    PAPER_PROMPT,
    PROMPT,
    Converted,
    Converting,
    Span,
    convert_flow,
)
from structrag.formatting.heuristic import (
    cleaned_text,
    markdown_of_span,
    markdown_of_text,
    sound_headings,
    unified,
)
from structrag.model_calls.requests import Flow, gather
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import (
    CallOptions,
    as_progress,
    check_call_options,
)
from structrag.model_calls.usage import Usage
from structrag.models.llm import as_language_model
from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.files import read_text
from structrag.reading.formats import format_named
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.markup.code import SUFFIXES
from structrag.reading.paging import PAGE_STARTS, written_starts
from structrag.reading.pdf.pages import Page
from structrag.reading.sections import headings_of_markdown, parse
from structrag.records import Document

if TYPE_CHECKING:
    from typing_extensions import Unpack

Formattable = str | Document | Sequence[Page]

_PAGE_LENGTH = 2000  # characters that a page counts for when sources are grouped


@dataclass(frozen=True, slots=True)
class FormatReport:
    """How a source became Markdown, and what to check.

    Example:
        >>> HiQAFormatter().format("1. Battery\\n\\nIt lasts long.").report.mode
        'rules'
    """

    # "kept" (Markdown already), "layout" (HTML, pages), "rules" (plain text) or "model".
    mode: str
    windows: int = 0  # that the language model was shown
    # Second calls, because the first answer failed a guard or the call failed.
    retries: int = 0
    # Windows formatted without the model, because the second answer failed too.
    fallbacks: int = 0
    restored: int = 0  # words that the model left out and that were put back
    # Possible faults, one sentence each, with the window or page.
    uncertain: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # running heads and page numbers left out, in order


@dataclass(frozen=True, slots=True)
class Formatted:
    """A document in Markdown and how it came about.

    Example:
        >>> HiQAFormatter().format("1. Battery\\n\\nIt lasts long.").document.format
        'markdown'
    """

    # Format "markdown"; its id is the original's, which `meta["source"]` names.
    document: Document
    report: FormatReport


class HiQAFormatterOptions(CallOptions, total=False):
    """All settings of `HiQAFormatter` as keywords."""

    window_words: int
    padding_words: int
    prompt: str


class HiQAFormatter:
    """Turns plain text, HTML and PDF pages into structured Markdown.

    This is the "Markdown Formatter" of HiQA. No word of the source is lost.

    Example:
        >>> text = "1. Battery\\n\\nIt lasts long.\\n\\n2. Camera\\n\\nIt sees far."
        >>> HiQAFormatter().format(text).document.text
        '# 1. Battery\\n\\nIt lasts long.\\n\\n# 2. Camera\\n\\nIt sees far.\\n'

    Without a language model, plain text is formatted by its numbering, capitals and underlines, and
    HTML and pages by their layout. Markdown with headings is left unchanged.

    With a model, plain text, pages, and markup without headings are converted window by window, in
    sequence. Each message shows the end of the previous input and output, and the window between
    words of padding. An answer must pass these guards:

    - it has 0.7 to 1.5 words for each of the source's;
    - it has at least 95% of the source's words, and almost no others;
    - the numbers of its headings do not decrease.

    A failed answer is requested once more. If that fails too, the window is formatted without the
    model. Words that an accepted answer omits are put back in their places.

    Pages of plain text end at form feeds. Running heads that repeat on 60% of the pages are kept
    once, and page numbers are removed. The report lists both.

    Args:
        llm: A function `str -> str` or a `LanguageModel`. None: no model.
        window_words: Words converted in one call, W.
        padding_words: Words of context shown before and after them, K. Twice as many are shown of
            the previous input and output.
        prompt: The instruction at the head of each message. An explanation of the marks around a
            window is added.
        options: The settings of `CallSettings`. With a cache, a restarted
            run repeats no finished call. `max_concurrency` applies to several sources: the calls of
            one source run in sequence. `progress` is called with ("formatting", windows done,
            windows) as a source's windows are converted.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        window_words: int = 1500,
        padding_words: int = 150,
        prompt: str = PROMPT,
        **options: Unpack[CallOptions],
    ) -> None:
        check_whole("window_words", window_words, 1)
        check_whole("padding_words", padding_words, 0)
        if not isinstance(prompt, str) or not prompt.strip():
            raise InvalidParameter(
                f"prompt must be an instruction for the language model; got {prompt!r}."
            )
        check_call_options(options, HiQAFormatter)
        self.settings: Converting = Converting(
            window_words,
            padding_words,
            prompt.strip(),
            progress=as_progress(options.get("progress")),
        )
        # Progress counts windows, so the runner reports none of its own.
        self.runner: Runner = Runner(
            llm=as_language_model(llm),
            **(options | CallOptions(progress=None)),
        )

    @classmethod
    def paper(
        cls, llm: Any = None, **changes: Unpack[HiQAFormatterOptions]
    ) -> HiQAFormatter:
        """As published: all headings at level 1, numbers show the depth.

        Each window is calibrated by the whole of the one before (equation 1). D_I(t-1) is shown
        without its padding: the words behind it begin the window itself, those in front of it were
        converted earlier. The paper gives neither a prompt nor window sizes; these are ours.
        """
        formatter = cls(llm, **(HiQAFormatterOptions(prompt=PAPER_PROMPT) | changes))
        formatter.settings = replace(formatter.settings, whole_previous=True)
        return formatter

    @property
    def usage(self) -> Usage:
        """The usage of this formatter so far. Windows formatted without the model after a failure
        are counted as `fallbacks["windows"]`."""
        return self.runner.usage

    def format(self, source: Formattable) -> Formatted:
        """Format one source.

        A string is treated as plain text. An empty source returns an empty document.

        Raises:
            InvalidParameter: the source has another type.
            BudgetExceeded: `max_calls` was reached.
        """
        return self._counted(self.runner.run(self.flow(source)))

    async def aformat(self, source: Formattable) -> Formatted:
        """`format` on an event loop."""
        return self._counted(await self.runner.arun(self.flow(source)))

    def format_all(self, sources: Iterable[Formattable]) -> Iterator[Formatted]:
        """Format several sources concurrently. Results are yielded in order, in groups of limited
        size."""
        for group in groups_of(sources, _length):
            flow = gather([self.flow(source) for source in group])
            for formatted in self.runner.run(flow):
                yield self._counted(formatted)

    async def aformat_all(
        self, sources: Iterable[Formattable]
    ) -> AsyncIterator[Formatted]:
        """`format_all` on an event loop."""
        for group in groups_of(sources, _length):
            flow = gather([self.flow(source) for source in group])
            for formatted in await self.runner.arun(flow):
                yield self._counted(formatted)

    def flow(self, source: Formattable) -> Flow[Formatted]:
        """`format` as a flow."""
        read = _read_source(source, with_model=self.runner.llm is not None)
        converted = Converted(read.draft.text)
        if read.mode == "model":
            converted = yield from convert_flow(
                read.draft.text, read.span, self.settings
            )
        report = FormatReport(
            mode=read.mode,
            windows=converted.windows,
            retries=converted.retries,
            fallbacks=converted.fallbacks,
            restored=converted.restored,
            uncertain=(*read.draft.uncertain, *converted.uncertain),
            removed=read.draft.removed,
        )
        return Formatted(_document(read, converted.text), report)

    def _counted(self, formatted: Formatted) -> Formatted:
        if formatted.report.fallbacks:
            self.usage.fallbacks["windows"] += formatted.report.fallbacks
        return formatted


@dataclass(frozen=True, slots=True)
class _Source:
    """A source that was read: Markdown already, or a text to convert."""

    document: Document | None  # the original; None for pages
    mode: str  # how it becomes Markdown: "kept", "layout", "rules" or "model"
    draft: Draft  # the Markdown; with mode "model" the text that the model is shown
    span: Span  # with mode "model": the way out where the model fails


def _read_source(source: Any, *, with_model: bool) -> _Source:
    """Read a string (plain text), a Document or a sequence of Page."""
    if isinstance(source, str):
        source = Document(source)
    if isinstance(source, Document):
        return _read_document(source, with_model)
    if isinstance(source, Sequence) and all(isinstance(page, Page) for page in source):
        from structrag.reading.pdf.layout import markdown_of_pages

        draft = markdown_of_pages(source)
        return _marked_up(None, draft, "model" if with_model else "layout")
    kind = type(source).__name__
    if isinstance(source, Sequence) and source:
        kind = f"a sequence of {type(source[0]).__name__}"
    raise InvalidParameter(
        f"source must be a string, a Document or a sequence of Page; got {kind}. "
        "Read a file with structrag.read_file(path)."
    )


def _read_document(document: Document, with_model: bool) -> _Source:
    if document.format == "html":
        draft = markdown_of_html(document)
        titled = bool(document.layout and document.layout.headings)
        return _marked_up(
            document, draft, "layout" if titled or not with_model else "model"
        )
    if document.format == "markdown":
        return _read_markdown(document, with_model)
    format = format_named(document.format)
    if format and format.is_markup:
        return _marked_up(document, markdown_of_markup(document), "layout")
    if not with_model:
        return _Source(
            document, "rules", markdown_of_text(document.text), _as_it_is("")
        )
    cleaned = cleaned_text(document.text)
    return _Source(document, "model", cleaned, _by_rules(cleaned.text))


def _read_markdown(document: Document, with_model: bool) -> _Source:
    if headings_of_markdown(document.text) or not document.text.strip():
        return _marked_up(document, Draft(document.text), "kept")
    if with_model:
        return _marked_up(document, Draft(unified(document.text)), "model")
    note = "The Markdown has no headings; it was kept as it is, as one section."
    return _marked_up(document, Draft(document.text, (note,)), "kept")


def _marked_up(document: Document | None, draft: Draft, mode: str) -> _Source:
    return _Source(document, mode, draft, _as_it_is(draft.text))


def _by_rules(text: str) -> Span:
    """Parts of a text by rules, with headings of the whole text."""
    # Only looked for when the model fails.
    headings = cache(lambda: sound_headings(text))
    return lambda start, end: markdown_of_span(text, headings(), start, end)


def _as_it_is(text: str) -> Span:
    return lambda start, end: (text[start:end], [])


def _document(read: _Source, text: str) -> Document:
    """The new document, with the identity, metadata and title of the original."""
    original = read.document
    title = (original.title if original else "") or read_text(
        text, format="markdown"
    ).title
    if original is None:
        pages = (
            written_starts(read.draft.page_starts) if text == read.draft.text else {}
        )
        return Document(text, title=title, format="markdown", meta=pages)
    meta = {**original.meta, "source": original.id}
    if text != original.text:
        meta.pop(PAGE_STARTS, None)  # of the text as it was
    return Document(text, id=original.id, title=title, format="markdown", meta=meta)


def _length(source: Any) -> int:
    if isinstance(source, Document):
        return len(source.text)
    return len(source) if isinstance(source, str) else _PAGE_LENGTH * len(source)


_TEXTS = ("paragraph", "list", "quote", "image", "other")


def markdown_of_markup(document: Document) -> Draft:
    """Markdown of reStructuredText, AsciiDoc, LaTeX, code and their like.

    Headings keep their levels, at most six. Code, tables and mathematics are fenced as they were
    written, source code with the lines of its definitions; other blocks are text.
    """
    text = document.text
    is_code = document.format in SUFFIXES
    parts = []
    outline = parse(document)
    for section in outline.sections:
        if section.path:
            parts.append(heading_line(section.level, section.title))
        if is_code:
            body = text[section.start : section.body_end].strip("\r\n")
            parts.append(fenced(body, document.format) if body.strip() else "")
            continue
        for block in outline.blocks(section):
            written = text[block.start : block.end].strip("\r\n")
            if block.kind in _TEXTS:
                parts.append("\n".join(escaped_lines(written.splitlines())))
            elif written.strip():
                parts.append(fenced(written))
    unsure = "No headings were found; the text is one section."
    has_note = len(outline.sections) == 1 and text.strip()
    return Draft(assembled(parts), (unsure,) if has_note else ())


def markdown_of_html(document: Document) -> Draft:
    """Markdown of a document that `read_text` made from HTML.

    Headings keep their levels, at most six. Tables keep their rows, with an empty header row where
    there was no header. Code is fenced. Images are their alternative text. Every letter and digit
    of the visible text is in the result, in order.

    Raises:
        InvalidParameter: the document has no layout.
    """
    layout = document.layout
    if layout is None:
        raise InvalidParameter(
            "document must be made from HTML by structrag.read_text or structrag.read_file; got "
            "one without a layout."
        )
    unsure: list[str] = []
    parts = markdown_parts(document.text, layout, unsure)
    if not layout.headings and document.text.strip():
        unsure.append("No headings were found; the text is one section.")
    return Draft(assembled(parts), tuple(unsure))
