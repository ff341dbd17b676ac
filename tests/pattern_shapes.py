"""Texts that a regular expression finds hard, made from the expression itself.

A pattern takes long where it repeats something without an end and then fails: at each of many
places it starts, goes on to the end of the text, and comes back. So each endless repetition of a
pattern gives texts: what leads to it, what it repeats again and again, and an end that fits
nothing. What a whole pattern needs but for its end gives others.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import pkgutil
import re
import warnings
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import chain, islice
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

PACKAGES = ("structrag", "langchain_structrag", "llama_index_structrag")
METHODS = (
    *("match", "fullmatch", "search", "finditer", "findall"),
    *("split", "sub", "subn"),
)
_CHARACTERS = "a1 \n-A.,:#[](){}<>|*_`\"'/\\&;!?=+~$%@^\té漢。\x00•«」"
_MANY = 100  # repetitions that count as endless
# What is called of patterns only, not of strings too.
_OF_PATTERNS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn"}
Pattern = re.Pattern[Any] | regex.Pattern[Any]
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

# Patterns of texts whose length something else bounds, and what bounds it.
BOUNDED = {
    "structrag.reading.plain._SENTENCE": "is searched in 400 characters of a line",
    "structrag.reading.files._CODE_NAMES": "is matched with the names of files",
    "structrag.reading.markup.code._FUNCTION": "is matched with the names of a grammar",
    "structrag.reading.markup.code._NESTING": "is matched with the names of a grammar",
    "structrag.reading.markup.code._SEQUENCE": "is matched with the names of a grammar",
    "structrag.reading.office.xlsx._NOT_CODES": "is applied to 255 characters of a format",
    "structrag.text.sentences._ENDING": "is searched in 32 characters",
    "structrag.reading.markup.code._LEADING": "is matched with the names of a grammar",
    "structrag.reading.plain_titles._TITLE_END": "is searched in the 200 characters of a title",
}


@cache
def uses() -> dict[str, tuple[Pattern, set[str]]]:
    """The patterns of the packages and the methods called of each, by module and name.

    Those of a table (a mapping, a sequence, a class, a record) may be used by any method that
    their module calls of what has no name of its own. One that a function compiles bears its name.
    """
    names: dict[int, str] = {}
    patterns: dict[str, tuple[Pattern, set[str]]] = {}
    calls = {module: list(_calls(module)) for module in _modules()}
    for module in calls:
        unnamed = {
            method
            for method, receiver in calls[module]
            if receiver is None and method in _OF_PATTERNS
        }
        for name, value in vars(module).items():
            for number, pattern in enumerate(_patterns_in(value)):
                label = name if pattern is value else f"{name}[{number}]"
                key = names.setdefault(id(pattern), f"{module.__name__}.{label}")
                used = patterns.setdefault(key, (pattern, set()))[1]
                used |= unnamed if pattern is not value else set()
        for number, (pattern, method) in enumerate(_made_in_functions(module)):
            used = unnamed if method == "compile" else {method}
            patterns[f"{module.__name__}({number})"] = pattern, set(used)
    for method, receiver in chain.from_iterable(calls.values()):
        if isinstance(receiver, _KINDS) and id(receiver) in names:
            patterns[names[id(receiver)]][1].add(method)
    return patterns


def application(pattern: Pattern, method: str) -> Callable[[str], object]:
    """The function of a text that applies a pattern by one of its methods."""
    of_bytes = isinstance(pattern.pattern, bytes)

    def apply(text: str) -> object:
        value: Any = text.encode("latin-1", "replace") if of_bytes else text
        if method in ("sub", "subn"):
            return pattern.sub(value[:0], value)
        if method == "finditer":
            return sum(1 for _ in pattern.finditer(value))
        return getattr(pattern, method)(value)

    return apply


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
    for sample in islice(_samples(tree), 4):
        for cut in {len(sample) - 1, len(sample)} - {-1, 0}:
            shapes["", sample[:cut], ""] = Shape(sample[:cut])
    yield from shapes.values()


def _modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        yield (package := importlib.import_module(name))
        for entry in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not entry.name.endswith("__main__"):
                yield importlib.import_module(entry.name)


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def _calls(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The attributes of the names of a pattern's methods, and what each is an attribute of."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield node.attr, _value_of(node.value, module)


def _made_in_functions(module: ModuleType) -> Iterator[tuple[Pattern, str]]:
    """The patterns that functions of a module compile, and the method that does. What only a run
    knows is "a"."""
    known = ChainMap(vars(module), vars(builtins), defaultdict(lambda: "a"))
    for function in ast.walk(_tree(module)):
        is_function = isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function) if is_function else ():
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            ):
                continue
            library = _value_of(node.func.value, module)
            if library in (re, regex) and node.func.attr in (*METHODS, "compile"):
                flags = [k.value for k in node.keywords if k.arg == "flags"]
                if node.func.attr == "compile":
                    flags += node.args[1:]
                try:
                    values = [
                        eval(compile(ast.Expression(part), "", "eval"), {}, known)
                        for part in (node.args[0], *flags)
                    ]
                except AttributeError:  # a pattern of another library
                    continue
                yield library.compile(*values), node.func.attr


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


def _patterns_in(value: Any, depth: int = 0) -> Iterator[Pattern]:
    """A pattern, or those that a method, a table, a record or a class holds."""
    value = getattr(value, "__self__", value)
    if isinstance(value, _KINDS):
        yield value
    elif depth < 4:
        if isinstance(value, dict):
            inner: Any = value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            inner = value
        elif is_dataclass(value) and not isinstance(value, type):
            inner = [getattr(value, field.name) for field in fields(value)]
        elif isinstance(value, type) and value.__module__.startswith(PACKAGES):
            inner = vars(value).values()
        else:
            inner = ()
        for item in inner:
            yield from _patterns_in(item, depth + 1)


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
