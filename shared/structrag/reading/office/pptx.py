"""PowerPoint files (PPTX) by their own XML."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from structrag.reading.drafts import Draft
from structrag.reading.office.drawings import (
    A,
    R,
    add_shape,
    local,
    named,
    plain_text,
    shapes,
    targets,
)
from structrag.reading.office.package import Package
from structrag.reading.office.placed import PlacedText
from structrag.reading.plain_titles import is_short_title
from structrag.text.numbers import whole_number

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SIZE = 1800  # of type, where nothing says it
_REPEATED = ("sldNum", "dt", "ftr")  # number, date and footer of a slide


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A PowerPoint file as Markdown, in the order in which its slides are shown.

    The title of a slide is a heading; so is its first short text in the largest type, where none is
    named its title. A slide without one goes on with the section before. Shapes come by their
    places, row by row. Notes
    are quotes below their slide, charts are tables, pictures their alternative texts. Slide
    numbers, dates and footers are left out. Hidden slides are kept, and named in `uncertain`.

    Raises:
        InvalidDocument: The file is not a PowerPoint file, or it is broken, encrypted or too large.
    """
    package = Package(data, name)
    main = package.related("", "officeDocument") or "ppt/presentation.xml"
    root = package.xml(main)
    if root.tag != f"{_P}presentation":
        package.refuse("it holds no slides. Give it the suffix of its real format.")
    parts = targets(package, main)
    slides = _Slides(package)
    for number, entry in enumerate(root.iter(f"{_P}sldId"), 1):
        part = parts.get(entry.get(f"{R}id", ""))
        if part:
            slides.add(number, part)
        else:
            slides.uncertain.append(f"Slide {number} is missing in the file.")
    removed = dict.fromkeys(slides.removed)
    return slides.placed.draft(slides.title, slides.uncertain, removed)


class _Slides:
    def __init__(self, package: Package) -> None:
        self.package = package
        self.placed = PlacedText()
        self.title = ""
        self.uncertain: list[str] = []
        self.removed: list[str] = []

    def add(self, number: int, part: str) -> None:
        slide = self.package.xml(part)
        label = f"slide {number}"
        if slide.get("show", "1") in ("0", "false"):
            label += " (hidden)"
            self.uncertain.append(f"Slide {number} is hidden; its text was kept.")
        tree = slide.find(f"{_P}cSld/{_P}spTree")
        found = [] if tree is None else list(shapes(tree))
        kinds = [_placeholder(shape) for shape in found]
        titles = [
            i
            for i, kind in enumerate(kinds)
            if kind in ("title", "ctrTitle") and plain_text(found[i])
        ]
        titles = titles or _titles_by_look(found, kinds)
        title = plain_text(found[titles[0]]) if titles else ""
        self.placed.enter(label)
        self.placed.heading(1, title)
        if number == 1:
            self.title = " ".join(title.split())
        parts = targets(self.package, part)
        for i, (shape, kind) in enumerate(zip(found, kinds, strict=True)):
            if kind in _REPEATED:
                self.removed += plain_text(shape).splitlines() if kind == "ftr" else []
            elif i not in titles[:1]:
                add_shape(
                    self.placed,
                    shape,
                    self.package,
                    parts,
                    is_list=kind in ("body", "obj"),
                )
        self._add_notes(self.package.related(part, "notesSlide"))

    def _add_notes(self, part: str) -> None:
        tree = self.package.xml(part).find(f"{_P}cSld/{_P}spTree") if part else None
        for shape in () if tree is None else shapes(tree):
            if _placeholder(shape) == "body":
                self.placed.quote(plain_text(shape))


def _titles_by_look(found: list[Element], kinds: list[str]) -> list[int]:
    """The place of the shape that looks like a slide's title, if there is one: it is named so, or
    is the first or second and in the largest type, and some text behind it is smaller."""
    texts = {
        i: plain_text(shape)
        for i, (shape, kind) in enumerate(zip(found, kinds, strict=True))
        if local(shape) == "sp" and kind not in _REPEATED
    }
    texts = {i: text for i, text in texts.items() if text}
    titles = [i for i in texts if named(found[i]).startswith("Title")]
    sizes = [_size(found[i]) for i in texts]
    place = sizes.index(max(sizes)) if sizes else 2
    behind = sizes[place + 1 :] or [_SIZE][place:]
    if place < 2 and behind and sizes[place] > min(behind):
        titles.append(list(texts)[place])
    return [i for i in titles[:1] if is_short_title(texts[i])]


def _size(shape: Element) -> int:
    """The largest type of a shape's runs, in hundredths of a point."""
    sizes = (each.get("sz") for each in shape.iter(f"{A}rPr"))
    return max((whole_number(size, _SIZE) for size in sizes), default=_SIZE)


def _placeholder(shape: Element) -> str:
    """The kind of a placeholder; "" for other shapes."""
    for child in shape:
        if local(child).startswith("nv"):
            found = child.find(f"{_P}nvPr/{_P}ph")
            return "" if found is None else found.get("type", "obj")
    return ""
