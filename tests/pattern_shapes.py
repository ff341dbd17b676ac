"""Texts that a regular expression finds hard, made from the expression itself.

A pattern takes long where it repeats something without an end and then fails: at each of many
places it starts, goes on to the end of the text, and comes back. So each endless repetition of a
pattern gives a text: what leads to it, what it repeats again and again, and an end that fits
nothing.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import regex
from growth import Shape

try:  # the parser of `re` has another name before Python 3.11
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:
    import sre_constants as codes
    import sre_parse as parser

METHODS = (
    "match",
    "fullmatch",
    "search",
    "finditer",
    "findall",
    "split",
    "sub",
    "subn",
)
_CHARACTERS = "a1 \n-A.,:#[](){}<>|*_`\"'/\\&;!?=+~$%@^\té漢。\x00•«」"
_MANY = 100  # repetitions that count as endless
Pattern = re.Pattern[str] | regex.Pattern[str]
_KINDS = (re.Pattern, regex.Pattern)
# What the parser of `re` does not know of `regex`, and a set of characters that it does.
_PROPERTIES = {
    "Lu": "A-Z",
    "Ll": "a-z",
    "L": "A-Za-zé漢",
    "N": "0-9",
    "M": "\u0301",
    "P": ".,:!?",
    "S": "$+=",
}
_PROPERTY = re.compile(r"\\p\{(\w+)(?:=\w+)?\}")


def uses(package: ModuleType) -> dict[tuple[str, str], tuple[Pattern, set[str]]]:
    """The patterns of a package's modules and the methods it calls of each, by module and name.
    Patterns of text only; those in a table (a dictionary or a sequence) are searched."""
    modules = [package]
    for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not entry.name.endswith("__main__"):
            modules.append(importlib.import_module(entry.name))
    places: dict[int, tuple[str, str]] = {}
    patterns: dict[tuple[str, str], tuple[Pattern, set[str]]] = {}
    for module in modules:
        for name, value in vars(module).items():
            for number, pattern in enumerate(_patterns_in(value)):
                label = f"{name}[{number}]" if pattern is not value else name
                place = places.setdefault(id(pattern), (module.__name__, label))
                methods = patterns.setdefault(place, (pattern, set()))[1]
                if pattern is not value:
                    methods.update(("match", "search"))
    for module in modules:
        for node in ast.walk(
            ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        ):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                value = _value_of(node.value, module)
                if isinstance(value, _KINDS) and id(value) in places:
                    patterns[places[id(value)]][1].add(node.attr)
    return patterns


def application(pattern: Pattern, method: str) -> Callable[[str], object]:
    """The function of a text that applies a pattern by one of its methods."""
    if method in ("sub", "subn"):
        return lambda text: pattern.sub("", text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    function: Callable[[str], object] = getattr(pattern, method)
    return function


def own_shapes(pattern: Pattern) -> Iterator[Shape]:
    """The texts that repeat what the pattern repeats."""
    if isinstance(pattern, regex.Pattern):
        # Sets in sets, which `re` does not know, are read as one.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            try:
                tree = parser.parse(_as_re(pattern.pattern))
            except re.error:  # it is not enough like one of `re`
                return
    else:
        tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    shapes = {}
    for before, piece in _repetitions(tree, ""):
        for end in ("", "\x00", "\n\x00\n"):
            shapes[before, piece, end] = Shape(piece, before, end)
            shapes["", before + piece, end] = Shape(before + piece, "", end)
            shapes["", piece, end] = Shape(piece, "", end)
            shapes["\n", piece + before, end] = Shape(piece + before, "\n", end)
    yield from shapes.values()


def _as_re(pattern: str) -> str:
    """About the same pattern in what `re` knows: fewer characters, plain repetitions."""
    inside = re.sub(
        r"\[(?:\\.|[^\]\\])*\]",
        lambda found: _PROPERTY.sub(lambda p: _PROPERTIES.get(p[1], "漢"), found[0]),
        pattern,
    )
    plain = _PROPERTY.sub(lambda p: f"[{_PROPERTIES.get(p[1], '漢')}]", inside)
    plain = (
        plain.replace(r"\X", ".")
        .replace("++", "+")
        .replace("*+", "*")
        .replace("?+", "?")
    )
    # May look back over any length.
    return re.sub(r"\(\?<[=!](?:\\.|[^()\\])*\)", "", plain)


def _patterns_in(value: Any) -> Iterator[Pattern]:
    if isinstance(value, _KINDS):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _patterns_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _patterns_in(item)


def _value_of(node: ast.expr, module: ModuleType) -> Any:
    """What a name or a module's attribute stands for, None where it is neither."""
    if isinstance(node, ast.Name):
        return getattr(module, node.id, None)
    if isinstance(node, ast.Attribute):
        return getattr(_value_of(node.value, module), node.attr, None)
    return None


def _repetitions(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """What leads to each endless repetition of a tree, and one round of it."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, _code("POSSESSIVE_REPEAT")):
            _, most, inner = value
            if most == codes.MAXREPEAT or most >= _MANY:
                for piece in _samples(inner):
                    if piece:
                        yield before, piece
        for inner in _inner(code, value):
            yield from _repetitions(inner, before)
        before += next(_samples([(code, value)]), "")


def _inner(code: Any, value: Any) -> list[Any]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, _code("POSSESSIVE_REPEAT")):
        return [value[2]]
    if code is codes.SUBPATTERN:
        return [value[-1]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    if code is _code("ATOMIC_GROUP"):
        return [value]
    return []


def _samples(tree: Any) -> Iterator[str]:
    """Some texts that a tree fits: one for each branch and each member of a set."""
    texts = [""]
    for code, value in tree:
        pieces = _pieces(code, value)
        texts = [text + piece for text in texts[:4] for piece in pieces[:6]] or texts
    yield from texts


def _pieces(code: Any, value: Any) -> list[str]:
    if code is codes.LITERAL:
        return [chr(value)]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, _code("POSSESSIVE_REPEAT")):
        least, _, inner = value
        return [piece * max(least, 1) for piece in _samples(inner)]
    if code is codes.BRANCH:
        return [next(_samples(branch), "") for branch in value[1]]
    if code is codes.IN:
        return [character for character in _CHARACTERS if _is_in(character, value)] or [
            chr(item[0] if op is codes.RANGE else item)
            for op, item in value
            if op in (codes.RANGE, codes.LITERAL)
        ]
    if code is codes.NOT_LITERAL:
        return [character for character in _CHARACTERS if ord(character) != value]
    if code is codes.ANY:
        return ["a", " ", "."]
    if code in (
        codes.ASSERT_NOT,
        codes.ASSERT,
        codes.AT,
        codes.GROUPREF,
        codes.GROUPREF_EXISTS,
    ):
        return [""]
    return list(_samples(_inner(code, value)[0]))


def _is_in(character: str, items: Any) -> bool:
    matches = False
    for code, value in items:
        if code is codes.LITERAL:
            matches |= ord(character) == value
        elif code is codes.RANGE:
            matches |= value[0] <= ord(character) <= value[1]
        elif code is codes.CATEGORY:
            matches |= _is_of(character, str(value))
    return matches != (items[0][0] is codes.NEGATE)


def _is_of(character: str, category: str) -> bool:
    if category.endswith("DIGIT"):
        fits = character.isdigit()
    elif category.endswith("SPACE"):
        fits = character.isspace()
    else:
        fits = character.isalnum() or character == "_"
    return fits != ("_NOT_" in category)


def _code(name: str) -> Any:
    """A code that older parsers do not know."""
    return getattr(codes, name, None)
