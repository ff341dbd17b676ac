"""What sentences are compared with: the pseudo-instruction (PIC, section 3.1), or the instructions
that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.asking.requests import Embed, Steps
from structrag.chunks.pic.summaries import Summary, summary_steps
from structrag.chunks.run_vectors import pooled, unit_text, windows_of
from structrag.chunks.scopes import Scope
from structrag.errors import InvalidParameter
from structrag.records import Document
from structrag.text.heading_path import SEPARATOR
from structrag.text.vectors import FloatArray, central

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """What the sentences of one scope are compared with."""

    vectors: FloatArray  # shape (m, d); the closest counts
    picked: tuple[
        int, ...
    ] = ()  # in place of vectors: the scope's own sentences that are its summary
    note: str = ""  # in words
    degraded: bool = (
        False  # the language model should have given a summary and did not, or not of all the text
    )


@dataclass(frozen=True, slots=True)
class InstructionSettings:
    """Where instructions come from; as in `PICSplitter`."""

    pseudo_instruction: str
    texts: Sequence[str]
    vectors: Rows | None
    prompt: str
    window: int
    language: str

    @property
    def given(self) -> bool:
        """Whether there are texts or vectors in place of the pseudo-instruction."""
        return bool(self.texts) or self.vectors is not None


def read_vectors(value: Any) -> Rows | None:
    """Instruction vectors as tuples. Raises InvalidParameter for what is not a finite array of
    shape (m, d) or (d,)."""
    if value is None:
        return None
    try:
        matrix = np.atleast_2d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"instruction_vectors must be an array of numbers; got {type(value).__name__}."
        ) from error
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise InvalidParameter(
            "instruction_vectors must be finite numbers of shape (m, d) or (d,), not empty; got "
            f"shape {np.shape(value)}."
        )
    return tuple(tuple(map(float, row)) for row in matrix)


def instruction_steps(
    settings: InstructionSettings,
    document: Document,
    scopes: Sequence[Scope],
    looked_at: Sequence[bool],
    *,
    every: bool = False,
) -> Steps[tuple[list[FloatArray | None], list[Instruction | None]]]:
    """For every scope its units' vectors (length 1) and what to compare them with; None for scopes
    that are not looked at.

    Summaries are asked for first, all at once; then all units and instructions are embedded, each
    once. `every`: vectors of all scopes.
    """
    chosen = [i for i, wanted in enumerate(looked_at) if wanted]
    summaries: dict[int, Summary] = {}
    if settings.pseudo_instruction == "summary" and not settings.given and chosen:
        titles = [SEPARATOR.join(scopes[i].path) or document.title for i in chosen]
        texts = [[document.text[unit.start : unit.end] for unit in scopes[i].units] for i in chosen]
        asked = yield from summary_steps(
            titles, texts, settings.prompt, window=settings.window, language=settings.language
        )
        summaries = dict(zip(chosen, asked, strict=True))
    embedded = list(range(len(scopes))) if every else chosen
    queries = list(settings.texts) if chosen else []
    queries += [summary.text for summary in summaries.values() if summary.text]
    unit_rows, query_rows = yield from _embed(document.text, [scopes[i] for i in embedded], queries)
    matrices: list[FloatArray | None] = [None] * len(scopes)
    for i, rows in zip(embedded, unit_rows, strict=True):
        matrices[i] = rows
    found: list[Instruction | None] = [None] * len(scopes)
    rows_left = iter(query_rows)
    for i in chosen:
        matrix = matrices[i]
        if matrix is None:
            continue
        if settings.given:
            found[i] = _given(settings, query_rows, matrix.shape[1])
        elif i in summaries and summaries[i].text:
            summary = summaries[i]
            found[i] = Instruction(
                next(rows_left)[None, :], note=summary.text, degraded=bool(summary.failure)
            )
        elif i in summaries and summaries[i].no_model:
            found[i] = _own_sentences(document.text, scopes[i], matrix)
        else:
            why = f", because {summaries[i].failure}" if i in summaries else ""
            mean = matrix.mean(axis=0)[None, :]
            found[i] = Instruction(
                mean, note=f"the mean of the sentences' vectors{why}", degraded=bool(why)
            )
    return matrices, found


def _given(settings: InstructionSettings, rows: FloatArray, dimension: int) -> Instruction:
    vectors = list(rows[: len(settings.texts)])
    for row in settings.vectors or ():
        if len(row) != dimension:
            raise InvalidParameter(
                f"instruction_vectors must have the embedder's {dimension} dimensions; got "
                f"{len(row)}."
            )
        vectors.append(np.asarray(row))
    notes = [*settings.texts, *([f"{len(settings.vectors)} vectors"] if settings.vectors else [])]
    return Instruction(np.stack(vectors), note="\n".join(notes))


def _own_sentences(text: str, scope: Scope, matrix: FloatArray) -> Instruction:
    words = [unit_text(text, unit) for unit in scope.units]
    picked = central(matrix, [len(sentence.split()) for sentence in words])
    return Instruction(np.zeros((0, 0)), tuple(picked), note=" ".join(words[i] for i in picked))


def _embed(
    text: str, scopes: Sequence[Scope], queries: Sequence[str]
) -> Steps[tuple[list[FloatArray], FloatArray]]:
    """The vectors of the scopes' units and of the queries, all asked for at once."""
    windows = [[windows_of(unit_text(text, unit)) for unit in scope.units] for scope in scopes]
    documents = [window for scope in windows for unit in scope for window in unit]
    query_windows = [windows_of(query) for query in queries]
    requests = [Embed(tuple(documents))] if documents else []
    if queries:
        requests.append(
            Embed(tuple(window for query in query_windows for window in query), query=True)
        )
    answers = (yield requests) if requests else []
    rows = answers[0] if documents else np.zeros((0, 1))
    counts = [len(unit) for scope in windows for unit in scope]
    stacked = pooled(rows, counts)
    matrices = []
    first = 0
    for scope in scopes:
        matrices.append(stacked[first : first + len(scope.units)])
        first += len(scope.units)
    found = (
        pooled(answers[-1], [len(query) for query in query_windows])
        if queries
        else np.zeros((0, 1))
    )
    return matrices, found
