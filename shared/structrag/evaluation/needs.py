"""The requests of a splitter to models."""

from __future__ import annotations

import warnings
from typing import Any

from structrag.chunks.model_splitter import ReadingSplitter, answered
from structrag.model_calls.dry_run import DryRun
from structrag.model_calls.flow import map_requests
from structrag.model_calls.requests import Ask, Choose, Embed, Request
from structrag.model_calls.runner import Runner
from structrag.records import Chunk, Document

# The assumed answer of a language model whose calls are only counted.
_SUMMARY = "A summary."


def split_counted(
    splitter: Any, document: Document, runner: Runner
) -> tuple[list[Chunk], int]:
    """The chunks of a document, and how many texts were embedded. Without an embedder of the
    runner, they are embedded by LSA."""
    if not isinstance(splitter, ReadingSplitter):
        return list(splitter.split(document)), 0
    embedded = 0

    def count(request: Request) -> Request:
        nonlocal embedded
        if isinstance(request, Embed):
            embedded += len(request.texts)
        return request

    chunks = runner.run(
        answered(map_requests(splitter.split_flow(document), count), runner)
    )
    return chunks, embedded


def model_calls(splitter: Any, document: Document) -> int:
    """Count the calls of a language model that splitting would take.

    None is made. Every question is answered alike here. A splitter whose questions depend on the
    answers can make a few more or less.
    """
    if not isinstance(splitter, ReadingSplitter):
        return 0
    dry = DryRun(Runner(llm=_Anybody()), stand_in=_same_answer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dry.run(splitter.split_flow(document))
    return dry.stages[""].calls


class _Anybody:
    """A stand-in for a language model. It is never called."""

    name = "anybody"

    def complete(self, prompt: str) -> str:
        return _SUMMARY

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return 0.0


def _same_answer(request: Ask | Choose, number: int) -> Any:
    return 0.0 if isinstance(request, Choose) else _SUMMARY
