"""Public names of a package, loaded when first used. So `import structrag` is quick and needs no
optional package, and the same holds for each room."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from warnings import warn

# Names that are no more, in any package -> what takes their place.
REMOVED = {
    "InformationMargin": "Use margin='similarity', or TransformersMargin.",
    "LikelihoodGain": "Use Index without choose_views: views are extracted, or written by llm=.",
    "StaticTokens": "Use TransformersTokens, or omit token_encoder=.",
}
# Names that are no more -> what is given in their place.
REPLACED = {"TreeIndex": "Index", "TreeRetriever": "MultiViewRetriever"}


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package (PEP 562).

    `homes` leads from each public name to its module. A name of `REMOVED` raises ImportError, which
    says what to use; one of `REPLACED` warns.

    A package imports the same names under TYPE_CHECKING, for type checkers and editors;
    tests/core/test_public.py compares the two.
    """

    def load(name: str) -> Any:
        if REPLACED.get(name) in homes:
            warn(
                f"{package}.{name} was removed; {REPLACED[name]} takes its place.",
                FutureWarning,
                stacklevel=2,
            )
            return load(REPLACED[name])
        if (
            name in REMOVED
        ):  # an AttributeError would lose the sentence in `from ... import`
            raise ImportError(f"{package}.{name} was removed. {REMOVED[name]}")
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            # For "Did you mean".
            raise AttributeError(message, name=name, obj=sys.modules[package])
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names
