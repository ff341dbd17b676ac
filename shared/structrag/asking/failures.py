"""Errors of the caller's models and stores, told from errors of our own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structrag.errors import ModelFailed, StructragError


@contextmanager
def raised_by(what: str) -> Iterator[None]:
    """Turn an exception into ModelFailed that names who raised it; it is the cause.

    Nothing but the call of the caller's object stands within it, so that no error of our own code
    is blamed on a model. Errors of structrag pass as they are.

    Example:
        >>> try:
        ...     with raised_by("embedder 'e5'"):
        ...         raise OSError("no network")
        ... except ModelFailed as failure:
        ...     print(str(failure).partition(".")[0])
        The embedder 'e5' raised OSError: no network
    """
    try:
        yield
    except StructragError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is named
        # A context manager would let a StopIteration that is the cause take the error's place.
        cause = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
        raise ModelFailed(
            f"The {what} raised {type(error).__name__}: {error}. Documents finished before are "
            "kept, none is half in; calls that a cache holds are not repeated. Mend the cause and "
            "call again."
        ) from cause
