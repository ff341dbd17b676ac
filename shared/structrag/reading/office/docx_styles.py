"""Styles of Word files, and the numbers that Word counts by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from structrag.reading.office.counting import counted

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_HEADING = re.compile(r"heading ?([1-9])(?! ?char)", re.IGNORECASE)
_PLACE = re.compile(r"%([1-9])")
_OFF = {"0", "false", "off"}


def value(element: Element | None, default: str = "") -> str:
    """The `w:val` of an element that may be missing."""
    return default if element is None else element.get(f"{W}val", default)


def number(element: Element | None, default: int = 0) -> int:
    """The `w:val` as a number."""
    text = value(element).lstrip("-")
    return int(text) if text.isdecimal() and len(text) < 10 else default


def is_on(element: Element | None) -> bool | None:
    """Whether a property such as bold is on; None where it is not said."""
    return None if element is None else value(element, "1") not in _OFF


@dataclass(frozen=True, slots=True)
class WordStyle:
    """What a style, with those it is based on, says."""

    level: int = 0  # of a heading; 0 for text
    is_title: bool = False
    num_id: str = ""
    num_level: int = 0
    is_bold: bool = False
    is_hidden: bool = False


class Styles:
    """The styles by their ids."""

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._resolved: dict[str, WordStyle] = {}
        self.default = ""
        for each in root.iter(f"{W}style") if root is not None else ():
            style_id = each.get(f"{W}styleId", "")
            self._elements[style_id] = each
            is_paragraph = each.get(f"{W}type", "paragraph") == "paragraph"
            if is_paragraph and each.get(f"{W}default", "0") not in _OFF:
                self.default = style_id

    def chain(self, style_id: str) -> Iterator[tuple[str, Element]]:
        """The style and those it is based on, the nearest first."""
        seen = set()
        while style_id in self._elements and style_id not in seen:
            seen.add(style_id)
            element = self._elements[style_id]
            yield style_id, element
            style_id = value(element.find(f"{W}basedOn"))

    def get(self, style_id: str) -> WordStyle:
        """A style; one of text where it is unknown."""
        style = self._resolved.get(style_id)
        if style is None:
            style = self._resolved[style_id] = self._resolve(style_id)
        return style

    def _resolve(self, style_id: str) -> WordStyle:
        found: dict[str, str] = {}
        flags: dict[str, bool] = {}
        if style_id not in self._elements and (match := _HEADING.fullmatch(style_id)):
            return WordStyle(level=int(match[1]))
        is_title = False
        for _, element in self.chain(style_id):
            name = value(element.find(f"{W}name")).strip()
            is_title |= name.lower() == "title"
            if match := _HEADING.match(name):
                found.setdefault("outlineLvl", str(int(match[1]) - 1))
            for path in ("outlineLvl", "numPr/numId", "numPr/ilvl"):
                where = f"{W}pPr/{W}" + path.replace("/", f"/{W}")
                if (child := element.find(where)) is not None:
                    found.setdefault(path, value(child))
            for path in ("b", "vanish"):
                flag = is_on(element.find(f"{W}rPr/{W}{path}"))
                if flag is not None:
                    flags.setdefault(path, flag)
        return WordStyle(
            outline_level(found.get("outlineLvl", "")),
            is_title,
            found.get("numPr/numId", ""),
            int(found["numPr/ilvl"]) if found.get("numPr/ilvl", "").isdecimal() else -1,
            flags.get("b", False),
            flags.get("vanish", False),
        )


def outline_level(text: str) -> int:
    """The level that `w:outlineLvl` stands for: from 1, 0 for text."""
    return int(text) + 1 if text.isdecimal() and int(text) < 9 else 0


@dataclass(frozen=True, slots=True)
class _Level:
    start: int = 1
    form: str = "decimal"
    text: str = ""
    style: str = ""
    is_legal: bool = False
    restarts: bool = True


@dataclass(frozen=True, slots=True)
class _WordList:
    abstract: str = ""
    levels: dict[int, _Level] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)  # said for this list alone


class Numbering:
    """The numbered lists, and how far each has counted."""

    def __init__(self, root: Element | None) -> None:
        self._lists: dict[str, _WordList] = {}
        self._counts: dict[str, dict[int, int]] = {}  # by abstract list
        self._seen: set[tuple[str, int]] = set()
        if root is None:
            return
        abstracts = {
            each.get(f"{W}abstractNumId", ""): each
            for each in root.iter(f"{W}abstractNum")
        }
        by_link = {
            value(each.find(f"{W}styleLink")): name for name, each in abstracts.items()
        }
        for each in root.iter(f"{W}num"):
            name = value(each.find(f"{W}abstractNumId"))
            element = abstracts.get(name)
            if element is None:
                continue
            link = element.find(f"{W}numStyleLink")
            if link is not None and value(link) in by_link:
                name = by_link[value(link)]
                element = abstracts[name]
            numbered = _WordList(name, _levels(element))
            for override in each.iter(f"{W}lvlOverride"):
                numbered.levels.update(_levels(override))
                start = override.find(f"{W}startOverride")
                if start is not None:
                    level = override.get(f"{W}ilvl", "0")
                    numbered.starts[int(level) if level.isdecimal() else 0] = number(
                        start, 1
                    )
            self._lists[each.get(f"{W}numId", "")] = numbered

    def level_of(self, num_id: str, style_id: str, styles: Styles) -> int:
        """The level that is linked with a style or one it is based on, else 0."""
        levels = self._lists.get(num_id, _WordList()).levels
        linked = {level.style: depth for depth, level in levels.items() if level.style}
        names = (name for name, _ in styles.chain(style_id))
        return next((linked[name] for name in names if name in linked), 0)

    def next_label(self, num_id: str, depth: int) -> str | None:
        """Count one on. Returns the number as it is shown, "" for a bullet; None: no list."""
        numbered = self._lists.get(num_id)
        level = numbered.levels.get(depth) if numbered else None
        if numbered is None or level is None:
            return None
        counts = self._counts.setdefault(numbered.abstract, {})
        if depth in numbered.starts and (num_id, depth) not in self._seen:
            counts[depth] = numbered.starts[depth] - 1
        self._seen.add((num_id, depth))
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [each for each in counts if each > depth]:
            if numbered.levels.get(deeper, level).restarts:
                del counts[deeper]
        if level.form == "bullet":
            return ""

        def shown(match: re.Match[str]) -> str:
            place = int(match[1]) - 1
            other = numbered.levels.get(place, _Level())
            form = "decimal" if level.is_legal else other.form
            return counted(counts.get(place, other.start), form)

        return _PLACE.sub(shown, level.text, 9).strip()  # Word has nine levels


def _levels(root: Element) -> dict[int, _Level]:
    levels = {}
    for each in root.iter(f"{W}lvl"):
        depth = each.get(f"{W}ilvl", "0")
        levels[int(depth) if depth.isdecimal() else 0] = _Level(
            number(each.find(f"{W}start"), 1),
            value(each.find(f"{W}numFmt"), "decimal"),
            value(each.find(f"{W}lvlText")),
            value(each.find(f"{W}pStyle")),
            bool(is_on(each.find(f"{W}isLgl"))),
            number(each.find(f"{W}lvlRestart"), 1) > 0,
        )
    return levels
