"""HTML documents to Markdown, by the layout that was read with them."""

from __future__ import annotations

from structrag.errors import InvalidParameter
from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled
from structrag.reading.html.markdown import markdown_parts
from structrag.records import Document


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
