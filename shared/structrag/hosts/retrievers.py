"""A retriever of another framework as one of the core, for the parts that search several times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.asking.requests import Search, Steps
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter
from structrag.records import Chunk, Hit

ROUTE = "host"


@dataclass(frozen=True)
class HostRetriever:
    """Another framework's retriever with `steps`, as the core's retrievers have them: one search a
    question.

    Each result is a hit, ranked as it came, with the score 1 / rank. So `TwoHop` and `SelfAsk` take
    it; `runner` drives it.

    Attributes:
        kind: What the retriever is, for messages.
        retrieve: Question -> results, best first.
        aretrieve: The same on an event loop.
        chunk_of: A result as a chunk, equal results with equal ids.
    """

    kind: str
    retrieve: Callable[[str], Sequence[Any]]
    aretrieve: Callable[[str], Awaitable[Sequence[Any]]]
    chunk_of: Callable[[Any], Chunk]
    runner: Runner = field(default_factory=Runner, repr=False)

    def __post_init__(self) -> None:
        self.runner.routes[ROUTE] = self

    def steps(self, question: str, /, *, where: Any = None) -> Steps[list[Hit]]:
        """The results as hits. Raises InvalidParameter for a `where`, which only structrag's own
        retrievers know."""
        if where is not None:
            raise InvalidParameter(
                f"where must be None with a {self.kind}: only structrag's own retrievers take it. "
                "Set a filter in that retriever."
            )
        (found,) = yield [Search(ROUTE, question, None, 0)]
        return [
            Hit(self.chunk_of(result), 1 / rank, rank) for rank, result in enumerate(found, start=1)
        ]

    def search(self, request: Search) -> Any:
        """The retriever's results, for the runner."""
        return self.retrieve(request.query)

    async def asearch(self, request: Search) -> Any:
        """`search` by the retriever's own async call."""
        return await self.aretrieve(request.query)
