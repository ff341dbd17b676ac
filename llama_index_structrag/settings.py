"""Pydantic field types for callables. `to_dict` names them, so that cache keys tell them apart;
none is ever imported by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Annotated, Any, get_type_hints

from llama_index.core.bridge.pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from llama_index.core.schema import BaseNode
from llama_index.core.utils import get_tokenizer

from structrag.errors import InvalidParameter
from structrag.integrations.documents import stable_uuid
from structrag.integrations.splitters import HOST_NAMES, defaults_of, descriptions_of
from structrag.model_calls.naming import setting_name
from structrag.text.tokens import TokenCounter, huggingface_counter


@dataclass(frozen=True, slots=True)
class LlamaIndexCounter:
    """Counts with a LlamaIndex tokenizer: a callable from str to the list of tokens, or to their
    number."""

    tokenizer: Callable[[str], Any]

    def __call__(self, text: str) -> int:
        tokens = self.tokenizer(text)
        return tokens if isinstance(tokens, int) else len(tokens)


def token_counter(tokenizer: Any) -> TokenCounter:
    """The counter for a tokenizer; None: LlamaIndex's global tokenizer at this moment."""
    if tokenizer is None:
        return LlamaIndexCounter(get_tokenizer())
    if hasattr(tokenizer, "get_vocab"):
        return huggingface_counter(tokenizer)
    # Tiktoken's encodings refuse special tokens in a text unless asked in this way.
    encode = getattr(tokenizer, "encode_ordinary", None)
    return LlamaIndexCounter(encode or getattr(tokenizer, "encode", tokenizer))


def picklable(tokenizer: Any, **functions: Any) -> dict[str, Any]:
    """All for another process. A global tokenizer that somebody set goes along, LlamaIndex's own is
    made anew there. Raises InvalidParameter for a callable that cannot be pickled."""
    if tokenizer is None and not is_standard(get_tokenizer()):
        tokenizer = get_tokenizer()
    chosen = {"tokenizer": tokenizer, **functions}
    for name, value in chosen.items():
        try:
            ForkingPickler.dumps(value)
        except Exception as error:
            raise InvalidParameter(
                f"{name} must be a module-level function when num_workers > 1, so that it can be "
                f"pickled; got {value!r}."
            ) from error
    return chosen


def is_standard(tokenizer: Any) -> bool:
    """Whether it is the tokenizer that LlamaIndex makes when none was set."""
    return (
        isinstance(tokenizer, functools.partial)
        and tokenizer.keywords == {"allowed_special": "all"}
        and getattr(getattr(tokenizer.func, "__self__", None), "name", "")
        == "cl100k_base"
    )


def span_id(i: int, doc: BaseNode) -> str:
    """The default `id_func`. The parsers derive the id (a UUID) from document id, span, text and
    settings."""
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


@dataclass(frozen=True, slots=True)
class Named:
    """Marks a field whose model or function `to_dict` knows by its name alone.

    Strings and None are saved as they are.

    Attributes:
        read: Checks a value; gives what has the name.
        name: The name of that.
    """

    read: Callable[[Any], Any]
    name: Callable[[Any], str] = setting_name

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return handler.generate_schema(
            Annotated[
                Any,
                BeforeValidator(self._read),
                PlainSerializer(self._saved),
                WithJsonSchema({"type": "object"}),
            ]
        )

    def _read(self, value: Any, info: ValidationInfo) -> Any:
        refuse_saved(str(info.field_name), value)
        self.read(value)
        return value

    def _saved(self, value: Any) -> Any:
        read = self.read(value)
        if read is None or isinstance(read, str):
            return read
        return {"name": self.name(read)}


def as_it_is(value: Any) -> Any:
    """The value as it is; the core checks it."""
    return value


NamedFunction = Annotated[Any, Named(as_it_is)]


def with_settings(base: type, splitter: type, *left_out: str) -> Any:
    """`base` with the settings of a core splitter as fields, as it describes them, without
    `left_out` and without those that hosts name otherwise."""
    hints, descriptions = get_type_hints(splitter), descriptions_of(splitter)
    declared = {*getattr(base, "model_fields", ()), *HOST_NAMES, "counter", *left_out}
    added: dict[str, Any] = {}
    for name, default in defaults_of(splitter).items():
        if name in declared:
            continue
        kind = hints[name]
        if kind == Sequence[str]:
            kind, default = list[str], list(default)
        elif "Callable" in str(kind):
            kind = NamedFunction
        field = Field(default=default, description=descriptions[name])
        added[name] = kind, field
    return create_model(f"{splitter.__name__}Fields", __base__=base, **added)
