"""The names the package gives, how light its import is, and that it reaches no network."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import structrag

HEAVY = [
    "torch",
    "transformers",
    "sentence_transformers",
    "langchain_core",
    "llama_index",
    "sklearn",
    "scipy",
    "nltk",
    "bm25s",
    "numpy",
]


def in_fresh_python(code: str) -> Any:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


def test_names_are_sorted_real_and_at_home() -> None:
    assert structrag.__all__ == sorted(structrag.__all__) == sorted(structrag._HOMES)
    for name, home in structrag._HOMES.items():
        value = getattr(structrag, name)
        assert value is getattr(importlib.import_module(home), name)
        assert value.__module__.startswith("structrag.")


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(structrag.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == structrag._HOMES


def test_dir_and_unknown_names() -> None:
    assert set(structrag.__all__) <= set(dir(structrag))
    with pytest.raises(AttributeError, match="module 'structrag' has no attribute 'Nothing'"):
        _ = structrag.Nothing


@pytest.mark.parametrize("name", structrag.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    value = getattr(structrag, name)
    assert value.__doc__ and not value.__doc__.startswith(f"{name}(")
    if inspect.isclass(value):
        for member, found in vars(value).items():
            documented = inspect.isfunction(found) or isinstance(found, classmethod | staticmethod)
            if documented and not member.startswith("_"):
                assert getattr(value, member).__doc__, f"{name}.{member}"


def test_import_is_light() -> None:
    code = (
        f"import json, sys, structrag; print(json.dumps([n for n in {HEAVY!r} if n in "
        "sys.modules]))"
    )
    assert in_fresh_python(code) == []


@pytest.mark.parametrize(
    "name", ["Document", "Outline", "parse", "StructragError", "ContentAwareSplitter"]
)
def test_splitting_needs_no_model_package(name: str) -> None:
    heavy = [
        "torch",
        "transformers",
        "sentence_transformers",
        "langchain_core",
        "llama_index",
        "sklearn",
    ]
    code = (
        f"import json, sys, structrag; structrag.{name}; print(json.dumps([n for n in {heavy!r} "
        "if n in sys.modules]))"
    )
    assert in_fresh_python(code) == []


def test_import_is_quick() -> None:
    code = (
        "import json, time; before = time.process_time(); import structrag; "
        "print(json.dumps(time.process_time() - before))"
    )
    assert min(in_fresh_python(code) for _ in range(3)) < 0.3


def test_the_whole_way_without_a_network(socket_disabled: None, tmp_path: Path) -> None:
    document = structrag.read_text(
        "# Pump\n\nThe pump moves water.\n\n# Valve\n\nIt stops the flow.\n",
        format="markdown",
        id="d",
    )
    index = structrag.Index()
    index.add([document])
    index.save(tmp_path / "index")
    loaded = structrag.Index.load(tmp_path / "index")
    assert structrag.MultiViewRetriever(loaded, k=1).search("water pump")[0].chunk.path == ("Pump",)
