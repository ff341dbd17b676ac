"""Search in a tree of sections.

It runs over all levels, is merged upward, or walked down by a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from structrag.asking.requests import LanguageModel, Steps, T
from structrag.asking.steps import remembering
from structrag.errors import check_at_least
from structrag.index.routes import check_query, checked_k
from structrag.models.llm import as_language_model
from structrag.records import Hit
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.retrieval.retriever import Retriever, check_index
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.lifting import lifted, node_score_steps
from structrag.retrieval.tree.merging import Found, Merging, Taken
from structrag.retrieval.tree.shape import Tree
from structrag.retrieval.tree.walking import (
    WALK_PROMPT,
    Walk,
    check_walk_prompt,
    walk_steps,
)

POOL = 200  # chunks that are looked at
SOURCE = ("source_start", "source_end")  # a node's place in markup
MERGED, WALKED, SUMMARY = "merged", "walk", "summary"  # in `extras` of a hit's chunk


class TreeRetriever(Retriever):
    """Finds chunks of a `TreeIndex`, and whole sections.

    A section stands for its chunks where most of them are found.

    Example:
        >>> from structrag import read_text
        >>> text = "# Pump\\n\\nIt runs.\\n\\n## Filter\\n\\nRinse it.\\n\\n## Motor\\n\\nOil.\\n"
        >>> index = TreeIndex()
        >>> _ = index.add([read_text(text, format="markdown")])
        >>> (hit,) = TreeRetriever(index, k=1).search("How do I rinse the filter?")
        >>> hit.chunk.path
        ('Pump', 'Filter')

    Args:
        index: What to search.
        k: Most chunks, of which some may become one section.
        max_tokens: Most tokens of all hits together, by the index's splitter, but always one hit;
            None: no limit.
        levels: Whether the summaries above a chunk are searched too. Their mean score is added to
            that of the chunk, with `level_weight`.
        level_weight: Weight of the summaries beside 1 for the chunk.
        merge_share: A section takes the place of its chunks where more than this share of what is
            right below it is found (chunks, and sections that have taken the place of theirs), from
            0 to 1; None: never.
        merge_tokens: A section of more tokens never does.
        routes: Some of "dense" and "bm25"; default both.
        llm: Walks down the tree before anything is ranked, choosing one part at each level: a
            function `str -> str` or a `LanguageModel`. One that can `pick` chooses by likelihood.
            What lies in the part it ends in comes first. None: there is no walk.
        walk_prompt: What it is asked, with {options} and {question}.

    A hit that is a section has its summary in `chunk.extras["summary"]` and the ids of the chunks
    that were found in `chunk.extras["merged"]`; its score, routes and parts are those of the best
    of these. With `llm`, `chunk.extras["walk"]` has the titles that were chosen, and
    `chunk.extras["failure"]` says why the walk ended early, where it failed. A blank query has no
    hits.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    def __init__(
        self,
        index: TreeIndex,
        *,
        k: int = 5,
        max_tokens: int | None = None,
        levels: bool = True,
        level_weight: float = 0.25,
        merge_share: float | None = 0.5,
        merge_tokens: int = 1000,
        routes: Sequence[str] | None = None,
        llm: Any = None,
        walk_prompt: str = WALK_PROMPT,
    ) -> None:
        check_index(index, TreeIndex)
        if max_tokens is not None:
            check_at_least("max_tokens", max_tokens, 1)
        check_at_least("level_weight", level_weight, 0)
        check_walk_prompt(walk_prompt)
        self.index = index
        self.k: int = checked_k(k)
        self.max_tokens = max_tokens
        self.levels = levels
        self.level_weight = level_weight
        self.merging: Merging = Merging(merge_share, merge_tokens)
        self.flat: MultiViewRetriever = MultiViewRetriever(index, k=k, routes=routes)
        self.llm: LanguageModel | None = as_language_model(llm)
        self.walk_prompt = walk_prompt

    def steps(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Steps[list[Hit]]:
        """`search` as steps."""
        check_query(query)
        most = self.k if k is None else checked_k(k)
        if not query.strip():
            return []
        return (yield from remembering(self._found_steps(query, most, where)))

    def _found_steps(self, query: str, k: int, where: Any) -> Steps[list[Hit]]:
        chunks, nodes = self.index.readers()
        tree = Tree(chunks, nodes)
        hits = yield from self.flat.steps_in(chunks, query, max(POOL, k), where)
        if self.levels:
            scores = yield from node_score_steps(nodes, query, self.flat.kinds, where)
            hits = [
                lifted(hit, tree.above(hit.chunk), scores, self.level_weight)
                for hit in hits
            ]
            hits.sort(key=lambda hit: -round(hit.score, 9))
        if self.llm is not None and hits:
            doc_ids = list(dict.fromkeys(hit.chunk.doc_id for hit in hits))
            walk = yield from walk_steps(
                query, tree, doc_ids, self.llm, self.walk_prompt
            )
            hits = _walked(hits, walk)
        return self._merged(hits, tree, k)

    def _merged(self, hits: Sequence[Hit], tree: Tree, k: int) -> list[Hit]:
        chunks = (Found(hit.chunk.n_tokens, tree.above(hit.chunk)) for hit in hits)
        taken = self.merging.merged(chunks, k=k, max_tokens=self.max_tokens)
        return [
            replace(_hit_of(one, hits, tree), rank=rank)
            for rank, one in enumerate(taken, start=1)
        ]

    def run(self, steps: Steps[T]) -> T:
        """Drive steps with the index's models and routes."""
        return self.index.run(steps)

    async def arun(self, steps: Steps[T]) -> T:
        """`run` on an event loop."""
        return await self.index.arun(steps)


def _walked(hits: Sequence[Hit], walk: Walk) -> list[Hit]:
    """The hits in the part that was chosen, then the others.

    All say what was chosen.
    """
    notes = {
        WALKED: list(walk.titles),
        **({"failure": walk.failure} if walk.failure else {}),
    }
    noted = [
        replace(hit, chunk=replace(hit.chunk, extras={**hit.chunk.extras, **notes}))
        for hit in hits
    ]
    return sorted(noted, key=lambda hit: not walk.holds(hit.chunk))


def _hit_of(taken: Taken, hits: Sequence[Hit], tree: Tree) -> Hit:
    """The best hit itself, or the section that stands for several."""
    best = hits[taken.found[0]]
    if taken.node is None:
        return best
    node = tree.nodes.chunk(taken.node.row)
    extras = {
        name: value
        for name, value in best.chunk.extras.items()
        if name in (WALKED, "failure", "views_hit")
    }
    extras |= {
        name: node.extras[name] for name in (SUMMARY, *SOURCE) if name in node.extras
    }
    extras[MERGED] = [hits[place].chunk.id for place in taken.found]
    return replace(best, chunk=replace(node, extras=extras))
