"""One test file for one module, of the same name: a module's name leads to its tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import structrag

CORE = Path(structrag.__file__).parent
TESTS = Path(__file__).parent

# Modules without a test file of their own, each with the files that test them and the reason.
ELSEWHERE = {
    "__main__": "cli/test_app: two lines",
    "_lazy": "test_public: what it gives is the public names",
    "index/corpus": "protocols; index/test_store, index/test_engine_store: what follows them",
    "ingestion/tasks": "records",
    "reading/drafts": "a record",
}
# The same of the adapters.
ELSEWHERE_IN_ADAPTERS = {
    "langchain_structrag": {
        "conversion": "test_places, test_source_places: documents there and back",
        "reading": "test_pic, test_idms: splitters that ask models",
    },
    "llama_index_structrag": {
        "conversion": "test_places, test_source_places: nodes there and back",
        "events": "test_d3, test_multiview: what handlers are told",
        "formatting": "test_hiqa: the formatter in a pipeline",
        "multihop": "test_d3: hops over a retriever",
        "parsing": "test_node_parsers, test_known_inputs: limits and metadata",
        "reading": "test_pic, test_idms: parsers that ask models",
        "settings": "test_node_parsers: settings of parsers",
        "vision": "test_hiqa: images described",
    },
}
FOLDERS = {
    "langchain_structrag": "langchain_adapter",
    "llama_index_structrag": "llama_index_adapter",
}
# Test files about an adapter as a whole.
ACROSS = {
    "broken_off", "chains", "chunk_metadata", "embedders", "examples", "host_classes", "index_path",
    "known_inputs", "langgraph", "names", "places", "real_documents", "runnables", "source_places",
    "standard",
}  # fmt: skip
# Test files about the core as a whole.
WHOLE = {
    "test_examples",
    "test_growth",
    "test_layout_of_tests",
    "test_public",
    "test_real_documents",
    "test_rooms",
    "test_signatures",
}


def _has_code(file: Path) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(tree)
    )


def _modules() -> set[str]:
    files = (
        file
        for file in CORE.rglob("*.py")
        if file.stem != "__init__" and _has_code(file)
    )
    return {file.relative_to(CORE).with_suffix("").as_posix() for file in files}


def _tested() -> set[str]:
    files = (file for file in TESTS.rglob("test_*.py") if file.stem not in WHOLE)
    return {
        file.relative_to(TESTS).with_name(file.stem.removeprefix("test_")).as_posix()
        for file in files
    }


def test_every_module_has_its_test_file() -> None:
    assert sorted(_modules() - _tested() - ELSEWHERE.keys()) == []


def test_every_test_file_has_its_module() -> None:
    existing = {
        file.relative_to(CORE).with_suffix("").as_posix() for file in CORE.rglob("*.py")
    }
    assert sorted(_tested() - existing) == []


def test_exceptions_are_needed() -> None:
    assert sorted(ELSEWHERE.keys() & _tested()) == []


def test_files_named_for_modules_without_their_own_exist() -> None:
    named = {
        file
        for reason in ELSEWHERE.values()
        for file in reason.partition(":")[0].split(", ")
    }
    paths = [name for name in named if " " not in name and "test_" in name]
    assert sorted(name for name in paths if not (TESTS / f"{name}.py").exists()) == []


@pytest.mark.parametrize("package", FOLDERS)
def test_modules_of_the_adapters_have_their_test_files(package: str) -> None:
    root = TESTS.parents[1]
    modules = {
        file.stem for file in (root / package).glob("*.py") if file.stem != "__init__"
    }
    folder = TESTS.parent / FOLDERS[package]
    tested = {file.stem.removeprefix("test_") for file in folder.glob("test_*.py")}
    elsewhere = ELSEWHERE_IN_ADAPTERS[package]
    assert sorted(modules - tested) == sorted(elsewhere)
    assert sorted(tested - modules - ACROSS) == []
    named = {
        name
        for reason in elsewhere.values()
        for name in reason.split(":")[0].split(", ")
    }
    assert sorted(name for name in named if not (folder / f"{name}.py").exists()) == []
