"""Merging upward: a section for its chunks when most are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from structrag.errors import InvalidParameter, check_at_least
from structrag.retrieval.tree.shape import Place


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk that a search found, with the nodes above it.

    The nearest node is first.
    """

    tokens: int
    above: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Taken:
    """A chunk, or the node that stands for several of them."""

    node: Place | None  # None: the chunk itself
    tokens: int
    found: tuple[int, ...]  # places in the ranking, from 0, the best first


@dataclass(frozen=True, slots=True)
class Merging:
    """When a node takes the place of its children.

    Example:
        >>> node = Place(0, 30, 3, True)
        >>> Merging().merged([Found(10, [node]), Found(10, [node])], k=5)[0].found
        (0, 1)

    Attributes:
        merge_share: A node takes it where more than this share of its children is found, from 0 to
            1: chunks, or nodes that have taken the place of theirs. None: never.
        merge_tokens: A node of more tokens never does, nor one with text between its children.
    """

    merge_share: float | None = 0.5
    merge_tokens: int = 1000

    def __post_init__(self) -> None:
        check_at_least("merge_tokens", self.merge_tokens, 1)
        if self.merge_share is not None:
            check_at_least("merge_share", self.merge_share, 0)
            if self.merge_share > 1:
                raise InvalidParameter(
                    f"merge_share must be from 0 to 1, or None; got {self.merge_share!r}. With 1 "
                    "nothing is merged."
                )

    def merged(
        self,
        ranking: Iterable[Found],
        *,
        k: int | None = None,
        max_tokens: int | None = None,
    ) -> list[Taken]:
        """The ranking with nodes in the place of their chunks.

        Each stands at the place of its best chunk. The first `k` chunks are taken in order, and
        nodes for them where they may, until the next would go beyond `max_tokens`. The first is
        always taken.
        """
        state = _State(self, inf if max_tokens is None else max_tokens)
        for chunk in ranking:
            if not state.take(chunk) or len(state.seen) == k:
                break
        return sorted(state.taken, key=lambda taken: taken.found)


class _State:
    """What has been taken so far."""

    def __init__(self, merging: Merging, max_tokens: float) -> None:
        self.merging = merging
        self.max_tokens = max_tokens
        self.seen: list[Found] = []
        self.taken: list[Taken] = []
        # Row of a node -> how many children are found.
        self.n_hit: Counter[int] = Counter()

    def take(self, found: Found) -> bool:
        """Take a chunk, and nodes for it where they may.

        False if there is no room.
        """
        place = len(self.seen)
        self.seen.append(found)
        rows = {node.row for node in found.above}
        for i, taken in enumerate(self.taken):
            if taken.node is not None and taken.node.row in rows:
                self.taken[i] = Taken(taken.node, taken.tokens, (*taken.found, place))
                return True
        if self.taken and not self._fits(self.taken, found.tokens):
            return False
        self.taken.append(Taken(None, found.tokens, (place,)))
        for node in found.above:
            self.n_hit[node.row] += 1
            if not self._replaced(node):
                break
        return True

    def _replaced(self, node: Place) -> bool:
        """Let a node take the place of its children where it may."""
        share = self.merging.merge_share
        if share is None or self.n_hit[node.row] <= share * node.n_children:
            return False
        others = [taken for taken in self.taken if not self._is_below(taken, node)]
        may = node.is_whole and node.tokens <= self.merging.merge_tokens
        if not may or not self._fits(others, node.tokens):
            return False
        below = [taken for taken in self.taken if self._is_below(taken, node)]
        places = sorted(place for taken in below for place in taken.found)
        self.taken = [*others, Taken(node, node.tokens, tuple(places))]
        return True

    def _is_below(self, taken: Taken, node: Place) -> bool:
        return any(above.row == node.row for above in self.seen[taken.found[0]].above)

    def _fits(self, taken: Sequence[Taken], tokens: int) -> bool:
        return sum(one.tokens for one in taken) + tokens <= self.max_tokens
