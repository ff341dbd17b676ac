"""Pydantic field types for callables.

`to_dict` names them, so that cache keys tell them apart; none is ever imported by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Annotated, Any

from llama_index.core.bridge.pydantic import (
    BeforeValidator,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from llama_index.core.schema import BaseNode
from llama_index.core.utils import get_tokenizer

from structrag.asking.naming import setting_name
from structrag.errors import InvalidParameter
from structrag.hosts.documents import stable_uuid
from structrag.text.tokens import TokenCounter, huggingface_counter


@dataclass(frozen=True, slots=True)
class TokenizerCounter:
    """Counts with a LlamaIndex tokenizer.

    That is a callable from str to the list of tokens, or to their number.
    """

    tokenizer: Callable[[str], Any]

    def __call__(self, text: str) -> int:
        tokens = self.tokenizer(text)
        return tokens if isinstance(tokens, int) else len(tokens)


def token_counter(tokenizer: Any) -> TokenCounter:
    """The counter for a tokenizer; None: LlamaIndex's global tokenizer at this moment."""
    if tokenizer is None:
        return TokenizerCounter(get_tokenizer())
    if hasattr(tokenizer, "get_vocab"):
        return huggingface_counter(tokenizer)
    # Tiktoken's encodings refuse special tokens in a text unless asked in this way.
    encode = getattr(tokenizer, "encode_ordinary", None)
    return TokenizerCounter(encode or getattr(tokenizer, "encode", tokenizer))


def picklable(tokenizer: Any, **functions: Any) -> dict[str, Any]:
    """All for another process.

    A global tokenizer that somebody set goes along, LlamaIndex's own is made anew there. Raises
    InvalidParameter for a callable that cannot be pickled.
    """
    if tokenizer is None and not _is_standard(get_tokenizer()):
        tokenizer = get_tokenizer()
    chosen = {"tokenizer": tokenizer, **functions}
    for name, value in chosen.items():
        try:
            ForkingPickler.dumps(value)
        except Exception as error:
            raise InvalidParameter(
                f"{name} must be a function defined at the top level of a module to be pickled, "
                f"which num_workers > 1 needs; got {value!r}."
            ) from error
    return chosen


def _is_standard(tokenizer: Any) -> bool:
    """Whether it is the tokenizer that LlamaIndex makes when none was set."""
    return (
        isinstance(tokenizer, functools.partial)
        and tokenizer.keywords == {"allowed_special": "all"}
        and getattr(getattr(tokenizer.func, "__self__", None), "name", "")
        == "cl100k_base"
    )


def span_id(i: int, doc: BaseNode) -> str:
    """The default `id_func`.

    The parsers derive the id (a UUID) from document id, span, text and settings.
    """
    return stable_uuid(doc.node_id, str(i))


def refuse_saved(name: str, value: Any) -> None:
    """Raise InvalidParameter if a field has only the name from `to_dict`."""
    if isinstance(value, dict):
        raise InvalidParameter(
            f"{name} must be passed again to read these settings, as from_dict(data, {name}=...): "
            f"they were made with {value.get('name')!r}."
        )


def _read_tokenizer(value: Any) -> Any:
    if isinstance(value, str):
        current = _tokenizer_name(None)
        if value != current:
            raise InvalidParameter(
                "tokenizer must be passed again to read these settings, as from_dict(data, "
                f"tokenizer=...): they were made with {value!r}, and LlamaIndex's global "
                f"tokenizer is {current!r}."
            )
        return None
    if value is not None and not (callable(value) or hasattr(value, "encode")):
        raise InvalidParameter(
            f"tokenizer must be a callable from str to a list of tokens, or None; got {value!r}."
        )
    return value


def _read_id_func(value: Any) -> Any:
    if value is None:
        return span_id
    if isinstance(value, dict):
        if value.get("id_func_name") != setting_name(span_id):
            raise InvalidParameter(
                "id_func must be passed again to read these settings, as from_dict(data, "
                f"id_func=...): they were made with {value.get('id_func_name')!r}."
            )
        return span_id
    return value


def _read_function(value: Any, info: ValidationInfo) -> Any:
    name = str(info.field_name)
    refuse_saved(name, value)
    if value is not None and not callable(value):
        raise InvalidParameter(f"{name} must be a function or None; got {value!r}.")
    return value


def _function_name(value: Any) -> dict[str, str] | None:
    return None if value is None else {"name": setting_name(value)}


def _id_func_name(value: Any) -> dict[str, str]:
    return {"id_func_name": setting_name(value), "title": "id_func"}


def _tokenizer_name(value: Any) -> str:
    tokenizer: Any = get_tokenizer() if value is None else value
    return setting_name(tokenizer)


_SCHEMA = WithJsonSchema({"type": "string"})

Tokenizer = Annotated[
    Any,
    BeforeValidator(_read_tokenizer),
    PlainSerializer(_tokenizer_name, return_type=str),
    _SCHEMA,
]
IdFunc = Annotated[
    Callable[..., str],
    BeforeValidator(_read_id_func),
    PlainSerializer(_id_func_name, return_type=dict[str, str]),
    _SCHEMA,
]
NamedFunction = Annotated[
    Any,
    BeforeValidator(_read_function),
    PlainSerializer(_function_name),
    WithJsonSchema({"type": "object"}),
]
