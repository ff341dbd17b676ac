"""Checks of arguments: what passes, what is refused, and what the message says."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
from errors import SNAPSHOT, listing

import structrag.errors
from structrag.errors import (
    InvalidParameter,
    MissingExtra,
    StructragError,
    UnknownArgument,
    check_arguments,
    check_at_least,
    check_choice,
    require,
)


def test_a_choice_is_one_of_what_is_allowed() -> None:
    assert check_choice("route", "b", ["b", "a"]) == "b"
    with pytest.raises(InvalidParameter) as caught:
        check_choice("route", "c", ["b", "a"])
    assert str(caught.value) == "route must be one of 'a', 'b'; got 'c'."


@pytest.mark.parametrize("value", [2, 2.0, 7, math.inf])
def test_a_number_of_the_minimum_or_more_passes(value: float) -> None:
    check_at_least("k", value, 2)


@pytest.mark.parametrize("value", [1, 1.999, -3, math.nan, "5", None, True])
def test_a_smaller_number_and_what_is_none_are_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        check_at_least("k", value, 2)
    assert str(caught.value) == f"k must be a number of at least 2; got {value!r}."
    with pytest.raises(InvalidParameter):
        check_at_least("k", True, 0)


def test_an_argument_that_is_not_known_is_named_with_the_nearest() -> None:
    check_arguments("Index", ["views", "llm"], ["llm", "views", "preset"])
    check_arguments("Index", [], [])
    with pytest.raises(UnknownArgument) as caught:
        check_arguments("Index", ["llm", "veiws", "x"], ["llm", "views", "llm"])
    assert str(caught.value) == (
        "Index has no argument 'veiws'. Did you mean 'views'? Known: llm, views."
    )
    with pytest.raises(UnknownArgument) as caught:
        check_arguments("Index", ["xyz"], ["llm"])
    assert str(caught.value) == "Index has no argument 'xyz'. Known: llm."


def test_a_hint_takes_the_place_of_the_nearest_name() -> None:
    hints = {"view": "Pass views=[...]."}
    with pytest.raises(UnknownArgument, match=r"'view'\. Pass views=\[...\]\. Known"):
        check_arguments("Index", ["view"], ["views"], hints)
    with pytest.raises(UnknownArgument, match=r"'viewss'\. Did you mean 'views'\? K"):
        check_arguments("Index", ["viewss"], ["views"], hints)


def test_a_missing_package_is_named_with_what_brings_it() -> None:
    assert require("json.decoder", extra="x").__name__ == "json.decoder"
    for module in ("structrag_absent", "structrag_absent.part"):
        with pytest.raises(MissingExtra, match=r"pip install 'structrag\[pdf\]'"):
            require(module, extra="pdf")


def test_a_package_that_is_broken_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "structrag_broken.py").write_text("import structrag_absent_too")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "structrag_broken", raising=False)
    with pytest.raises(ModuleNotFoundError, match="structrag_absent_too") as caught:
        require("structrag_broken", extra="pdf")
    assert not isinstance(caught.value, StructragError)


def test_every_error_is_one_of_ours_and_one_of_pythons() -> None:
    kinds = [
        kind
        for kind in vars(structrag.errors).values()
        if isinstance(kind, type) and issubclass(kind, StructragError)
    ]
    for kind in set(kinds) - {StructragError}:
        builtin = [base for base in kind.__mro__ if base.__module__ == "builtins"]
        assert builtin[0] is not Exception


def test_the_sentences_of_errors_are_those_of_the_snapshot() -> None:
    """After a change of wording: `python scripts/errors.py --write`, and read what changed."""
    assert listing() == SNAPSHOT.read_text(encoding="utf-8")
