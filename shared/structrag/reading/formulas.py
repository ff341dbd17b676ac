"""Equations of office files and pages as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element


def linear(root: Element) -> str:
    """An equation as a line.

    Example:
        >>> from xml.etree import ElementTree
        >>> linear(ElementTree.fromstring("<mfrac><mi>a</mi><mn>2</mn></mfrac>"))
        'a/2'
    """
    texts: dict[Element, str] = {}
    for element in reversed(list(root.iter())):  # what is inside comes first
        texts[element] = _one(element, texts)
    return " ".join(texts[root].translate(_INVISIBLE).split())


def local(tag: str) -> str:
    """The name of an element without its namespace."""
    return tag.rpartition("}")[2]


def _one(element: Element, texts: dict[Element, str]) -> str:
    name = local(element.tag)
    if name.endswith("Pr") or name.startswith("annotation"):
        return ""
    children = [(local(child.tag), texts.pop(child)) for child in element]
    leaf_text = element.text or "" if name in _LEAVES else ""
    if name in _BY_PLACE:  # MathML: children by their place
        parts = [text for _, text in children] + [""] * 3
        return _BY_PLACE[name](*parts[:3])

    def part(*names: str) -> str:
        return next((text for each, text in children if each in names), "")

    if name == "f":
        return f"{_group(part('num'))}/{_group(part('den'))}"
    if name in ("sSup", "sSub", "sSubSup", "sPre", "limLow", "limUpp"):
        upper = part("lim") if name == "limUpp" else part("sup")
        lower = part("lim") if name == "limLow" else part("sub")
        return _scripts(part("e"), lower, upper)
    if name == "rad":
        return f"{part('deg')}√{_group(part('e'))}"
    if name == "nary":
        sign = _property(element, "chr", "∫")
        return f"{_scripts(sign, part('sub'), part('sup'))} {part('e')}"
    if name == "func":
        return f"{part('fName')} {part('e')}"
    if name == "d":
        separator = _property(element, "sepChr", ", ")
        inside = separator.join(text for each, text in children if each == "e")
        return f"{_property(element, 'begChr', '(')}{inside}{_property(element, 'endChr', ')')}"
    joint = _JOINTS.get(name, "")
    text = leaf_text
    for _, each in children:
        apart = joint if text else ""
        if text[-1:].isalnum() and each[:1].isalnum():  # factors, not one word
            apart = joint or " "
        text += apart + each
    return text


def _property(element: Element, name: str, default: str) -> str:
    for properties in element:
        for each in properties if local(properties.tag).endswith("Pr") else ():
            if local(each.tag) == name:
                return next((v for k, v in each.items() if local(k) == "val"), "")[:1]
    return default


def _group(text: str) -> str:
    return text if text.isalnum() or len(text) < 2 else f"({text})"


def _scripts(base: str, lower: str, upper: str) -> str:
    below = f"_{_group(lower)}" if lower else ""
    above = f"^{_group(upper)}" if upper else ""
    return f"{base}{below}{above}"


_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065), " ")  # operators of MathML
_LEAVES = {"t", "mi", "mn", "mo", "ms", "mtext"}
_JOINTS = {"m": "; ", "mr": ", ", "eqArr": "; ", "mtable": "; ", "mtr": ", "}
_BY_PLACE: dict[str, Callable[[str, str, str], str]] = {
    "mfrac": lambda over, under, _: f"{_group(over)}/{_group(under)}",
    "msup": lambda base, upper, _: _scripts(base, "", upper),
    "mover": lambda base, upper, _: _scripts(base, "", upper),
    "msub": lambda base, lower, _: _scripts(base, lower, ""),
    "munder": lambda base, lower, _: _scripts(base, lower, ""),
    "msubsup": _scripts,
    "munderover": _scripts,
    "mroot": lambda base, degree, _: f"{degree}√{_group(base)}",
}
