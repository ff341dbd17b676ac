"""Electronic books (EPUB 2 and 3)."""

from __future__ import annotations

import posixpath
from xml.etree.ElementTree import Element

from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.html.reader import read_html
from structrag.reading.limits import use_part
from structrag.reading.office.drawings import local
from structrag.reading.office.package import Package, joined
from structrag.reading.office.placed import PlacedText

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A book as Markdown, in the order of its spine. Its places are the files of its pages.

    The title is that of the book's metadata. The page of navigation is left out,
    with its lines in `removed`.

    Raises:
        InvalidDocument: The file is not an EPUB file, or it is broken, encrypted or too large.
    """
    package = Package(data, name)
    root_file = next(
        (
            joined("", each.get("full-path", ""))
            for each in package.xml(_CONTAINER).iter()
            if local(each) == "rootfile"
        ),
        "",
    )
    if not root_file:
        package.refuse(f"its {_CONTAINER} names no book. Create the file again.")
    root = package.xml(root_file)
    items = {each.get("id"): each for each in root.iter() if local(each) == "item"}
    encrypted = _encrypted(package)
    placed = PlacedText()
    unsure: list[str] = []
    removed: list[str] = []
    for entry in (each for each in root.iter() if local(each) == "itemref"):
        item = items.get(entry.get("idref"))
        if item is None or item.get("media-type", "").lower() not in _PAGES:
            continue
        part = joined(posixpath.dirname(root_file), item.get("href", ""))
        if part in encrypted:
            package.refuse("its pages are encrypted. Use a copy without protection.")
        if part not in package:
            use_part(part)
            unsure.append(f"The page {part} is missing in the file.")
            continue
        source = decoded(package.data(part), part).text
        # Navigation inside other pages is the contents of a chapter.
        text, _, layout = read_html(source, drop_navigation=False)
        if "nav" in item.get("properties", "").split():
            removed += filter(None, map(str.strip, text.splitlines()))
            continue
        placed.enter(part)
        for markdown in markdown_parts(text, layout, unsure):
            placed.add(markdown)
    return placed.draft(_title(root), unsure, removed)


def _encrypted(package: Package) -> set[str]:
    """The parts that cannot be read. Fonts often are among them."""
    if _ENCRYPTION not in package:
        return set()
    root = package.xml(_ENCRYPTION)
    return {joined("", each.get("URI", "")) for each in root.iter() if each.get("URI")}


def _title(root: Element) -> str:
    titles = (each.text or "" for each in root.iter() if local(each) == "title")
    return " ".join(next(titles, "").split())
