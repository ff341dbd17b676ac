"""A plain function as a language model, for scripts and tests. The host frameworks' models come
through their adapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structrag.errors import InvalidParameter
from structrag.model_calls.naming import setting_name
from structrag.model_calls.requests import LanguageModel


@dataclass(frozen=True)
class FunctionModel:
    """A function `prompt -> answer` as a language model.

    Example:
        >>> FunctionModel(str.upper, name="upper").complete("yes")
        'YES'

    `name` goes into cache keys.
    """

    function: Callable[[str], str]
    name: str

    def complete(self, prompt: str) -> str:
        """The function's answer."""
        return self.function(prompt)


def as_language_model(value: Any, argument: str = "llm") -> LanguageModel | None:
    """A language model from what a caller has, as an argument.

    That is None, a function `str -> str`, or an object with name and complete.

    Raises:
        InvalidParameter: none of these.
    """
    if value is None or (hasattr(value, "complete") and hasattr(value, "name")):
        return value  # type: ignore[no-any-return]
    if callable(value) and not hasattr(value, "invoke"):
        return FunctionModel(value, name=setting_name(value))
    raise InvalidParameter(
        f"{argument} must be None, a function str -> str, or an object with name and complete; got "
        f"{type(value).__name__}. Models of LangChain and LlamaIndex go through the retrievers of "
        "langchain_structrag and llama_index_structrag, or their LangChainModel and "
        "LlamaIndexModel."
    )
