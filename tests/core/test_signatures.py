"""What users write without being told again: the defaults of public names, the numbers they may
set, the presets, and that records do not change."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from fixture_cases import FOLDER

import structrag
from structrag.errors import InvalidParameter

TABLE = FOLDER / "defaults.txt"
LIMITS = FOLDER / "limits.txt"
# Tried for every setting.
NUMBERS = (-1, 0, 0.001, 1, 1.01, 2, 7, 8, 15, 16, 99, 100, 1000)
# Characters of a value in the table; prompts are longer, and tested where they go.
LONGEST = 60

# By room and class, not by module. Written while something is made, read or counted.
MUTABLE = {
    "model_calls.Usage",
    "model_calls._Outcome",
    "chunks.AdaptiveThreshold",
    "chunks.GapModel",
    "chunks.SentenceMargins",
    "chunks.Supplement",
    "cli.Memory",
    "reading._Reading",
    "formatting.Converted",
    "integrations.JsonAnswers",
    "integrations.LogProbabilities",
    "index.Segment",
    "index.StoreState",
    "index._Answers",
    "ingestion.FolderSummary",
    "ingestion._Batch",
    "models.ColbertTokens",
    "models.CrossEncoderScorer",
    "models.Cuts",
    "models.Masses",
    "models.MonoT5",
    "models.PrefixReader",
    "models.TransformersMargin",
    "models.TransformersModel",
    "models.TransformersSummariser",
    "models.TransformersTokens",
    "reading.PlacedText",
    "reading._Region",
    "reading.Sheet",
    "reading.PageCell",
    "reading.Hyphens",
    "reading.Joiner",
    "reading.Paragraph",
    "reading.FlowPiece",
    "reading.Cell",
    "reading.PageRow",
    "reading.StoryParagraph",
    "reading._RtfTable",
    "reading.StoryTable",
    "reading._OpenElement",
    "reading._TableRole",
    "reading._WordTable",
    "retrieval.RouteTally",
    "retrieval.CallStats",
    "retrieval._Rounds",
    "reading._Cell",
    "reading._OdtList",
    "reading._RtfState",
    "reading._OdtTable",
}
# Some keep what they computed, some wrap a model that users may extend.
WITHOUT_SLOTS = {
    "chunks.Augmentor",
    "chunks.Segmenter",
    "integrations.HostRetriever",
    "integrations._Searcher",
    "index.LevelTable",
    "index.LexicalPart",
    "index.Postings",
    "index.Segment",
    "models.ColbertTokens",
    "models.CrossEncoderScorer",
    "models.FunctionEmbedder",
    "models.FunctionModel",
    "models.OnnxEncoder",
    "models.LsaEmbedder",
    "models.MonoT5",
    "models.SentenceTransformerEmbedder",
    "models.StaticEmbedder",
    "models.TokenizerCounter",
    "models.TransformersMargin",
    "models.TransformersModel",
    "models.TransformersSummariser",
    "models.TransformersTokens",
    "reading.Hyphens",
    "reading.Joiner",
    "reading.Paragraph",
    "retrieval.CandidateSource",
}


def _modules() -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(structrag.__path__, "structrag.")]
    return [
        structrag,
        *(importlib.import_module(n) for n in names if not n.endswith("__main__")),
    ]


MODULES = _modules()
NAMES = {
    name: getattr(package, name)
    for package in MODULES
    if hasattr(package, "__path__")
    for name in getattr(package, "__all__", ())
}


def _values(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    named = (
        p for p in parameters if not p.name.startswith("_") and p.default is not None
    )
    return {p.name: p.default for p in named}


def _callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in sorted(NAMES.items()):
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        yield name, value
        if inspect.isclass(value):
            methods = inspect.getmembers(value, callable)
            yield from ((f"{name}.{m}", method) for m, method in methods if m[0] != "_")


def _preset(preset: Callable[[], Any]) -> dict[str, Any]:
    """What a preset of a record changes."""
    paper: Any = preset()
    names = [field.name for field in dataclasses.fields(paper) if field.init]
    default = type(paper)()
    values = {name: getattr(paper, name) for name in names}
    return {
        name: value for name, value in values.items() if value != getattr(default, name)
    }


def _lines(label: str, values: dict[str, Any]) -> list[str]:
    plain = {
        name: repr(value)
        for name, value in values.items()
        if isinstance(value, str | int | float | tuple | None)
        and len(repr(value)) <= LONGEST
    }
    return (
        [label, *(f"    {name} = {value}" for name, value in plain.items())]
        if plain
        else []
    )


def _table() -> list[str]:
    lines: list[str] = []
    for label, function in _callables():
        lines += _lines(label, _values(function))
        if label.endswith(".paper") and dataclasses.is_dataclass(
            NAMES[label.partition(".")[0]]
        ):
            lines += _lines(f"{label}()", _preset(function))
    return lines


def test_defaults_are_those_of_the_table() -> None:
    """A default is a promise: one that changes is changed in the table and in CHANGELOG.md."""
    assert _table() == TABLE.read_text(encoding="utf-8").splitlines()


def _needed() -> dict[str, dict[str, Any]]:
    """Class -> what it cannot be made without."""
    index = structrag.Index(views=("raw",))
    searched = {"retriever": structrag.MultiViewRetriever(index)}
    return {
        "MultiViewRetriever": {"index": index},
        "HiQARetriever": {"index": index},
        "D3Retriever": {"index": structrag.D3Index()},
        "SelfAsk": {**searched, "llm": str},
    }


def _allowed(
    kind: Callable[..., Any], name: str, needed: dict[str, Any]
) -> list[float]:
    """The numbers that a setting may be."""
    allowed: list[float] = []
    for number in NUMBERS:
        with contextlib.suppress(InvalidParameter):
            kind(**{**needed, name: number})
            allowed.append(number)
    return allowed


def _limits() -> list[str]:
    """The least and most of `NUMBERS` that every numeric setting of a public class may be."""
    lines = []
    needed = _needed()
    for name, kind in sorted(NAMES.items()):
        if not inspect.isclass(kind) or issubclass(kind, Exception):
            continue
        parameters = inspect.signature(kind).parameters.values()
        required = {
            p.name
            for p in parameters
            if p.default is p.empty and p.kind != p.VAR_KEYWORD
        }
        if not required <= needed.get(name, {}).keys():
            continue
        for parameter in parameters:
            if not re.match(r"(int|float)\b", str(parameter.annotation)):
                continue
            allowed = _allowed(kind, parameter.name, needed.get(name, {}))
            if 0 < len(allowed) < len(NUMBERS):
                most = f", at most {allowed[-1]}" if allowed[-1] != NUMBERS[-1] else ""
                lines.append(f"{name}.{parameter.name}: at least {allowed[0]}{most}")
    return lines


def test_numbers_are_allowed_as_the_table_says() -> None:
    """What is allowed is a promise too; with one number less in it, a user's program breaks."""
    assert _limits() == LIMITS.read_text(encoding="utf-8").splitlines()


def _records() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for name, value in vars(module).items():
            is_record = isinstance(value, type) and dataclasses.is_dataclass(value)
            if is_record and value.__module__ == module.__name__:
                yield f"{module.__name__.split('.')[1]}.{name}", value


def test_records_do_not_change_but_for_those_named() -> None:
    mutable = {
        name for name, record in _records() if not record.__dataclass_params__.frozen
    }
    assert mutable == MUTABLE


def test_records_have_slots_but_for_those_named() -> None:
    assert {name for name, record in _records() if "__slots__" not in vars(record)} == (
        WITHOUT_SLOTS
    )
