"""Loading models of transformers from this machine; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structrag.errors import InvalidParameter, require


def load_pair(model: Any, tokenizer: Any, kind: str, what: str) -> tuple[Any, Any]:
    """A model in evaluation mode and its tokenizer, loaded by their names.

    Objects stay as they are.

    Args:
        model, tokenizer: Objects, or names or folders. The name of the model, given as such, is the
            name of its tokenizer too.
        kind: The class of transformers that loads the model, such as "AutoModelForCausalLM".
        what: What the model must be, for the message.

    Raises:
        InvalidParameter: there is no such model on this machine.
        MissingExtra: a name or folder was given and transformers is not installed.
    """
    if isinstance(model, str):
        package: Any = require("transformers", extra="models")
        tokenizer = tokenizer or model
        model = load_local("model", getattr(package, kind).from_pretrained, model, what).eval()
    if isinstance(tokenizer, str):
        package = require("transformers", extra="models")
        tokenizer = load_local("tokenizer", package.AutoTokenizer.from_pretrained, tokenizer, what)
    return model, tokenizer


def load_local(parameter: str, load: Callable[..., Any], name: str, what: str) -> Any:
    """What a name or folder stands for on this machine.

    Raises:
        InvalidParameter: it is not there, or something else.
    """
    try:
        return load(name, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise InvalidParameter(
            f"{parameter} must be a folder or the name of {what} on this machine; {name!r} cannot "
            "be loaded, and nothing is downloaded here. Download it first, or pass a loaded one."
        ) from error
