"""Styles of Word files, and the numbers that Word counts by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree.ElementTree import Element

from structrag.reading.looks import OFF, look_of
from structrag.reading.office.counting import counted
from structrag.reading.office.inheritance import inherited
from structrag.text.numbers import whole_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_HEADING = re.compile(r"heading ?([1-9])(?! ?char)", re.IGNORECASE)
_PLACE = re.compile(r"%([1-9])")
_MOST_LEVEL = 8  # of outlines and lists, from 0


def value(element: Element | None, default: str = "") -> str:
    """The `w:val` of an element that may be missing."""
    return default if element is None else element.get(f"{W}val", default)


def number(element: Element | None, default: int = 0) -> int:
    """The `w:val` as a number."""
    return whole_number(value(element).lstrip("-"), default)


def is_on(element: Element | None) -> bool | None:
    """Whether a property such as bold is on; None where it is not said."""
    return None if element is None else value(element, "1") not in OFF


@dataclass(frozen=True, slots=True)
class WordStyle:
    """What a style, with those it is based on, says."""

    level: int = 0  # of a heading; 0 for text
    is_title: bool = False
    num_id: str = ""
    num_level: int = -1  # the one that is linked with the style
    is_bold: bool = False
    is_hidden: bool = False
    look: str = ""  # one of `looks`


_TEXT = WordStyle()


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
            if is_paragraph and each.get(f"{W}default", "0") not in OFF:
                self.default = style_id
        self.bases = {  # of styles that are based on another
            style_id: base
            for style_id, each in self._elements.items()
            if (base := value(each.find(f"{W}basedOn"))) in self._elements
        }

    def get(self, style_id: str) -> WordStyle:
        """A style; one of text where it is unknown."""
        if style_id not in self._elements:
            match = _HEADING.fullmatch(style_id)
            return WordStyle(level=int(match[1]) if match else 0)
        return inherited(style_id, self.bases.get, self._resolved, _TEXT, self._made)

    def _made(self, style_id: str, base: WordStyle) -> WordStyle:
        """A style by what it says itself, and by the one it is based on."""
        style = self._elements[style_id]
        said: dict[str, Any] = {}
        name = value(style.find(f"{W}name")).strip()
        match = _HEADING.match(name)
        outline = style.find(f"{W}pPr/{W}outlineLvl")
        if match:
            said["level"] = int(match[1])
        elif outline is not None:
            said["level"] = outline_level(value(outline))
        numbering = style.find(f"{W}pPr/{W}numPr")
        if numbering is not None:
            said["num_id"] = value(numbering.find(f"{W}numId"), base.num_id)
            said["num_level"] = number(numbering.find(f"{W}ilvl"), base.num_level)
        for key, tag in (("is_bold", "b"), ("is_hidden", "vanish")):
            flag = is_on(style.find(f"{W}rPr/{W}{tag}"))
            if flag is not None:
                said[key] = flag
        said["look"] = look_of(style.find(f"{W}rPr"), base.look)
        is_title = base.is_title or name.lower() == "title"
        return replace(base, is_title=is_title, **said)


def outline_level(text: str) -> int:
    """The level that `w:outlineLvl` stands for: from 1, 0 for text."""
    return whole_number(text, -1, _MOST_LEVEL) + 1


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
    linked: dict[str, int] = field(default_factory=dict)  # the levels of styles
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
        levels = {name: _levels(each) for name, each in abstracts.items()}
        for each in root.iter(f"{W}num"):
            name = value(each.find(f"{W}abstractNumId"))
            element = abstracts.get(name)
            if element is None:
                continue
            link = element.find(f"{W}numStyleLink")
            if link is not None and value(link) in by_link:
                name = by_link[value(link)]
            numbered = _WordList(name, dict(levels[name]))
            for override in each.iter(f"{W}lvlOverride"):
                numbered.levels.update(_levels(override))
                start = override.find(f"{W}startOverride")
                if start is not None:
                    numbered.starts[_depth(override)] = number(start, 1)
            for depth, level in numbered.levels.items():
                numbered.linked[level.style] = depth
            self._lists[each.get(f"{W}numId", "")] = numbered

    def level_of(self, num_id: str, style_id: str, styles: Styles) -> int:
        """The level that is linked with a style or one it is based on, else 0."""
        linked = self._lists.get(num_id, _WordList()).linked
        return inherited(style_id, styles.bases.get, linked, 0, lambda _, base: base)

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
    return {
        _depth(each): _Level(
            number(each.find(f"{W}start"), 1),
            value(each.find(f"{W}numFmt"), "decimal"),
            value(each.find(f"{W}lvlText")),
            value(each.find(f"{W}pStyle")),
            bool(is_on(each.find(f"{W}isLgl"))),
            number(each.find(f"{W}lvlRestart"), 1) > 0,
        )
        for each in root.iter(f"{W}lvl")
    }


def _depth(level: Element) -> int:
    return whole_number(level.get(f"{W}ilvl"), 0, _MOST_LEVEL)
