"""A PDF as a Markdown document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from structrag.reading.drafts import Draft
from structrag.reading.limits import reading_within
from structrag.reading.markdown import markdown_headings
from structrag.reading.outline import title_of_headings
from structrag.reading.paging import starts_in_text, written_starts
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Page
from structrag.reading.pdf.reader import Source, source_name, title_of_pdf
from structrag.reading.pdf.readers import PdfReader, pages_of
from structrag.records import Document


def pdf_document(
    source: Source,
    *,
    reader: PdfReader = "layout",
    password: str | None = None,
    id: str = "",
    title: str = "",
    meta: dict[str, Any] | None = None,
    images_to: str | os.PathLike[str] | None = None,
) -> Document:
    """A PDF as a Markdown document.

    Laid-out pages become one by `markdown_of_pages`, Markdown stays as it is. The title is the
    given one, else with the reader "layout" that of the file's metadata unless a program made it
    up, else the first heading, else the stem of the file's name. `meta["pages"]` counts the pages;
    `meta["page_starts"]` says where they begin, for `pages_between`; `meta["pages_without_text"]`
    lists the scanned ones, from 1, if there are any. Pages that a reader gives as Markdown are
    joined by a blank line. `images_to` is a folder for the pictures as PNG files, which their image
    blocks then name (`read_pdf`). Raises what `pages_of` raises.
    """
    with reading_within(name=source_name(source)):
        pages = pages_of(source, reader=reader, password=password, images_to=images_to)
        laid_out = [page for page in pages if isinstance(page, Page)]
        draft = markdown_of_pages(laid_out) if laid_out else _joined(pages)
        text = draft.text
        facts: dict[str, Any] = {**_origin(source), **(meta or {}), "pages": len(pages)}
        facts |= written_starts(draft.page_starts)
        scans = [
            i
            for i, page in enumerate(laid_out, start=1)
            if page.images and not page.lines
        ]
        if scans:
            facts["pages_without_text"] = scans
        if not title and reader == "layout":
            title = title_of_pdf(source, password=password)
        if not title:
            title = (
                title_of_headings(markdown_headings(text))
                or Path(str(facts.get("source", ""))).stem
            )
        return Document(text, id=id, title=title, format="markdown", meta=facts)


def source_of_pdf(
    source: Source, *, reader: PdfReader = "layout", password: str | None = None
) -> tuple[list[Page] | Document, int]:
    """What a formatter takes of a PDF, and its page count. It takes laid-out pages, or a Markdown
    document."""
    pages = pages_of(source, reader=reader, password=password)
    laid_out = [page for page in pages if isinstance(page, Page)]
    if laid_out:
        return laid_out, len(pages)
    draft = _joined(pages)
    meta = written_starts(draft.page_starts)
    return Document(draft.text, format="markdown", meta=meta), len(pages)


def _origin(source: Source) -> dict[str, str]:
    return {} if isinstance(source, bytes) else {"source": str(Path(source))}


def _joined(pages: list[Any]) -> Draft:
    texts = [
        (str(page).strip("\n"), [(0, number)])
        for number, page in enumerate(pages, start=1)
    ]
    filled = [(text, starts) for text, starts in texts if text.strip()]
    whole = "\n\n".join(text for text, _ in filled) + "\n"
    return Draft(whole, page_starts=tuple(starts_in_text(whole, filled)))
