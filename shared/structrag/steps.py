"""What algorithms ask of models, and the runner that answers them.

An algorithm that needs a model is a generator: it yields a list of requests and receives the list of their answers.
`Runner.run` drives it synchronously and `Runner.arun` on an event loop; batching, the concurrency limit,
the cache, counts and progress are there, once, for every algorithm.
"""

from __future__ import annotations

from structrag.embedding import check_vectors
from structrag.requests import (
    Array,
    Ask,
    Choose,
    Chooser,
    Embed,
    Embedder,
    Failed,
    LanguageModel,
    Progress,
    Ranking,
    Request,
    Route,
    Search,
    Steps,
    Usage,
)
from structrag.runner import Runner

__all__ = [
    "Array",
    "Ask",
    "Choose",
    "Chooser",
    "Embed",
    "Embedder",
    "Failed",
    "LanguageModel",
    "Progress",
    "Ranking",
    "Request",
    "Route",
    "Runner",
    "Search",
    "Steps",
    "Usage",
    "check_vectors",
]
