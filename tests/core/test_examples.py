"""The examples of the core's docstrings run, and every public class has one."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

import pytest

import structrag

# Importing one needs typer, and it has no examples.
PARTS_OF_THE_COMMAND_LINE = "structrag.cli"


def _modules() -> list[str]:
    return [
        module.name
        for module in pkgutil.walk_packages(structrag.__path__, "structrag.")
        if not module.name.startswith((PARTS_OF_THE_COMMAND_LINE, "structrag.__main__"))
    ]


def _public_classes() -> list[type]:
    """The classes that can be imported from the package or from one of its rooms."""
    rooms = [import_module(f"structrag.{room.name}") for room in _rooms()]
    classes = {
        getattr(place, name)
        for place in (structrag, *rooms)
        for name in getattr(place, "__all__", ())
        if inspect.isclass(getattr(place, name))
    }
    return sorted(classes, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")


def _rooms() -> list[pkgutil.ModuleInfo]:
    return [
        module for module in pkgutil.iter_modules(structrag.__path__) if module.ispkg
    ]


@pytest.mark.parametrize("name", _modules())
def test_examples_run(name: str) -> None:
    module: ModuleType = import_module(name)
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


@pytest.mark.parametrize("cls", _public_classes(), ids=lambda cls: cls.__qualname__)
def test_every_public_class_has_an_example(cls: type) -> None:
    if issubclass(cls, Exception):
        return
    assert ">>>" in (cls.__doc__ or ""), f"{cls.__qualname__} has no example"
