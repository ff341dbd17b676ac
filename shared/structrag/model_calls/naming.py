"""Names of models, functions and settings for cache keys and saved indexes. A name is equal in
every process. A setting without a name of its own (a lambda, a nested function) gets a unique one
for as long as it lives."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import uuid4

from structrag._locks import Lock

_MARK = re.compile(r"#unnamed-[0-9a-f]{32}")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Id of an object -> the object or a reference, its name.
_names: dict[int, tuple[Any, str]] = {}
_lock = Lock()


def setting_name(value: Any) -> str:
    """Any setting as a string that is equal in every process.

    Example:
        >>> setting_name(len), setting_name({"limit": 3})
        ('builtins.len', "{'limit': 3}")
        >>> has_name(setting_name(lambda text: len(text)))
        False

    It holds no memory address. An object with a `name` goes by that, a function by its module and
    name, `functools.partial` and a method by their parts, a dataclass by its fields. Any other
    object goes by its class and its attributes of plain types: strings, numbers, truth values.

    A lambda, or a function inside another, has no name: see `unnamed`.
    """
    if _is_plain(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(setting_name, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(setting_name, value)))}}}"
    if isinstance(value, Mapping):
        pairs = [
            f"{setting_name(key)}: {setting_name(part)}" for key, part in value.items()
        ]
        return f"{{{', '.join(sorted(pairs))}}}"
    if isinstance(value, partial):
        return f"partial({setting_name([value.func, value.args, value.keywords])})"
    if hasattr(value, "__qualname__"):
        return _function_name(value)
    return _object_name(value)


def has_name(name: str) -> bool:
    """Whether every part of a name belongs to something with a name of its own."""
    return _MARK.search(name) is None


def unnamed(value: Any, kind: str) -> str:
    """A name for an object without one, which no other object gets. It stays the same as long as
    the object lives."""
    with _lock:
        if id(value) not in _names:
            key = id(value)
            try:
                holder: Any = weakref.ref(value, lambda _: _names.pop(key, None))
            except TypeError:
                holder = value  # kept, so that no other object gets its id
            _names[key] = (holder, f"{kind}#unnamed-{uuid4().hex}")
        return _names[id(value)][1]


def digest(text: str) -> str:
    """A digest of a text too long or private for a name. The mark of an unnamed part is kept."""
    marks = "".join(_MARK.findall(text))
    return f"#{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}{marks}"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(
        value, str | bytes | int | float | bool | os.PathLike
    )


def _function_name(value: Any) -> str:
    """The name of a function, class or method."""
    owner = getattr(value, "__self__", None)
    # Built-in functions have a module.
    if owner is not None and not hasattr(owner, "__spec__"):
        return f"{setting_name(owner)}.{value.__qualname__}"
    # Methods of built-in classes, such as `str.split`, have a class and no module.
    source = getattr(value, "__objclass__", value)
    full = f"{getattr(source, '__module__', None)}.{value.__qualname__}"
    return unnamed(value, full) if "<" in value.__qualname__ else full


def _object_name(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{kind}({name!r})"
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "__dict__"):
        parts = {
            key: part for key, part in sorted(vars(value).items()) if _is_plain(part)
        }
    else:
        shown = repr(value)
        return (
            unnamed(value, kind)
            if _ADDRESS.search(shown)
            else f"{kind}({digest(shown)})"
        )
    return f"{kind}({', '.join(f'{key}={setting_name(part)}' for key, part in parts.items())})"
