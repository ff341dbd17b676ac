"""The texts that sentences are compared with: the pseudo-instruction (PIC, section 3.1), or the
user's instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from structrag.chunks.pic.summaries import ModelSummary, summary_flow
from structrag.chunks.run_vectors import pooled, unit_text, windows_of
from structrag.chunks.units import UnitScope
from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Embed, Flow
from structrag.records import Document
from structrag.text.arrays import FloatArray
from structrag.text.extractive import central
from structrag.text.heading_path import SEPARATOR


@dataclass(frozen=True, slots=True)
class Instruction:
    """The text that the sentences of one scope are compared with."""

    vectors: FloatArray  # shape (m, d); the closest counts
    # In place of vectors: the scope's own sentences that are its summary.
    picked: tuple[int, ...] = ()
    note: str = ""  # in words
    # The language model should have given a summary and did not, or not of all the text.
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class InstructionSettings:
    """The settings of instructions, as in `PICSplitter`."""

    pseudo_instruction: str
    texts: Sequence[str]
    prompt: str
    window: int | None
    language: str
    as_query: bool = True


def read_texts(value: Any, name: str) -> tuple[str, ...]:
    """Instructions as texts; one string is one.

    Raises:
        InvalidParameter: they are not texts, or blank.
    """
    texts = (value,) if isinstance(value, str) else value
    is_list = isinstance(texts, Sequence)
    if not is_list or any(
        not isinstance(text, str) or not text.strip() for text in texts
    ):
        raise InvalidParameter(f"{name} must be non-blank strings; got {value!r}.")
    return tuple(texts)


def instruction_flow(
    settings: InstructionSettings,
    document: Document,
    scopes: Sequence[UnitScope],
    looked_at: Sequence[bool],
    *,
    every: bool = False,
) -> Flow[tuple[list[FloatArray | None], list[Instruction | None]]]:
    """Every scope's unit vectors, and what to compare them with.

    Vectors have length 1. Both are None for scopes that are not examined; with `every` all have
    vectors. Summaries are asked for first, all at once. Then all units and instructions are
    embedded, each once.
    """
    chosen = np.flatnonzero(np.asarray(looked_at, dtype=bool)).tolist()
    summaries = yield from _summary_flow(settings, document, scopes, chosen)
    usable = {i: summary.text for i, summary in summaries.items() if summary.text}
    embedded = list(range(len(scopes))) if every else chosen
    units = [
        [unit_text(document.text, unit) for unit in scopes[i].units] for i in embedded
    ]
    queries = list(usable.values())
    if chosen:
        queries += settings.texts  # where the user gave some, there are no summaries
    scope_vectors, query_vectors = yield from _embed(
        units, queries, settings.as_query, whole=settings.window is None
    )
    summary_vectors = dict(zip(usable, query_vectors, strict=False))
    matrices: list[FloatArray | None] = [None] * len(scopes)
    instructions: list[Instruction | None] = [None] * len(scopes)
    for i, texts, matrix in zip(embedded, units, scope_vectors, strict=True):
        matrices[i] = matrix
        if not looked_at[i]:
            continue
        if settings.texts:
            note = "\n".join(settings.texts)
            instructions[i] = Instruction(query_vectors, note=note)
        else:
            vector = summary_vectors.get(i)
            instructions[i] = _pseudo_instruction(
                summaries.get(i), vector, texts, matrix
            )
    return matrices, instructions


def _summary_flow(
    settings: InstructionSettings,
    document: Document,
    scopes: Sequence[UnitScope],
    chosen: Sequence[int],
) -> Flow[dict[int, ModelSummary]]:
    """The chosen scopes' summaries by number; {} if none is asked for."""
    if settings.pseudo_instruction != "summary" or settings.texts or not chosen:
        return {}
    titles = [SEPARATOR.join(scopes[i].path) or document.title for i in chosen]
    texts = [
        [document.text[unit.start : unit.end] for unit in scopes[i].units]
        for i in chosen
    ]
    summaries = yield from summary_flow(
        titles,
        texts,
        settings.prompt,
        window=settings.window,
        language=None if settings.window is None else settings.language,
    )
    return dict(zip(chosen, summaries, strict=True))


def _pseudo_instruction(
    summary: ModelSummary | None,
    vector: FloatArray | None,
    texts: Sequence[str],
    matrix: FloatArray,
) -> Instruction:
    """Return the summary with its vector, or a substitute.

    Without a model these are a scope's own most central sentences. Else it is the mean of all
    their vectors, with the reason where a summary failed.
    """
    if summary is not None and vector is not None:
        note, degraded = summary.text, bool(summary.failure)
        return Instruction(vector[None, :], note=note, degraded=degraded)
    if summary is not None and summary.no_model:
        picked = central(matrix, [len(text.split()) for text in texts])
        note = " ".join(texts[i] for i in picked)
        return Instruction(np.zeros((0, 0)), tuple(picked), note=note)
    mean = matrix.mean(axis=0)[None, :]
    note = "the mean of the sentences' vectors"
    if summary is None:
        return Instruction(mean, note=note)
    return Instruction(mean, note=f"{note}, because {summary.failure}", degraded=True)


def _whole(text: str) -> list[str]:
    return [text] if text.strip() else []


def _embed(
    scopes: Sequence[Sequence[str]],
    queries: Sequence[str],
    as_query: bool,
    *,
    whole: bool,
) -> Flow[tuple[list[FloatArray], FloatArray]]:
    """The vectors of the scopes' units and of the queries, in windows where they are long; with
    `whole` each is one text to embed."""
    windows = _whole if whole else windows_of
    unit_windows = list(map(windows, chain.from_iterable(scopes)))
    query_windows = list(map(windows, queries))
    texts = tuple(chain.from_iterable(unit_windows))
    asked = tuple(chain.from_iterable(query_windows))
    if as_query:
        requests = [Embed(texts, of="sentences")] if texts else []
        requests += [Embed(asked, query=True)] if queries else []
    else:
        # Together, since LSA is fitted to the texts of a request.
        requests = [Embed(texts + asked, of="sentences")] if texts + asked else []
    answers = list((yield requests)) if requests else []
    rows = answers[0][: len(texts)] if texts else np.zeros((0, 1))
    vectors = pooled(rows, list(map(len, unit_windows)))
    matrices = []
    first = 0
    for scope in scopes:
        matrices.append(vectors[first : first + len(scope)])
        first += len(scope)
    if not queries:
        return matrices, np.zeros((0, 1))
    query_rows = answers[-1] if as_query else answers[0][len(texts) :]
    return matrices, pooled(query_rows, list(map(len, query_windows)))
