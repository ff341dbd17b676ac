"""The interface of all retrievers: hits for a query, or steps to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from structrag.errors import InvalidParameter, check_choice
from structrag.model_calls.requests import Flow, T
from structrag.records import Hit


@runtime_checkable
class Retriever(Protocol):
    """Finds hits for a query.

    Example:
        >>> from structrag import Index, MultiViewRetriever, read_text
        >>> index = Index(views=["raw"])
        >>> _ = index.add([read_text("The blue pump leaks."), read_text("Cats sleep.")])
        >>> def best(retriever: Retriever, query: str) -> str:
        ...     return retriever.search(query, k=1)[0].chunk.text
        >>> best(MultiViewRetriever(index, routes=["bm25"]), "Which pump leaks?")
        'The blue pump leaks.'

    `MultiViewRetriever`, `HiQARetriever`, `EvidenceRetriever` and `D3Retriever` are retrievers, and
    `SelfAsk` accepts any retriever. To write your own, inherit from this class and define `flow`,
    `run` and `arun`; `search` and `asearch` use them. If it also has `result_flow`, with the same
    parameters, the multi-hop classes use that: it returns an object with `hits` and `cost` (stage
    -> `StageCost`).
    """

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        ...

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with this retriever's models: its own flow, or that of an agent around it."""
        ...

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        ...

    def search(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> list[Hit]:
        """The hits for a query, in the retriever's order.

        Each hit has its rank by score.

        Args:
            query: The question. A blank one has no hits, unless the retriever always returns `k`.
            k: The largest number of hits, a whole number from 1; None: the retriever's setting.
            where: Limits the search to documents: `{"doc_id": "report"}`, any metadata
                (`{"year": [2020, 2021]}`), or a function of a document's metadata.

        Raises:
            InvalidParameter: the query is not a string, `k` is not allowed, or no document has a
                key of `where`.
        """
        return self.run(self.flow(query, k, where=where))

    async def asearch(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> list[Hit]:
        """`search` on an event loop."""
        return await self.arun(self.flow(query, k, where=where))


def check_index(index: Any, kind: type) -> None:
    """Raise InvalidParameter for an index of another kind."""
    if not isinstance(index, kind):
        raise InvalidParameter(
            f"index must be a structrag {kind.__name__}; got {type(index).__name__}."
        )


def check_retriever(retriever: Any) -> None:
    """Raise InvalidParameter unless it is a `Retriever`."""
    if not isinstance(retriever, Retriever):
        raise InvalidParameter(
            "retriever must be a Retriever, such as MultiViewRetriever or D3Retriever: with steps, "
            f"run, arun, search and asearch; got {type(retriever).__name__}."
        )


def checked_names(
    name: str,
    values: Sequence[str] | None,
    allowed: Sequence[str],
    default: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Return the names that a parameter lists; for None `default`, else all allowed. Raises
    InvalidParameter unless they are a sequence of different allowed names, at least one."""
    if values is None:
        return tuple(allowed if default is None else default)
    if isinstance(values, str) or not values or len(set(values)) != len(values):
        raise InvalidParameter(
            f"{name} must be a sequence of different names, some of {list(allowed)}; "
            f"got {values!r}."
        )
    return tuple(check_choice(name, value, allowed) for value in values)
