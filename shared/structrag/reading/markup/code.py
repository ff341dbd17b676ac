"""Source code by tree-sitter: modules, classes and functions as sections."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from structrag.errors import MissingExtra, check_choice, require, warn_user
from structrag.reading.markup.lines import Element, Lines, paragraph, tiled
from structrag.records import Block, Heading

# Each language with the suffixes of its files; its grammar is the package `tree-sitter-NAME`.
SUFFIXES = {
    "python": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "typescript": (".ts", ".mts", ".cts"),
    "tsx": (".tsx",),
    "java": (".java",),
    "go": (".go",),
    "rust": (".rs",),
    "c": (".c", ".h"),
    "cpp": (".cpp", ".cc", ".cxx", ".hpp", ".hh"),
    "c_sharp": (".cs",),
    "ruby": (".rb",),
    "php": (".php",),
    "bash": (".sh", ".bash"),
}
_DEFINITION = re.compile(
    r"(?:variable_declarator|class|module|method|singleton_method|internal_module|type_spec|macro_definition"
    r"|(?:abstract_class|class|struct|interface|trait|enum|record|annotation_type|method"
    r"|constructor|function|generator_function|namespace)_declaration"
    r"|(?:function|class|method|namespace)_definition"
    r"|(?:mod|struct|enum|union|trait|impl|function)_item"
    r"|(?:class|struct|union|enum)_specifier)"
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
    r"(?!parameter|argument|type_argument|formal|import|return).*"
    r"(?:block|body|statement|declaration|definition|_list|_item|_clause|declarator|preproc_\w+"
    r"|class|module|specification)|ERROR"
)
_DOCSTRING = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r(?!\n)|\n))*[rRuU]?(\"\"\"|'''|\"|')\\?\s*([^\r\n]{0,500})"
)
_CONTINUES = re.compile(
    r"\s*(?:[)\]}]|else\b|elif\b|except\b|finally\b|catch\b|end\b|then\b|do\b)"
)


@dataclass(frozen=True, slots=True)
class CodeReader:
    """Who reads the files of one language; make one with `reader`."""

    language: str

    def headings(self, text: str) -> list[Heading]:
        """Its definitions, in order; levels by how they are nested.

        A span begins at the decorators and the comment right above and ends with the last line of
        the signature. Without the extra `code` there are none, and a warning says so.
        """
        try:
            parser = _parser(self.language)
        except MissingExtra as error:
            warn_user(f"{self.language} files are read as plain text: {error}")
            return []
        data = text.encode("utf-8", "replace")
        found = _definitions(parser.parse(data).root_node, data)
        offsets = _characters(data, [n for _, _, *span in found for n in span])
        headings: list[Heading] = []
        for k, (level, name, start, end) in enumerate(found):
            stop = min(end, found[k + 1][2]) if k + 1 < len(found) else end
            if start < stop:
                headings.append(Heading(level, name, offsets[start], offsets[stop]))
        return headings

    def blocks(self, text: str, start: int, end: int) -> list[Block]:
        """The blocks that tile `text[start:end]`: lines without a blank one between them.

        Cut before the lines that are indented least.
        """
        return tiled(text, start, end, _element)

    def title(self, text: str) -> str:
        """The first line of a Python module's docstring; else ""."""
        match = _DOCSTRING.match(text) if self.language == "python" else None
        return match[2].partition(match[1])[0].strip() if match else ""


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


@lru_cache(maxsize=4096)
def _is(pattern: re.Pattern[str], kind: str) -> bool:
    return pattern.fullmatch(kind) is not None


def _definitions(root: Any, data: bytes) -> list[tuple[int, str, int, int]]:
    """Level, name and the bytes of the heading of each definition, in order."""
    found = []
    stack = [(root, 1, root.start_byte)]
    while stack:
        node, level, start = stack.pop()
        kind = node.type
        is_definition = False
        if _is(_DEFINITION, kind):
            name = _name(node, data)
            if name:
                is_definition = True
                found.append((level, name, *_signature(node, start, data)))
        inner: list[tuple[Any, int, int]] = []
        lead, row = -1, -2  # row: of the end of the comment above
        for child in node.named_children:
            if _is(_LEADING, child.type):
                if row < 0 or child.start_point[0] > row + 1:
                    lead = child.start_byte
                row = child.end_point[0]
                continue
            begin = lead if 0 <= child.start_point[0] - row <= 1 else child.start_byte
            if not inner and not is_definition and _is(_WRAPPER, kind):
                begin = min(begin, start)
            if _is(_NESTING, child.type) or _is(_DEFINITION, child.type):
                inner.append((child, level + is_definition, begin))
            row = -2
        stack += reversed(inner)
    return found


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
        end = child.end_byte
    if body is not None and data[body.start_byte : body.start_byte + 1] == b"{":
        end = max(end, body.start_byte + 1)
    low = max(0, start - 200)
    line = data.rfind(b"\n", low, start) + 1 or low
    if not data[line:start].strip() and (line > low or not low):
        start = line
    eol = data.find(b"\n", end, end + 2000) + 1
    return start, eol or (len(data) if end + 2000 >= len(data) else end)


def _characters(data: bytes, offsets: list[int]) -> dict[int, int]:
    """The character of each byte offset."""
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
