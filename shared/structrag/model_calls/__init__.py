"""Requests of algorithms to models, and the runner that answers them.

An algorithm yields requests (`requests`); `Runner` answers them, with a cache, limits and counts;
`replies` reads what a language model wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.model_calls.cache import Cache
    from structrag.model_calls.settings import CallSettings

_HOMES = {
    "CallSettings": "structrag.model_calls.settings",
    "Cache": "structrag.model_calls.cache",
}
__all__ = [
    "Cache",
    "CallSettings",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
