"""Estimate the cost of adding documents to an index, without calling a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from string import ascii_lowercase
from typing import Any

from structrag.chunks.model_splitter import with_own_vectors
from structrag.errors import ModelFailed
from structrag.index.add_batch import (
    AddBatch,
    IndexingOptions,
    ReadDocument,
    read_flow,
    texts_of,
    windows_of,
)
from structrag.model_calls.dry_run import DryRun
from structrag.model_calls.requests import Ask, Choose, Failed, Request
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import Usage
from structrag.records import Document
from structrag.text.numbers import pluralise

SPLIT, VIEWS, INDEX = "split", "views", "index"
# A summary of so many words is not shortened; of equal words it would be no summary.
LONGEST = "".join(
    f"{a}{b}e " for a, b in islice(product(ascii_lowercase, repeat=2), 199)
)
RATING = "5"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work and cost of a call of `Index.add`.

    Attributes:
        documents: Those that would be added or replaced.
        unchanged: Those that cost nothing.
        chunks: Of the documents to add or replace.
        stages: Stage ("split", "views": summaries and keywords, "index": vectors) -> its cost.
    """

    documents: int = 0
    unchanged: int = 0
    chunks: int = 0
    stages: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """All stages together."""
        return sum(self.stages.values(), Usage())

    def __str__(self) -> str:
        total = self.total
        return (
            f"{pluralise(self.documents, 'document')} to add or replace, {self.unchanged:,} "
            f"unchanged; {pluralise(self.chunks, 'chunk')}; "
            f"{pluralise(total.calls, 'language-model call')}, "
            f"{pluralise(total.prompt_tokens, 'token')} of prompts; "
            f"{pluralise(total.embedded, 'text')} to embed, "
            f"{pluralise(total.embedding_tokens, 'token')}; "
            f"{pluralise(total.cache_hits, 'cache hit')}"
        )


def estimate(work: AddBatch, runner: Runner) -> Estimate:
    """Estimate `work` by a dry run of `runner`; see `Index.estimate`."""
    dry = DryRun(runner, stand_in=_stand_in, stage_of=_stage_of)
    documents = chunks = 0
    for group in work.groups():
        # Without a cache, each group of documents that are prepared together asks anew.
        dry.forget()
        (how,) = work.levels.values()
        read = _read(dry, group, how)
        documents += len(group)
        chunks += sum(len(of_document.chunks) for of_document in read)
    stages = {stage: dry.stages[stage] for stage in (SPLIT, VIEWS, INDEX)}
    return Estimate(documents, work.unchanged, chunks, stages)


def _read(
    dry: DryRun, group: Sequence[tuple[Document, str]], how: IndexingOptions
) -> list[ReadDocument]:
    """Read documents in a dry run, and count the texts to embed."""
    if how.kept is not None:  # what stands in for answers is not to be kept
        how = replace(
            how, kept={name: dict(answers) for name, answers in how.kept.items()}
        )
    read: list[ReadDocument] = dry.run(read_flow(group, how), embedded=with_own_vectors)
    if how.embedder is not None:
        for of_document in read:
            windows = windows_of(of_document, how)
            dry.count_texts(INDEX, texts_of(windows), how.embedder)
    return read


def _stage_of(request: Request) -> str:
    is_view = isinstance(request, Ask) and request.component.startswith("views.")
    return VIEWS if is_view else SPLIT


def _stand_in(request: Ask | Choose, number: int) -> Any:
    """Return the answer that a model is assumed to give.

    To a splitter that is a summary as long as may be, no two alike; IDMS asks for ratings and
    lists. Views are extracted in the model's place, so that they are about as long.
    """
    if isinstance(request, Choose):
        return 0.0
    if _stage_of(request) == VIEWS:
        return Failed(ModelFailed("The estimate asks no model for views."))
    return RATING if request.component.startswith("idms.") else f"{LONGEST}{number}"
