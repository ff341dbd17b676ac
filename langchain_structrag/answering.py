"""Which of LangChain's Runnables can stand for a language model: they take a string and give a
string or a message."""

from __future__ import annotations

import types
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase

from structrag.errors import InvalidParameter

NEEDED = "a Runnable that takes a string and gives a string or a message"


def check_answers(model: Any, *, takes_text: bool = True) -> None:
    """Raise InvalidParameter unless it is a model or chain whose types allow it to answer with a
    string or a message.

    What declares no types, or Any, is allowed. `takes_text=False` leaves out what it takes.
    """
    if not isinstance(model, Runnable):
        raise InvalidParameter(
            f"model must be a LangChain chat model or LLM, or {NEEDED}; got "
            f"{type(model).__name__}. "
            "A plain function is passed as llm= as it is."
        )
    if isinstance(model, BaseLanguageModel):
        return
    given = _declared(model, "OutputType")
    if not _holds(given, str, BaseMessage):
        raise InvalidParameter(
            f"model must be {NEEDED}; {model.get_name()} gives {_shown(given)}. End the chain in "
            "the model or in a StrOutputParser."
        )
    if takes_text:
        _check_input(model)


def gives_strings(model: Any) -> bool:
    """Whether its answers are plain strings, so that nothing else comes with them."""
    return _declared(model, "OutputType") is str


def _check_input(model: Runnable[Any, Any]) -> None:
    first = _first(model)
    if isinstance(first, BasePromptTemplate):
        names = first.input_variables
        if len(names) != 1 or not _holds(first.input_types.get(names[0], str), str):
            raise InvalidParameter(
                f"model must be {NEEDED}; the prompt that the chain begins with has the places "
                f"{sorted(names)}. It must have exactly one, "
                "for a string: set others by prompt.partial(...)."
            )
        return
    taken = _declared(model, "InputType")
    if not _holds(taken, str):
        raise InvalidParameter(f"model must be {NEEDED}; {model.get_name()} takes {_shown(taken)}.")


def _first(model: Any) -> Any:
    """What of a chain is given the input."""
    while isinstance(model, RunnableSequence | RunnableBindingBase):
        model = model.first if isinstance(model, RunnableSequence) else model.bound
    return model


def _declared(model: Runnable[Any, Any], side: str) -> Any:
    """The type that a Runnable declares; Any where it declares none."""
    try:
        return getattr(model, side)
    except (AttributeError, TypeError):
        return Any


def _holds(declared: Any, *wanted: type) -> bool:
    """Whether a declared type allows a value of one of the types."""
    origin = get_origin(declared)
    if origin is Annotated:
        return _holds(get_args(declared)[0], *wanted)
    if origin in {Union, types.UnionType}:
        return any(_holds(part, *wanted) for part in get_args(declared))
    if (
        declared is Any or declared is object or isinstance(declared, str | TypeVar)
    ):  # left open, or an annotation that is text
        return True
    return isinstance(declared, type) and origin is None and issubclass(declared, wanted)


def _shown(declared: Any) -> str:
    return (
        getattr(declared, "__name__", str(declared))
        if get_origin(declared) is None
        else str(declared)
    )
