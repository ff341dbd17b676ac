"""What a splitter asks of models while it splits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from structrag.asking.requests import Ask, Choose, Embed, Request, Steps
from structrag.asking.runner import Runner
from structrag.asking.steps import drive, rewrite
from structrag.chunks.asking_splitter import ReadingSplitter, answered
from structrag.records import Chunk, Document

T = TypeVar("T")
_SUMMARY = "A summary."  # what a language model is taken to answer when only its calls are counted


@dataclass(slots=True)
class Needs:
    """How often models were asked."""

    embedded: int = 0  # texts to embed
    calls: int = 0  # of a language model


def split_counted(splitter: Any, document: Document, runner: Runner) -> tuple[list[Chunk], Needs]:
    """The chunks of a document, and the texts that the splitter had embedded for them (by LSA where
    the runner has no embedder)."""
    needs = Needs()
    if not isinstance(splitter, ReadingSplitter):
        return list(splitter.split(document)), needs
    return runner.run(answered(_counting(splitter.split_steps(document), needs), runner)), needs


def model_calls(splitter: Any, document: Document) -> int:
    """How many calls of a language model splitting would take if there were one; none is made.

    Every question is answered alike here. A splitter whose questions depend on the answers can make
    a few more or less.
    """
    if not isinstance(splitter, ReadingSplitter):
        return 0
    needs = Needs()
    steps = _counting(splitter.split_steps(document), needs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drive(steps, lambda requests: [_same_answer(request) for request in requests])
    return needs.calls


def _counting(steps: Steps[T], needs: Needs) -> Steps[T]:
    """The same steps, their requests counted."""

    def count(request: Request) -> Request:
        if isinstance(request, Embed):
            needs.embedded += len(request.texts)
        needs.calls += isinstance(request, Ask | Choose)
        return request

    return rewrite(steps, count)


def _same_answer(request: Request) -> Any:
    if isinstance(request, Embed):
        return np.full((len(request.texts), 4), 0.5, dtype=np.float32)
    return 0.0 if isinstance(request, Choose) else _SUMMARY
