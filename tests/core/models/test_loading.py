"""Models by their names, which are looked for on this machine alone."""

from __future__ import annotations

from typing import Any

import pytest

from structrag.errors import InvalidParameter
from structrag.models.loading import load_local, load_pair


def test_a_name_is_looked_for_on_this_machine() -> None:
    def load(name: str, **options: Any) -> tuple[str, dict[str, Any]]:
        return name, options

    assert load_local("model", load, "a/name", "a summariser") == (
        "a/name",
        {"local_files_only": True},
    )


@pytest.mark.parametrize("error", [OSError, ValueError, KeyError])
def test_what_cannot_be_loaded_is_named(error: type[Exception]) -> None:
    def load(name: str, **options: Any) -> None:
        raise error("no such file")

    with pytest.raises(InvalidParameter) as raised:
        load_local("model", load, "a/name", "a summariser")
    assert str(raised.value) == (
        "model must be a folder or the name of a summariser on this machine; 'a/name' cannot be "
        "loaded, and nothing is downloaded here. Download it first, or pass a loaded one."
    )
    assert isinstance(raised.value.__cause__, error)


def test_objects_stay_as_they_are() -> None:
    model, tokenizer = object(), object()
    assert load_pair(model, tokenizer, "AutoModel", "a model") == (model, tokenizer)
    assert load_pair(model, None, "AutoModel", "a model") == (model, None)
