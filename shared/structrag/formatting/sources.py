"""What the formatter is given, as a text that is or becomes Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from structrag.errors import InvalidParameter
from structrag.formatting.cleaning import cleaned_text, unified
from structrag.formatting.heuristic import markdown_of_span, markdown_of_text, sound_headings
from structrag.formatting.html import markdown_of_html
from structrag.reading.drafts import Draft
from structrag.reading.pdf.pages import Page
from structrag.reading.sections import headings_of_markdown
from structrag.records import Document

Span = Callable[
    [int, int], tuple[str, list[str]]
]  # a part of the text as Markdown without a model, and what is uncertain


@dataclass(frozen=True, slots=True)
class Source:
    """A source that is read: either Markdown already, or a text to be converted window by window."""

    document: Document | None  # the original; None for pages
    mode: str  # how it becomes Markdown: "kept", "layout", "rules" or "model"
    draft: Draft  # the Markdown; with mode "model" the text that the model is shown
    span: Span  # with mode "model": the way out where the model fails


def read_source(source: Any, *, with_model: bool) -> Source:
    """Read a string (plain text), a Document or a sequence of Page.

    A model is for plain text, pages, and markup without a single heading; Markdown that has
    headings is kept, HTML that has some is written by its layout.

    Raises:
        InvalidParameter: it is none of these.
    """
    if isinstance(source, str):
        source = Document(source)
    if isinstance(source, Document):
        return _read_document(source, with_model)
    if isinstance(source, Sequence) and all(isinstance(page, Page) for page in source):
        return _marked_up(None, _pages(source), "model" if with_model else "layout")
    kinds = (
        f"a sequence of {type(source[0]).__name__}"
        if isinstance(source, Sequence) and source
        else type(source).__name__
    )
    raise InvalidParameter(
        f"source must be a string, a Document or a sequence of Page; got {kinds}. Read a file with "
        "structrag.read_file(path)."
    )


def _read_document(document: Document, with_model: bool) -> Source:
    if document.format == "html":
        draft = markdown_of_html(document)
        titled = document.layout is not None and bool(document.layout.headings)
        return _marked_up(document, draft, "layout" if titled or not with_model else "model")
    if document.format == "markdown":
        if headings_of_markdown(document.text) or not document.text.strip():
            return _marked_up(document, Draft(document.text), "kept")
        if with_model:
            return _marked_up(document, Draft(unified(document.text)), "model")
        note = "The Markdown has no headings; it was kept as it is, as one section."
        return _marked_up(document, Draft(document.text, (note,)), "kept")
    if not with_model:
        return Source(document, "rules", markdown_of_text(document.text), _as_it_is(""))
    cleaned = cleaned_text(document.text)
    return Source(document, "model", cleaned, _by_rules(cleaned.text))


def _marked_up(document: Document | None, draft: Draft, mode: str) -> Source:
    return Source(document, mode, draft, _as_it_is(draft.text))


def _by_rules(text: str) -> Span:
    """Parts of a plain text by the rules, with the headings of the whole text, which are looked for
    when the first is wanted."""
    headings = cache(lambda: sound_headings(text))
    return lambda start, end: markdown_of_span(text, headings(), start, end)


def _as_it_is(text: str) -> Span:
    return lambda start, end: (text[start:end], [])


def _pages(pages: Sequence[Page]) -> Draft:
    from structrag.reading.pdf.layout import markdown_of_pages

    return markdown_of_pages(pages)
