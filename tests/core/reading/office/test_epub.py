"""Electronic books."""

from __future__ import annotations

import io
import zipfile

import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.reading.office.epub import to_markdown

CONTAINER = '<container><rootfile full-path="OEBPS/book.opf"/></container>'
BOOK = """<package xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>Valves
and pumps</dc:title></metadata>
<manifest>
<item id="a" href="z%20first.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="a.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="p" href="p.png" media-type="image/png"/>
</manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="p"/><itemref idref="b"/>
<itemref idref="lost"/></spine></package>"""
PAGES = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": BOOK,
    "OEBPS/z first.xhtml": "<!DOCTYPE html><h1>One</h1><p># no heading</p>",
    "OEBPS/a.xhtml": "<h1>Two</h1><table><tr><th>a</th></tr><tr><td>b</td></tr></table>",
    "OEBPS/nav.xhtml": "<nav><h1>Contents</h1></nav>",
}


def packed(**changed: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, content in (PAGES | changed).items():
            package.writestr(name, content)
    return out.getvalue()


def test_pages_stand_in_the_order_of_the_spine() -> None:
    draft = to_markdown(packed(), "book.epub")
    assert draft.text == ("# One\n\n\\# no heading\n\n# Two\n\n| a |\n| --- |\n| b |\n")
    assert draft.title == "Valves and pumps"
    assert draft.removed == ("Contents",)
    assert draft.places == ((0, "OEBPS/z first.xhtml"), (22, "OEBPS/a.xhtml"))


def test_missing_pages_are_said() -> None:
    book = BOOK.replace('href="a.xhtml"', 'href="../../gone.xhtml"')
    draft = to_markdown(packed(**{"OEBPS/book.opf": book}))
    assert draft.uncertain == ("The page gone.xhtml is missing in the file.",)


@examples
def test_unreadable_books_are_refused(part: str, content: str, reason: str) -> None:
    with pytest.raises(InvalidDocument, match=rf"book\.epub.*{reason}"):
        to_markdown(packed(**{part: content}), "book.epub")
