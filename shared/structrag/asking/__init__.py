"""What the algorithms ask of models, and who answers.

An algorithm yields requests (`requests`); `Runner` answers them, with a cache, limits and counts;
`replies` reads what a language model wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.asking.cache import Cache
    from structrag.asking.settings import Asking

_HOMES = {
    "Asking": "structrag.asking.settings",
    "Cache": "structrag.asking.cache",
}
__all__ = [
    "Asking",
    "Cache",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
