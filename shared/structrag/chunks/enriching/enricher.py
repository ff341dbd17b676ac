"""Density-driven enrichment: shorten chunks that say little, supplement those that presuppose much
(IDMS, "Information Density").

Only what is indexed changes: `context`, and the body of the index text. `text`, offsets and ids
stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from structrag.asking.requests import Ask, Failed, Steps
from structrag.asking.runner import Runner
from structrag.chunks.asking_splitter import Explanation, ReadingSplitter, answered, runner_for
from structrag.chunks.enriching.density import DensityFactors, DensitySettings, density_steps
from structrag.chunks.enriching.supplements import (
    Source,
    SupplementLimits,
    shortened_text,
    supplement_steps,
)
from structrag.errors import InvalidParameter, NoModel, check_at_least, check_choice
from structrag.records import Chunk, Document
from structrag.text.names import contains, names_by_form
from structrag.text.tokens import TokenCounter

REDUCE_PROMPT = """\
Shorten the text below to at most {words} words. Keep every name, term, code, date and number that it contains, written as it is there.
State nothing that the text does not state. Answer with the shortened text and nothing else, in the language of the text.

Text:
{text}

Shortened text:"""


@dataclass(frozen=True, slots=True)
class IDMSEnricher:
    """Measures the density of a document's chunks and changes what is indexed of the least and the
    most dense.

    Low density and entities that are well explained: the body of the index text is shortened
    (`extras["reduced"]`; a shortened text that lost an entity or brought a new one is dropped).
    High density: sentences from elsewhere in the document that explain missing entities are added
    to `context` (`extras["added"]`: entity, text, and the offsets `start`, `end` of the source
    sentence). With a language model it shortens and names missing entities; without one, whole
    sentences are picked and undefined acronyms and codes get the document's own definition. Every
    added line is a slice of the document.

    Every chunk gets the extras `density`, `density_factors`, `action` ("none", "reduced",
    "supplemented") and, where answers of the model could not be used, `dropped`, their number;
    where a call failed, `degraded`.

    Attributes:
        reduce, supplement: Whether each half is done.
        low, high: Densities at or below, at or above which a chunk counts as low or high; None:
            quantiles of the document.
        low_quantile, high_quantile: Those quantiles, used from `min_chunks` chunks on; below that
            nothing is changed.
        min_tokens: Shorter chunks are never reduced.
        reduce_to: Most tokens of a reduced text as a share of the chunk's.
        candidates: Sentences of the document shown to the model in a round.
        rounds: Most rounds of supplements for a chunk.
        growth: Most tokens that supplements add, as a share of the chunk's index text.
        max_tokens: Hard limit of an index text in units of `counter`; None: `growth` alone.
        counter: Measures for `max_tokens`; None: the token counter of `density`.
        into_context: Whether added lines go to `context`; False: they are told in `extras["added"]`
            only.
        use_llm: Whether the language model is asked, where there is one.
        density: How density is measured.
    """

    reduce: bool = True
    supplement: bool = True
    low: float | None = None
    high: float | None = None
    low_quantile: float = 0.25
    high_quantile: float = 0.75
    min_chunks: int = 8
    min_tokens: int = 120
    reduce_to: float = 0.6
    candidates: int = 3
    rounds: int = 3
    growth: float = 0.2
    max_tokens: int | None = None
    counter: TokenCounter | None = None
    into_context: bool = True
    use_llm: bool = True
    density: DensitySettings = field(default_factory=DensitySettings)

    def __post_init__(self) -> None:
        for name in ("low_quantile", "high_quantile", "reduce_to", "growth"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InvalidParameter(f"{name} must be a number from 0 to 1; got {value!r}.")
        if self.low_quantile > self.high_quantile:
            raise InvalidParameter(
                f"low_quantile must be at most high_quantile; got {self.low_quantile} and "
                f"{self.high_quantile}."
            )
        for name in ("low", "high", "min_tokens"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 0)
        for name in ("min_chunks", "candidates", "rounds"):
            check_at_least(name, getattr(self, name), 1)
        if self.max_tokens is not None:
            check_at_least("max_tokens", self.max_tokens, 1)

    def enrich(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> list[Chunk]:
        """The chunks of a document with what is indexed changed; models as in `ReadingSplitter`."""
        chosen = runner or runner_for(embedder, llm)
        return chosen.run(answered(self.enrich_steps(document, chunks), chosen))

    async def aenrich(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> list[Chunk]:
        """`enrich` on an event loop."""
        chosen = runner or runner_for(embedder, llm)
        return await chosen.arun(answered(self.enrich_steps(document, chunks), chosen))

    def enrich_steps(self, document: Document, chunks: Sequence[Chunk]) -> Steps[list[Chunk]]:
        """`enrich` as steps. The chunks must be those of the document, in order."""
        factors, vectors = yield from density_steps(chunks, self.density)
        lowest, highest = self._chosen(factors)
        source = Source(document, tuple(chunks), vectors)
        changes: dict[int, dict[str, Any]] = {}
        if self.reduce and lowest:
            changes |= yield from self._reduce_steps(chunks, factors, source, lowest)
        if self.supplement and highest:
            limits = SupplementLimits(
                self.candidates,
                self.rounds,
                self.growth,
                self.max_tokens,
                self.counter or self.density.counter,
            )
            changes |= yield from supplement_steps(
                chunks, factors, source, highest, limits, self.density, use_llm=self.use_llm
            )
        return [
            self._changed(chunk, own, changes.get(i, {}))
            for i, (chunk, own) in enumerate(zip(chunks, factors, strict=True))
        ]

    def _chosen(self, factors: Sequence[DensityFactors]) -> tuple[list[int], list[int]]:
        """The chunks to reduce and those to supplement."""
        low, high = self.low, self.high
        values = [own.density for own in factors]
        if len(factors) >= self.min_chunks:
            low = float(np.quantile(values, self.low_quantile)) if low is None else low
            high = float(np.quantile(values, self.high_quantile)) if high is None else high
            if self.low is None and self.high is None and low >= high:
                return [], []
        explained = [own.effectiveness for own in factors if own.entities]
        middle = float(np.median(explained)) if explained else 0.0
        lowest = [
            i
            for i, own in enumerate(factors)
            if low is not None
            and own.entities
            and own.density <= low
            and own.tokens >= self.min_tokens
            and own.effectiveness >= middle - 1e-9
        ]
        highest = [
            i
            for i, own in enumerate(factors)
            if high is not None and own.entities and own.density >= high and i not in lowest
        ]
        return lowest, highest

    def _reduce_steps(
        self,
        chunks: Sequence[Chunk],
        factors: Sequence[DensityFactors],
        source: Source,
        lowest: Sequence[int],
    ) -> Steps[dict[int, dict[str, Any]]]:
        limits = [int(self.reduce_to * factors[i].tokens) for i in lowest]
        entities = [[entity.name for entity in factors[i].entities] for i in lowest]
        checks = [
            partial(self._faithful, chunks[i].text, names, most)
            for i, names, most in zip(lowest, entities, limits, strict=True)
        ]
        answers: list[Any] = [None] * len(lowest)
        if self.use_llm:
            answers = yield [
                Ask(
                    REDUCE_PROMPT.format(
                        words=int(self.reduce_to * len(chunks[i].text.split())), text=chunks[i].text
                    ),
                    "idms.reduce/1",
                    usable=check,
                )
                for i, check in zip(lowest, checks, strict=True)
            ]
        changes: dict[int, dict[str, Any]] = {}
        for i, names, most, check, answer in zip(
            lowest, entities, limits, checks, answers, strict=True
        ):
            if isinstance(answer, str):
                changes[i] = {"reduced": answer.strip()} if check(answer) else {"dropped": 1}
                continue
            text = shortened_text(source, i, names, most, self.density)
            changes[i] = {} if text is None else {"reduced": text}
            if isinstance(answer, Failed) and not isinstance(answer.reason, NoModel):
                changes[i]["degraded"] = True
        return changes

    def _faithful(self, text: str, names: Sequence[str], most: int, answer: str) -> bool:
        """Whether a shortened text is short enough, keeps every entity and has none that the text
        has not."""
        answer = answer.strip()
        return (
            bool(answer)
            and self.density.counter(answer) <= most
            and all(contains(answer, name) for name in names)
            and all(contains(text, name) for name in names_by_form(answer))
        )

    def _changed(self, chunk: Chunk, own: DensityFactors, change: dict[str, Any]) -> Chunk:
        added = change.get("added", [])
        lines = [item["text"] for item in added] if self.into_context else []
        extras = {
            **chunk.extras,
            "density": round(own.density, 6),
            "density_factors": {
                "entities": len(own.entities),
                "effectiveness": round(own.effectiveness, 6),
                "correlation": round(own.correlation, 6),
                "rating": round(own.rating, 6),
                "similarity": round(own.similarity, 6),
                "tokens": own.tokens,
            },
            "action": "reduced" if "reduced" in change else "supplemented" if added else "none",
            **change,
        }
        context = "\n".join([*([chunk.context] if chunk.context else []), *lines])
        enriched = replace(chunk, context=context, extras=extras)
        if context != chunk.context or "reduced" in change:
            extras["index_tokens"] = self.density.counter(enriched.index_text)
        return enriched


@dataclass(frozen=True, slots=True)
class EnrichingSplitter(ReadingSplitter):
    """A splitter whose chunks are enriched, as one: the same models, cache and counts serve both."""

    splitter: ReadingSplitter
    enricher: IDMSEnricher

    def explain_steps(self, document: Document) -> Steps[Explanation]:
        """What the splitter saw, with the enriched chunks."""
        explanation = yield from self.splitter.explain_steps(document)
        chunks = yield from self.enricher.enrich_steps(document, explanation.chunks)
        return replace(explanation, chunks=tuple(chunks))


ENRICHMENTS = ("none", "reduce", "supplement", "both")


def with_enrichment(
    splitter: ReadingSplitter,
    enrich: str,
    *,
    max_tokens: int | None,
    counter: TokenCounter,
    into_context: bool = True,
) -> ReadingSplitter:
    """The splitter with the halves of enrichment that `enrich` names, within the limit of its
    chunks.

    Raises InvalidParameter unless `enrich` is one of ENRICHMENTS.
    """
    if check_choice("enrich", enrich, ENRICHMENTS) == "none":
        return splitter
    enricher = IDMSEnricher(
        reduce=enrich in {"reduce", "both"},
        supplement=enrich in {"supplement", "both"},
        max_tokens=max_tokens,
        counter=counter,
        into_context=into_context,
    )
    return EnrichingSplitter(splitter, enricher)
