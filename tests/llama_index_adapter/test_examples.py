"""The examples in the docstrings of llama_index_structrag."""

from __future__ import annotations

import doctest
import sys

import pytest

import llama_index_structrag


@pytest.mark.parametrize("name", llama_index_structrag.__all__)
def test_every_public_class_has_an_example_that_is_true(name: str) -> None:
    kind = getattr(llama_index_structrag, name)
    module = sys.modules[kind.__module__]
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, name, module)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
