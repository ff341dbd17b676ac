"""The ideas beside `EvidenceRetriever`: each does what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evidence_ideas import (
    in_windows,
    with_headings,
)
from structrag import EvidenceRetriever, read_text

TEXT = "# Pumps\n\n## Seals\n\nKeep them dry.\n\n# Cats\n\nThey sleep.\n\nThey purr.\n"


@pytest.fixture
def retriever() -> EvidenceRetriever:
    documents = [
        read_text("The door opens.", id="no heading"),
        read_text(TEXT, id="manual"),
    ]
    return EvidenceRetriever.from_documents(documents)


def test_headings_of_the_path_match_for_what_stands_below(
    retriever: EvidenceRetriever,
) -> None:
    documents, pool = retriever.level.reader().select(None)
    # Door, # Pumps, ## Seals, dry, # Cats, sleep, purr.
    matches = np.zeros((len(pool), 2))
    matches[1, 0], matches[2, 1], matches[4, 0] = 0.8, 0.6, 0.4
    matches[5, 0] = 0.3
    changed = with_headings(pool, documents, matches, 0.5)
    assert changed.tolist() == [
        [0.0, 0.0],
        [0.8, 0.0],
        [0.4, 0.6],
        [0.4, 0.3],
        [0.4, 0.0],
        [0.3, 0.0],  # its own match is better than half of the heading's
        [0.2, 0.0],
    ]


def test_windows_are_those_of_the_library(retriever: EvidenceRetriever) -> None:
    _, pool = retriever.level.reader().select(None)
    matches = np.eye(len(pool), 2)
    narrow, *_, wide = in_windows(pool, matches, np.array([0.75, 0.25]))
    assert narrow.tolist() == [0.75, 0.25, 0, 0, 0, 0, 0]
    # Not across documents.
    assert wide.tolist() == [0.75, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]
