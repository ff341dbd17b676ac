"""How much a search of evidence gives, and of what passages are made."""

from __future__ import annotations

from dataclasses import dataclass

from structrag.errors import check_at_least, check_choice, checked_k
from structrag.retrieval.evidence.scores import SHORTLIST

ORDERS = ("rank", "document")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of one search."""

    max_tokens: int | None
    k: int | None
    order: str
    joins: bool  # whether passages that touch become one
    units: int | None  # of the best, so many may make or widen passages; None: all


def search_limits(
    k: float | None,
    max_tokens: int | None,
    order: str | None,
    *,
    default_tokens: int,
    default_order: str,
) -> SearchLimits:
    """The limits that the arguments of a search mean. Raises InvalidParameter for an argument that
    is not allowed."""
    most = None if k is None else checked_k(k)
    if max_tokens is not None:
        check_at_least("max_tokens", max_tokens, 1)
    return SearchLimits(
        default_tokens if max_tokens is None and most is None else max_tokens,
        most,
        default_order if order is None else check_choice("order", order, ORDERS),
        # So many passages of a paragraph each: joined, they would be fewer and longer.
        joins=most is None or max_tokens is not None,
        # Worse ones would widen the passages only because they are near.
        units=None if most is None or max_tokens is None else SHORTLIST,
    )
