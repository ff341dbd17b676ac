"""The examples in the docstrings, and arguments that no public class knows."""

from __future__ import annotations

import doctest
import sys
from typing import Any

import pytest
from frameworks import FRAMEWORKS

CLASSES = [(one, name) for one in FRAMEWORKS for name in one.package.__all__]


@pytest.mark.parametrize(("framework", "name"), CLASSES)
def test_every_public_class_has_an_example_that_is_true(
    framework: Any, name: str
) -> None:
    kind = framework.get(name)
    module = sys.modules[kind.__module__]
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, name, module)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize(("framework", "name"), CLASSES)
def test_no_class_takes_an_argument_that_it_does_not_know(
    framework: Any, name: str
) -> None:
    if name.endswith("Event"):
        pytest.skip("LlamaIndex's own base decides")
    with pytest.raises((TypeError, ValueError), match="max_tokenz"):
        framework.get(name)(*framework.first_arguments(name), max_tokenz=3)
