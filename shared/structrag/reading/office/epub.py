"""Electronic books (EPUB 2 and 3)."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from xml.etree.ElementTree import Element

from structrag.errors import InvalidDocument
from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.html.reader import read_html, text_offset
from structrag.reading.limits import use_part
from structrag.reading.office.drawings import local
from structrag.reading.office.package import Package, joined, safe_xml
from structrag.reading.office.placed import PlacedText
from structrag.reading.plain_titles import TITLE_LENGTH
from structrag.records import Block, Heading, Layout

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")

_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*>")
_TYPE = "{http://www.idpf.org/2007/ops}type"
_ANCHOR = re.compile(r"""\s(?:id|name)=(?:"([^"]*)"|'([^']*)')""")

_Entry = tuple[str, int, str]  # an anchor, its level and title


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A book as Markdown, in the order of its spine. Its places are the files of its pages.

    The title is that of the book's metadata. Where the table of contents names
    most of its parts without headings, its entries are theirs. The page of navigation is left out,
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
    entries = sum(map(len, contents.values()))
    marked = sum(len(layout.headings) for *_, layout in pages)
    for part, source, text, layout in pages:
        if 2 * marked + 1 < entries and text and not layout.headings:
            layout = _titled(source, text, layout, contents.get(part, []))
        placed.enter(part)
        for markdown in markdown_parts(text, layout, unsure):
            placed.add(markdown)
    return placed.draft(_title(root), unsure, removed)


def _contents(
    package: Package, folder: str, items: Iterable[Element]
) -> dict[str, list[_Entry]]:
    """The entries of the navigation document, else of the NCX, by the parts that they name."""
    parts = [
        joined(folder, each.get("href", ""))
        for each in sorted(items, key=lambda each: not each.get("properties"))
        if "nav" in each.get("properties", "").split()
        or each.get("media-type") == "application/x-dtbncx+xml"
    ]
    for part in parts:
        contents: dict[str, list[_Entry]] = {}
        with suppress(InvalidDocument):
            data = _DOCTYPE.sub(b"", package.data(part), 1) if part in package else b""
            for target, level, title in _entries(safe_xml(data)):
                page = joined(posixpath.dirname(part), target)
                entry = target.partition("#")[2], level, title
                contents.setdefault(page, []).append(entry)
        if contents:
            return contents
    return {}


def _entries(root: Element) -> Iterator[_Entry]:
    """What a table of contents names: the target, its level and title."""
    title = ""
    stack = [(root, 0)]
    while stack:
        element, level = stack.pop()
        name = local(element)
        if name in ("pageList", "navList") or (
            name == "nav" and "toc" not in element.get(_TYPE, "toc").split()
        ):
            continue
        if name in ("a", "navLabel"):
            title = " ".join("".join(element.itertext()).split())
        target = element.get("href" if name == "a" else "src", "")
        if target and name in ("a", "content") and title:
            yield target, level, title
        level += name in ("li", "navPoint")
        stack += [(child, level) for child in reversed(element)]


def _titled(source: str, text: str, layout: Layout, entries: list[_Entry]) -> Layout:
    """The layout with entries of the contents as headings. They take in the paragraphs that show
    their titles."""
    anchors: dict[str, int] = {}
    for match in _ANCHOR.finditer(source):
        anchors.setdefault(match[1] or match[2], match.start())
    starts = [block.start for block in layout.blocks]
    named = [
        (text_offset(layout.source_map, anchors.get(anchor, 0)), level, title)
        for anchor, level, title in entries
    ]
    headings: list[Heading] = []
    blocks: list[Block] = []
    place = 0  # of the first block behind the last heading
    for offset, level, title in sorted(named, key=lambda entry: entry[0]):
        first = max(place, bisect_right(starts, offset) - 1)
        blocks += layout.blocks[place:first]
        title, place = _shown(text, layout.blocks, first, title)
        start = starts[first] if first < len(starts) else len(text)
        headings.append(Heading(level, title, start, start))
    blocks += layout.blocks[place:]
    return replace(layout, headings=tuple(headings), blocks=tuple(blocks))


def _shown(
    text: str, blocks: Sequence[Block], place: int, title: str
) -> tuple[str, int]:
    """A title as the page shows it, and the place of the first block behind it."""
    rest = _letters(title)
    for block in blocks[place:]:
        line = " ".join(text[block.start : block.end].split())
        letters = _letters(line)
        if len(line) <= TITLE_LENGTH and rest and letters.endswith(rest):
            is_whole = _letters(title) == rest
            return (line if is_whole else title), place + 1
        if not letters or not rest.startswith(letters):
            break
        rest = rest.removeprefix(letters)
        place += 1
    return title, place


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
