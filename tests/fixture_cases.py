"""Cases and examples as plain text, so that adding one needs no Python.

`cases` reads tests/fixtures/<subject>/*.txt, for longer texts; `examples` the file of a test file's
name in tests/fixtures/examples, a line an example.

A case is four parts, each ended by a line of dots: its name, the input, options (`limit = 8`, one
a line; the part may be empty) and what is expected. `{body}` at the end of
a line stands for BODY.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

FOLDER = Path(__file__).parent / "fixtures"
BODY = (
    "The parties agree that all of the terms which follow are binding on both of them and on "
    "their heirs, and so forth.\n"
)
_DOTS = re.compile(r"^\.{3,}\n", re.MULTILINE)
_PARTS = 4
Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Case:
    """One case of a file; `options` values are JSON."""

    name: str
    text: str
    options: dict[str, Any]
    expected: str


def cases(subject: str) -> list[Any]:
    """The cases of all files of one folder, each a pytest parameter that is named as the case."""
    result = []
    for path in sorted((FOLDER / subject).glob("*.txt")):
        *parts, rest = _DOTS.split(path.read_text(encoding="utf-8"))
        if rest.strip() or len(parts) % _PARTS:
            raise ValueError(
                f"{path}: a case must be {_PARTS} parts, each ended by a line of dots"
            )
        for i in range(0, len(parts), _PARTS):
            name, text, options, expected = parts[i : i + _PARTS]
            text, expected = (
                part.replace("{body}\n", BODY) for part in (text, expected)
            )
            case = Case(name.strip(), text, _options(options), expected)
            result.append(pytest.param(case, id=f"{path.stem}: {case.name}"))
    return result


def _options(text: str) -> dict[str, Any]:
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    return {name.strip(): json.loads(value) for name, _, value in pairs}


def examples(test: Test) -> Test:
    """Give a test its examples: the lines below `[its name: its arguments]`, which are Python's
    literals, each an example."""
    file = Path(test.__globals__["__file__"]).relative_to(FOLDER.parent)
    text = (FOLDER / "examples" / file.with_suffix(".txt")).read_text(encoding="utf-8")
    tables = re.findall(
        rf"^\[{test.__name__}: (.*)\]\n((?:(?!\[test_).*\n)*)", text, re.MULTILINE
    )
    if not tables:
        raise ValueError(f"{file}: no examples of {test.__name__}")
    for names, lines in tables:
        rows = [
            ast.literal_eval(line)
            for line in lines.splitlines()
            if line and not line.startswith("#")
        ]
        test = pytest.mark.parametrize(names, rows)(test)
    return test
