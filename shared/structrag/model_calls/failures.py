"""Errors of the caller's models and stores, distinct from structrag's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from structrag.errors import ModelFailed, StructragError
from structrag.model_calls.requests import Failed
from structrag.records import Chunk

WHILE_ADDING = (
    "What an index has finished is kept whole, and cached calls are not repeated. Fix the cause "
    "and call again."
)

# why an answer that enriches is not taken
NOT_ITS_OWN = "what the model wrote lost or invented names, or was too long"
AT_A_QUESTION = "Fix the cause and ask again."


@contextmanager
def raised_by(what: str, cure: str = WHILE_ADDING) -> Iterator[None]:
    """Turn an exception into a ModelFailed that names who raised it.

    The exception is its cause. Nothing but the call of the caller's object stands within it, so
    that no error of our own code is blamed on a model. Errors of structrag pass as they are.

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
        message = str(error).removesuffix(".")
        said = f"{type(error).__name__}{': ' if message else ''}{message}"
        raise ModelFailed(f"The {what} raised {said}. {cure}") from cause


def cause_of(error: StructragError) -> str:
    """What happened, without the advice for who adds documents to an index by hand."""
    return str(error).removesuffix(WHILE_ADDING).rstrip()


def fallbacks_of(
    chunks: Sequence[Chunk], failures: Sequence[Failed]
) -> tuple[Counter[str], dict[str, str]]:
    """What chunks lack that a model should have given, counted, and why.

    Under "chunks" are those that fell back, under "enrichment" the answers that were not taken;
    `failures` are the calls that failed.
    """
    degraded = [chunk for chunk in chunks if chunk.extras.get("degraded")]
    dropped = sum(chunk.extras.get("dropped", 0) for chunk in chunks)
    reasons = {"enrichment": NOT_ITS_OWN} if dropped else {}
    if degraded:
        of_chunks = (
            chunk.extras["failure"] for chunk in degraded if chunk.extras.get("failure")
        )
        reason = (
            str(failures[0])
            if failures
            else next(of_chunks, "an answer cannot be used")
        )
        reasons["chunks"] = reason
    return +Counter(chunks=len(degraded), enrichment=dropped), reasons
