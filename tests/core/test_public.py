"""The names the package gives, how light its import is, and that it reaches no network."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from rooms import ROOMS

import structrag
from structrag._lazy import REMOVED, REPLACED
from structrag.errors import UnknownArgument

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
# packages whose public names are loaded when they are first used
PACKAGES = [
    "langchain_structrag",
    "llama_index_structrag",
    "structrag",
    "structrag.model_calls",
    "structrag.chunks",
    "structrag.formatting",
    "structrag.index",
    "structrag.models",
    "structrag.reading",
    "structrag.retrieval",
    "structrag.show",
    "structrag.text",
]
NAMES = {
    name: getattr(importlib.import_module(package), name)
    for package in PACKAGES
    if package.startswith("structrag")
    for name in importlib.import_module(package).__all__
}


def in_fresh_python(code: str) -> Any:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_sorted_real_and_at_home(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__) == sorted(module._HOMES)
    for name, home in module._HOMES.items():
        value = getattr(module, name)
        assert value is getattr(importlib.import_module(home), name)
        assert value.__module__.startswith(f"{package.partition('.')[0]}.")


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_the_same_names(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block, loading = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(loading.test) == "not TYPE_CHECKING", (
        "or type checkers take any name"
    )
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == module._HOMES


def test_the_top_has_what_is_used_most_and_rooms_have_all_of_it() -> None:
    assert len(structrag.__all__) <= 34
    for name, home in structrag._HOMES.items():
        room = home.split(".")[1]
        if f"structrag.{room}" in PACKAGES:
            assert name in importlib.import_module(f"structrag.{room}").__all__


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_and_unknown_names(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(
        AttributeError, match=f"module '{package}' has no attribute 'Nothing'"
    ):
        _ = module.Nothing


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_name_says_what_takes_its_place(name: str) -> None:
    for package in PACKAGES:
        assert name not in dir(importlib.import_module(package))
    with pytest.raises(ImportError, match=f"structrag.{name} was removed. Use .+[.]$"):
        exec(f"from structrag import {name}")


@pytest.mark.parametrize("name", REPLACED)
def test_a_replaced_name_warns_and_gives_what_takes_its_place(name: str) -> None:
    for package in PACKAGES:
        module = importlib.import_module(package)
        if REPLACED[name] in module.__all__:
            with pytest.warns(
                FutureWarning, match=f"{name} was removed; {REPLACED[name]} takes"
            ):
                assert getattr(module, name) is getattr(module, REPLACED[name])


def test_a_removed_argument_says_what_to_do_instead() -> None:
    message = r"no argument 'choose_views'\. Omit it: views are extracted, .* Known: "
    with pytest.raises(UnknownArgument, match=message):
        structrag.Index(choose_views=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring(name: str) -> None:
    value = NAMES[name]
    assert value.__doc__ and not value.__doc__.startswith(f"{name}(")
    if inspect.isclass(value):
        for member, attribute in vars(value).items():
            documented = inspect.isfunction(attribute) or isinstance(
                attribute, classmethod | staticmethod
            )
            if documented and not member.startswith("_"):
                assert getattr(value, member).__doc__, f"{name}.{member}"


def test_every_room_says_what_is_in_it() -> None:
    for room in ROOMS:
        assert importlib.import_module(f"structrag.{room}").__doc__, room


def test_import_is_light() -> None:
    code = (
        f"import json, sys, {', '.join(PACKAGES)}; print(json.dumps([n for n in {HEAVY!r} if n in "
        "sys.modules]))"
    )
    assert in_fresh_python(code) == []


MODELS_AND_STORES = [
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "scipy",
    "pandas",
    "nltk",
    "lancedb",
    "pymilvus",
    "structrag.index",
    "structrag.retrieval",
    "structrag.models",
    "structrag.chunks.model_splitter",
]


@pytest.mark.parametrize(
    ("package", "name", "further"),
    [
        *(
            ("structrag", name, ["langchain_core", "llama_index"])
            for name in ("Document", "parse", "StructragError", "ContentAwareSplitter")
        ),
        ("langchain_structrag", "ContentAwareTextSplitter", ["langsmith"]),
        ("langchain_structrag", "FixedTextSplitter", ["langsmith"]),
        ("llama_index_structrag", "ContentAwareNodeParser", []),
        ("llama_index_structrag", "FixedNodeParser", []),
    ],
)
def test_splitting_needs_no_model_package_and_no_retriever(
    package: str, name: str, further: list[str]
) -> None:
    """What LlamaIndex imports itself does not count."""
    host = "import llama_index.core.node_parser; " if "llama" in package else ""
    code = (
        f"import json, sys; {host}before = set(sys.modules); import {package}; {package}.{name}; "
        f"print(json.dumps([n for n in {[*MODELS_AND_STORES, *further]!r} "
        "if n in sys.modules and n not in before]))"
    )
    assert in_fresh_python(code) == []


@pytest.mark.parametrize("package", PACKAGES[:2])
def test_hints_of_the_adapters_can_be_read(package: str) -> None:
    module = importlib.import_module(package)
    for value in [getattr(module, name) for name in module.__all__]:
        get_type_hints(value)
        get_type_hints(value.__init__)


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
    assert structrag.MultiViewRetriever(loaded, k=1).search("water pump")[
        0
    ].chunk.path == ("Pump",)
