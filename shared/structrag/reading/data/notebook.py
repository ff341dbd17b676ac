"""Jupyter notebooks (nbformat 3 and 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from structrag.reading.data.placed import placed_draft
from structrag.reading.drafts import Draft
from structrag.reading.escaping import escaped_lines, fenced, heading_line
from structrag.reading.html.markdown import page_draft
from structrag.reading.office.package import refuse
from structrag.text.numbers import pluralise, whole_number

_FENCE = re.compile(r" {0,3}(`{3,}(?!`)|~{3,}(?!~))(.*)", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NAME = re.compile(r"<[A-Za-z_][^<>]*>")  # of an object, all that plain text says of it
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_IMAGES = ("png", "jpeg", "svg", "pdf")  # keys of nbformat 3


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A notebook as Markdown. Places are "cell 1" and so on.

    Markdown cells stand as they are, code and the texts that it printed are fenced, raw cells are
    text without headings. Of an object that plain text only names, its Markdown, HTML or LaTeX is
    read. Images of outputs are left out and counted.

    Raises:
        InvalidDocument: The file is not a notebook, or its JSON is broken or too deep.
    """
    try:
        # Of numbers, only levels are read.
        notebook = json.loads(
            data.decode("utf-8-sig"), parse_int=lambda digits: whole_number(digits, 0)
        )
    except (ValueError, RecursionError) as error:
        refuse(
            name, (f"it is not JSON, the format of notebooks ({error}). Save it again.")
        )
    cells = _cells(notebook)
    if cells is None:
        refuse(name, 'it is JSON without a list of "cells". Save it as a notebook.')
    facts = _dict(notebook.get("metadata"))
    language = _language(facts)
    blocks = [
        (f"cell {number}", block)
        for number, cell in enumerate(map(_dict, cells), start=1)
        for block in _blocks(cell, language)
    ]
    images = sum(
        _has_image(output) for cell in map(_dict, cells) for output in _outputs(cell)
    )
    uncertain = [f"{pluralise(images, 'image')} of outputs left out."] * bool(images)
    return placed_draft(blocks, tuple(uncertain), _text(facts.get("title")))


def _blocks(cell: dict[str, Any], language: str) -> Iterator[str]:
    """The Markdown of a cell: its source and what it printed."""
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input"))).strip("\r\n")
    if kind == "code":
        shown = language or _named(cell.get("language"))
        yield fenced(source, shown) if source.strip() else ""
        for output in _outputs(cell):
            text = _printed(output).rstrip()
            is_name = not text or _NAME.fullmatch(text)
            shown = _shown(_dict(output.get("data"))) if is_name else ""
            yield shown or (fenced(text) if text.strip() else "")
    elif kind == "markdown":
        yield _closed(source)
    elif kind == "heading" and source.strip():  # nbformat 3
        level = cell.get("level")
        level = level if isinstance(level, int) else 1
        yield heading_line(level, " ".join(source.split()))
    else:
        yield "\n".join(escaped_lines(source.splitlines()))


def _outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    outputs = cell.get("outputs") if cell.get("cell_type") == "code" else None
    return list(map(_dict, outputs)) if isinstance(outputs, list) else []


def _cells(notebook: Any) -> list[Any] | None:
    cells = _dict(notebook).get("cells")
    sheets = _dict(notebook).get("worksheets")
    if cells is None and isinstance(sheets, list):
        lists = [_dict(sheet).get("cells") for sheet in sheets]
        return [cell for part in lists if isinstance(part, list) for cell in part]
    return cells if isinstance(cells, list) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _language(facts: dict[str, Any]) -> str:
    return _named(_dict(facts.get("kernelspec")).get("language")) or _named(
        _dict(facts.get("language_info")).get("name")
    )


def _named(language: Any) -> str:
    is_name = isinstance(language, str) and _LANGUAGE.fullmatch(language)
    return language if is_name else ""


def _printed(output: dict[str, Any]) -> str:
    if isinstance(trace := output.get("traceback"), list):
        text = "\n".join(line for line in trace if isinstance(line, str))
    else:
        text = _text(_dict(output.get("data")).get("text/plain", output.get("text")))
    return _COLOUR.sub("", text)


def _shown(data: dict[str, Any]) -> str:
    """What a notebook shows of an object, as Markdown."""
    if markdown := _text(data.get("text/markdown")):
        return _closed(markdown)
    source = _text(data.get("text/html"))
    # A script draws a picture, and its page has only buttons.
    if source and "<script" not in source:
        return page_draft(source).text.strip()
    return _text(data.get("text/latex"))


def _has_image(output: dict[str, Any]) -> bool:
    shown = _dict(output.get("data"))
    return any(key.startswith("image/") for key in shown) or any(
        key in output for key in _IMAGES
    )


def _closed(source: str) -> str:
    """A Markdown cell whose last code block ends with it, as a notebook shows it."""
    fence = ""
    for line in source.splitlines():
        match = _FENCE.fullmatch(line)
        if match and match[1][0] == "`" and "`" in match[2]:
            continue  # code within a line
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return f"{source}\n{fence}" if fence else source
