"""What is left when a call that makes a retriever and fills it is broken off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from structrag.errors import BudgetExceeded, InvalidAnswer, ModelFailed


@contextmanager
def lost_retriever(make: str, add: str, cache: Any) -> Iterator[None]:
    """Where a model fails or the budget is spent, the error says also that no retriever comes back,
    what is kept, and how to go on.

    `make` is the call that is broken off and `add` the method that adds documents; `cache` is the
    one that was given, or None.
    """
    try:
        yield
    except (BudgetExceeded, InvalidAnswer, ModelFailed) as error:
        if cache is None:
            kept = (
                "nothing of this call is kept, since it had no cache=. Call it again with "
                "cache= and a path"
            )
        else:
            kept = (
                "of this call the cache alone is kept. Call it again with the same cache=; what "
                "is in it is not paid for twice"
            )
        raise type(error)(
            f"{error} But {make} gave no retriever back: {kept}. To keep finished documents too, "
            "make an empty retriever by "
            f"{make}([], ...) and give them to its {add}."
        ) from error.__cause__ or error
