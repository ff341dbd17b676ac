"""Electronic books (EPUB 2 and 3)."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from xml.etree.ElementTree import Element

from structrag.errors import InvalidDocument
from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.escaping import heading_line
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.html.reader import read_html, text_offset
from structrag.reading.limits import use_part
from structrag.reading.office.drawings import local
from structrag.reading.office.package import Package, joined, safe_xml
from structrag.reading.office.placed import PlacedText
from structrag.records import Layout

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_LONGEST = 500  # characters of a block that shows a title
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]{0,500}>")
_TYPE = "{http://www.idpf.org/2007/ops}type"
_ANCHOR = re.compile(r"""\s(?:id|name)=["']([^"'<>]{1,500})["']""")

_Entry = tuple[str, int, str]  # an anchor, its level and title


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A book as Markdown, in the order of its spine. Its places are the files of its pages.

    The title is that of the book's metadata. Where the table of contents names more than twice
    as many places as there are headings, its entries are those of pages without any. The page of
    navigation is left out, with its lines in `removed`.

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
    contents = _contents(package, posixpath.dirname(root_file), items.values())
    encrypted = _encrypted(package)
    placed = PlacedText()
    unsure: list[str] = []
    removed: list[str] = []
    pages: list[tuple[str, str, str, Layout]] = []
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
        pages.append((part, source, text, layout))
    marked = sum(len(layout.headings) for *_, layout in pages)
    is_named = 2 * marked + 1 < sum(map(len, contents.values()))
    for part, source, text, layout in pages:
        parts = markdown_parts(text, layout, unsure)
        if is_named and not layout.headings:
            _add_titles(parts, source, layout, contents.get(part, []))
        placed.enter(part)
        for markdown in parts:
            placed.add(markdown)
    return placed.draft(_title(root), unsure, removed)


def _contents(
    package: Package, folder: str, items: Iterable[Element]
) -> dict[str, list[_Entry]]:
    """The entries of the navigation document, else of the NCX, by the parts that they name."""
    contents: dict[str, list[_Entry]] = {}
    for item in sorted(items, key=lambda item: "nav" not in item.get("properties", "")):
        part = joined(folder, item.get("href", ""))
        is_nav = "nav" in item.get("properties", "").split()
        if (is_nav or part.endswith(".ncx")) and part in package and not contents:
            with suppress(InvalidDocument):
                root = safe_xml(_DOCTYPE.sub(b"", package.data(part), 1))
                for target, level, title in _entries(root):
                    page, _, anchor = target.partition("#")
                    page = joined(posixpath.dirname(part), page)
                    contents.setdefault(page, []).append((anchor, level, title))
    return contents


def _entries(root: Element) -> Iterator[_Entry]:
    """What a table of contents names: the target, its level and title."""
    title = ""
    parts: list[tuple[int, str]] = []  # without a target of their own
    stack = [(root, 0)]
    while stack:
        element, level = stack.pop()
        name = local(element)
        if name == "pageList" or (
            name == "nav" and "toc" not in element.get(_TYPE, "toc")
        ):
            continue
        if name in ("a", "span", "navLabel"):
            title = " ".join("".join(element.itertext()).split())
        target = element.get("href") or element.get("src")
        if name == "span" and not len(element):
            parts.append((level, title))
        if target and title and name in ("a", "content"):
            for entry in (*parts, (level, title)):
                yield target, *entry
            parts.clear()
            continue
        level += name in ("li", "navPoint")
        stack += [(child, level) for child in reversed(element)]


def _add_titles(
    parts: list[str], source: str, layout: Layout, entries: list[_Entry]
) -> None:
    """Put the entries of the contents before the blocks of a page that they name, or in the place
    of those that show their titles."""
    anchors = {match[1]: match.start() for match in _ANCHOR.finditer(source)}
    starts = [block.start for block in layout.blocks]
    named = [
        (text_offset(layout.source_map, anchors.get(anchor, 0)), level, title)
        for anchor, level, title in entries
    ]
    for offset, level, title in sorted(named, key=itemgetter(0))[::-1]:
        first = last = max(bisect_right(starts, offset) - 1, 0)
        rest = _letters(title)
        while last < len(parts) and len(parts[last]) < _LONGEST:
            shown = _letters(parts[last])
            if not shown or not rest.startswith(shown):
                break
            rest = rest.removeprefix(shown)
            last += 1
        parts[first:last] = [heading_line(level, title)]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _encrypted(package: Package) -> set[str]:
    """The parts that cannot be read. Fonts often are among them."""
    if _ENCRYPTION not in package:
        return set()
    root = package.xml(_ENCRYPTION)
    return {joined("", each.get("URI", "")) for each in root.iter() if each.get("URI")}


def _title(root: Element) -> str:
    titles = (each.text or "" for each in root.iter() if local(each) == "title")
    return " ".join(next(titles, "").split())
