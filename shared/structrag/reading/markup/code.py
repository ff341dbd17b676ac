"""Source code by tree-sitter: modules, classes and functions as sections."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from structrag.errors import MissingExtra, check_choice, require, warn_user
from structrag.reading.markup.lines import Element, Lines, filled, paragraph, tiled
from structrag.records import Block, Heading

# Each language with the suffixes of its files; its grammar is the package `tree-sitter-NAME`.
SUFFIXES = {
    language: tuple(suffixes.split())
    for language, suffixes in (
        line.split(maxsplit=1)
        for line in """
            python .py .pyi
            javascript .js .mjs .cjs .jsx
            typescript .ts .mts .cts
            tsx .tsx
            java .java
            go .go
            rust .rs
            c .c .h
            cpp .cpp .cc .cxx .hpp .hh
            c_sharp .cs
            ruby .rb
            php .php
            bash .sh .bash
        """.strip().splitlines()
    )
}
_DEFINITION = re.compile(
    r"(?:variable_declarator|class|module|method|singleton_method|internal_module|type_spec|macro_definition"
    r"|(?:abstract_class|class|struct|interface|trait|enum|record|annotation_type|method"
    r"|constructor|function|generator_function|namespace)_declaration"
    r"|(?:function|class|method|namespace)_definition"
    r"|(?:mod|struct|enum|union|trait|impl|function)_item"
    r"|(?:class|struct|union|enum)_specifier)"
)
_FUNCTION = re.compile(
    r".*(?:function|method|constructor)(?:_declaration|_definition|_item)?|variable_declarator"
)
_SEQUENCE = re.compile(
    r"(?:.*_)?(?:block|body|module|program|unit|source_file|statement_list|declaration_list"
    r"|compound_statement|then|do|do_group)"
)
_VALUES = {"arrow_function", "function_expression", "function", "class"}
_WRAPPER = re.compile(
    r"(?:decorated|type)_definition|template_declaration|export_statement|ambient_declaration"
    r"|(?:lexical|variable|type)_declaration|expression_statement"
)
_LEADING = re.compile(
    r".*comment|decorator|attribute_item|inner_attribute_item|attribute_list"
)
_NESTING = re.compile(
    r"(?!(?:\w+_)?(?:parameter|argument)|formal|import|return).*"
    r"(?:block|body|statement|declaration|definition|_list|_item|_clause|declarator|preproc_\w+"
    r"|class|module|specification)|ERROR"
)
_DOCSTRING = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r(?!\n)|\n))*[rRuU]?(\"\"\"|'''|\"|')\\?\s*([^\r\n]{0,500})"
)
_PART = 4_096  # bytes that a parser is given at a time
# What it reads and does may come to so much for each byte, and for any file; code takes about 3.
_WORK, _LEAST_WORK = 12, 500_000
_ROUND = 40  # work of a hundred steps, after which it asks whether to go on
_CONTINUES = re.compile(
    r"\s*(?:[)\]}]|else\b|elif\b|except\b|finally\b|catch\b|end\b|then\b|do\b)"
)


class Definition(NamedTuple):
    """A class, function or the like, in characters of the text."""

    level: int
    title: str
    start: int  # with the decorators and the comment above
    body_start: int  # behind the lines of its signature
    end: int
    signature: int  # where it begins, behind decorators and comment
    is_function: bool


@dataclass(frozen=True, slots=True)
class CodeReader:
    """Who reads the files of one language; make one with `reader`."""

    language: str

    def headings(self, text: str) -> list[Heading]:
        """Its definitions, in order; levels by how they are nested.

        A span begins at the decorators and the comment right above and ends with the last line of
        the signature. Without the extra `code` there are none, and a warning says so.
        """
        parsed = self._parsed(text)
        if parsed.problem:
            warn_user(f"{self.language} files are read as plain text: {parsed.problem}")
        return [
            Heading(d.level, d.title, d.start, d.body_start) for d in parsed.definitions
        ]

    def definitions(self, text: str) -> tuple[Definition, ...]:
        """What its headings define, in order; none without the extra `code`."""
        return self._parsed(text).definitions

    def blocks(self, text: str, start: int, end: int) -> list[Block]:
        """The blocks that tile `text[start:end]`: the outermost statements, a group for those
        without a blank line between them. Cut between statements."""
        statements = self._parsed(text).statements
        if statements is None:
            return tiled(_element, text, start, end)
        first, stop = (bisect_left(statements, (at, 0)) for at in (start + 1, end))
        inside = statements[first:stop]
        least = min((depth for _, depth in inside), default=0)
        outermost = {place for place, depth in inside if depth == least}
        return tiled(partial(_statements, outermost), text, start, end)

    def title(self, text: str) -> str:
        """The first line of a Python module's docstring; else ""."""
        match = _DOCSTRING.match(text) if self.language == "python" else None
        return match[2].partition(match[1])[0].strip() if match else ""

    def _parsed(self, text: str) -> _ParsedSource:
        try:
            return _parsed(self.language, text)
        except MissingExtra as error:
            return _ParsedSource((), None, str(error))


@cache
def has_grammars() -> bool:
    """Return True if the extra `code` is installed."""
    return find_spec("tree_sitter") is not None


def reader(language: str) -> CodeReader:
    """Who reads a language, one of `SUFFIXES`. Raises InvalidParameter for another."""
    check_choice("language", language, SUFFIXES)
    return CodeReader(language)


def _parser(language: str) -> Any:
    grammar = "typescript" if language == "tsx" else language
    sitter = require("tree_sitter", extra="code")
    module = require(f"tree_sitter_{grammar}", extra="code")
    name = (
        f"language_{language}"
        if language in ("typescript", "tsx", "php")
        else "language"
    )
    return sitter.Parser(sitter.Language(getattr(module, name)()))


class _ParsedSource(NamedTuple):
    definitions: tuple[Definition, ...]
    # Where the line of each begins, how deep it is; None where nothing is known.
    statements: list[tuple[int, int]] | None
    problem: str = ""


@lru_cache(maxsize=2)
def _parsed(language: str, text: str) -> _ParsedSource:
    """What is in a source; both its headings and its blocks are asked for."""
    data = text.encode("utf-8", "replace")
    root = _root(_parser(language), data)
    if root is None:
        return _ParsedSource((), None, "a text takes the grammar too long. Is it code?")
    found, statements = _walked(root, data)
    places = [place for _, _, *span in found for place in span[:4]]
    at = _characters(data, [*places, *statements])
    definitions = []
    for k, (level, title, start, stop, end, signature, is_function) in enumerate(found):
        if k + 1 < len(found):
            stop = min(stop, found[k + 1][2])
        if start < stop:
            definitions.append(
                Definition(
                    level,
                    title,
                    at[start],
                    at[stop],
                    at[end],
                    at[signature],
                    is_function,
                )
            )
    nested = sorted((at[place], depth) for place, depth in statements.items())
    return _ParsedSource(tuple(definitions), nested)


def _root(parser: Any, data: bytes) -> Any:
    """The root of the syntax tree; None where that takes far more work than code of the length, as
    some errors take the square of it."""
    work = -_WORK * len(data) - _LEAST_WORK

    def read(place: int, _: Any) -> bytes:
        nonlocal work
        part = data[place : place + _PART]
        work += len(part)
        return part

    def is_enough(*_: Any) -> bool:
        nonlocal work
        work += _ROUND
        return work > 0

    try:
        return parser.parse(read, progress_callback=is_enough).root_node
    except ValueError:  # it was enough
        return None


class _Role(NamedTuple):
    """What nodes of a type are."""

    is_definition: bool
    is_function: bool
    is_sequence: bool  # of statements
    is_wrapper: bool
    is_leading: bool
    is_entered: bool


@lru_cache(maxsize=4096)
def _role(kind: str) -> _Role:
    patterns = (_DEFINITION, _FUNCTION, _SEQUENCE, _WRAPPER, _LEADING, _NESTING)
    roles = _Role._make(pattern.fullmatch(kind) is not None for pattern in patterns)
    return roles._replace(is_entered=roles.is_entered or roles.is_definition)


_Found = tuple[int, str, int, int, int, int, bool]


def _walked(root: Any, data: bytes) -> tuple[list[_Found], dict[int, int]]:
    """Each definition with the bytes where it begins, its heading and itself end, and its signature
    begins; and the lines of statements, but the first one of each sequence of them."""
    found: list[_Found] = []
    statements: dict[int, int] = {}
    stack = [(root, _role(root.type), 1, root.start_byte, 0)]
    while stack:
        node, role, level, start, depth = stack.pop()
        is_definition = False
        if role.is_definition:
            name = _name(node, data)
            if name:
                is_definition = True
                span = _signature(node, start, data)
                signature = max(_line(data, node.start_byte), span[0])
                end = max(_line_end(data, node.end_byte), span[1])
                found.append((level, name, *span, end, signature, role.is_function))
        is_sequence = role.is_sequence
        inner: list[tuple[Any, _Role, int, int, int]] = []
        lead, row = -1, -2  # row: of the end of the comment above
        if is_sequence and start < node.start_byte:  # it stands in front of a body
            lead, row = start, node.start_point[0] - 1
        is_first = node != root
        for child in node.named_children:
            of_child = _role(child.type)
            if of_child.is_leading:
                if row < 0 or child.start_point[0] > row + 1:
                    lead = child.start_byte
                row = child.end_point[0]
                continue
            if not (is_sequence or of_child.is_entered):
                row = -2
                continue
            begin = child.start_byte
            if row >= 0:
                begin = lead if child.start_point[0] - row <= 1 else begin
                row = -2
            if is_sequence and not is_first:
                line = _line(data, begin)
                if line < begin or not begin or data[begin - 1] == 10:
                    statements.setdefault(line, depth)
            is_first = False
            if of_child.is_entered:
                if not inner and not is_definition and role.is_wrapper:
                    begin = min(begin, start)
                inside = level + is_definition, begin, depth + is_sequence
                inner.append((child, of_child, *inside))
        stack += reversed(inner)
    return found, statements


def _name(node: Any, data: bytes) -> str:
    """What a definition is called; "" for one that is none."""
    body = node.child_by_field_name("body")
    if node.type.endswith("_specifier") and body is None:
        return ""  # a type that is only named
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or value.type not in _VALUES:
            return ""
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None:
        named = declarator
        declarator = declarator.child_by_field_name("declarator")
    if named is None:
        return ""
    return " ".join(data[named.start_byte : named.end_byte].decode().split())


def _signature(node: Any, start: int, data: bytes) -> tuple[int, int]:
    """The whole lines of a heading, or what stands on its own part of a line."""
    body = node.child_by_field_name("body")
    end = node.start_byte
    for child in node.children:
        if body is not None and child.start_byte >= body.start_byte:
            break
        if not child.type.endswith("comment"):
            end = child.end_byte
    if body is not None and data[body.start_byte : body.start_byte + 1] == b"{":
        end = max(end, body.start_byte + 1)
    return _line(data, start), _line_end(data, end)


def _line(data: bytes, start: int) -> int:
    """The start of the line, where only white space stands before."""
    low = max(0, start - 200)
    line = data.rfind(b"\n", low, start) + 1 or low
    is_first = not data[line:start].strip() and (line > low or not low)
    return line if is_first else start


def _line_end(data: bytes, end: int) -> int:
    """Behind the end of the line, unless it is far away."""
    eol = data.find(b"\n", end, end + 2000) + 1
    return eol or (len(data) if end + 2000 >= len(data) else end)


def _characters(data: bytes, offsets: list[int]) -> dict[int, int]:
    """The character of each byte offset."""
    if data.isascii():
        return {offset: offset for offset in offsets}
    places = {}
    at = characters = 0
    for offset in sorted(set(offsets)):
        characters += len(data[at:offset].decode("utf-8", "replace"))
        places[offset] = characters
        at = offset
    return places


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    stop = paragraph(lines, i)
    least = min(line.indent for line in lines[i:stop])
    cuts = (
        j
        for j in range(i + 1, stop)
        if lines[j].indent == least and not _CONTINUES.match(lines[j].text)
    )
    return Element(stop, "code", tuple(cuts))


def _statements(
    outermost: set[int], lines: Lines, i: int, before: Element | None
) -> Element:
    """Whole statements up to a blank line."""
    stop = paragraph(lines, i)
    while (following := filled(lines, stop)) < len(lines):
        if lines[following].start in outermost:
            break
        stop = paragraph(lines, following)
    cuts = (j for j in range(i + 1, stop) if lines[j].start in outermost)
    return Element(stop, "code", tuple(cuts))
