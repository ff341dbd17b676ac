"""RAPTOR as the MC-indexing paper sets it up (appendix C.2), without a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from structrag.records import Chunk
from structrag.text.arrays import FloatArray
from structrag.text.extractive import summarise

DIMENSIONS = (
    10  # that nodes are clustered in; a layer of fewer than two more is the root layer
)
MOST_CLUSTERS = 50
SHARE = 0.1  # of a node that a cluster must have for it to be its child
WORDS = 100  # of a summary


@dataclass(frozen=True)
class Tree:
    """Layers of nodes, the leaves first."""

    leaves: Sequence[Chunk]
    texts: tuple[tuple[str, ...], ...]  # of each layer's nodes
    # Of each layer above the leaves, each node's children by their places one layer below.
    children: tuple[tuple[tuple[int, ...], ...], ...]

    def traversed(self, scores: Sequence[Sequence[float]], k: int) -> list[Chunk]:
        """The best k nodes of the root layer, the best k of their children, and so on down to k
        leaves, best first; `scores` are those of each layer's nodes."""
        places: Sequence[int] = range(len(self.texts[-1]))
        for layer in range(len(self.texts) - 1, -1, -1):
            best = sorted(places, key=lambda i: (-scores[layer][i], i))[:k]
            if layer:
                below = self.children[layer - 1]
                places = sorted({child for i in best for child in below[i]})
        return [self.leaves[i] for i in best]


def build(
    leaves: Sequence[Chunk], embed: Callable[[Sequence[str]], FloatArray]
) -> Tree:
    """Cluster nodes by Gaussian mixtures and summarise each cluster, layer by layer."""
    texts = [tuple(chunk.text for chunk in leaves)]
    children = []
    while len(texts[-1]) > DIMENSIONS + 1:
        clusters = clustered(embed(texts[-1]))
        if len(clusters) >= len(texts[-1]):
            break
        children.append(clusters)
        joined = ("\n\n".join(texts[-1][i] for i in own) for own in clusters)
        texts.append(tuple(summarise(text, max_words=WORDS) for text in joined))
    return Tree(leaves, tuple(texts), tuple(children))


def clustered(vectors: FloatArray) -> tuple[tuple[int, ...], ...]:
    """The nodes of each cluster, as many clusters as the Bayesian criterion says; a node may be in
    several."""
    reduced = PCA(DIMENSIONS, random_state=0).fit_transform(np.asarray(vectors, float))
    most = min(MOST_CLUSTERS, len(reduced))
    fitted = [GaussianMixture(n, random_state=0).fit(reduced) for n in range(1, most)]
    best = min(fitted, key=lambda mixture: mixture.bic(reduced))
    shares = best.predict_proba(reduced)
    members = (np.flatnonzero(column > SHARE) for column in shares.T)
    return tuple(tuple(own.tolist()) for own in members if len(own))
