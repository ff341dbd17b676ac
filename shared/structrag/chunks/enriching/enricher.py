"""Density-driven enrichment of chunks (IDMS, "Information Density"). Chunks that say little are
shortened, those that presuppose much are supplemented. Only what is indexed changes: `context`, and
the body of the index text. `text`, offsets and ids stay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from structrag.chunks.enriching.density import (
    DensityFactors,
    DensitySettings,
    density_flow,
)
from structrag.chunks.enriching.prompts import EnrichmentPrompts
from structrag.chunks.enriching.supplements import (
    Source,
    SupplementLimits,
    shortened,
    supplement_flow,
)
from structrag.chunks.model_splitter import (
    Explanation,
    ReadingSplitter,
    counted_flow,
    runner_for,
)
from structrag.errors import (
    InvalidParameter,
    NoModel,
    check_at_least,
    check_choice,
    check_optional,
)
from structrag.model_calls.requests import Ask, Failed, Flow
from structrag.model_calls.runner import Runner
from structrag.reading.settings import changed
from structrag.records import Chunk, Document
from structrag.text.names import contains, names_by_form
from structrag.text.tokens import TokenCounter

# Densities differ from document to document by orders of magnitude, so what is low and high is
# relative: the lowest and the highest quarter. The paper names no thresholds.
LOW_QUANTILE, HIGH_QUANTILE = 0.25, 0.75
# Of a chunk's tokens, in a shorter text: more would not pay for a call.
REDUCE_TO = 0.6


@dataclass(frozen=True, slots=True)
class IDMSEnricher:
    """Measures density, and changes the index text of some chunks.

    Example:
        >>> IDMSEnricher(supplement=False).growth
        0.2

    A chunk of low density whose entities are well explained gets a shorter index text,
    `extras["reduced"]`, of at most 60% of its tokens. A shortened text that loses an entity or adds
    one is discarded.

    A chunk of high density gets sentences from elsewhere in the document that explain missing
    entities; a language model chooses among three at a time, in at most three rounds. They are
    added to `context`. `extras["added"]` lists them with entity, text, and the
    offsets `start`, `end` of the source sentence. Every added line is a slice of the document.

    A language model shortens texts and names missing entities. Without one, whole sentences are
    selected, and undefined acronyms and codes get the document's own definition.

    Every chunk gets the extras `density`, `density_factors` and `action` ("none", "reduced" or
    "supplemented"). `dropped` is the number of unusable answers, if any. `degraded` is set if a
    call failed.

    Attributes:
        reduce, supplement: Whether each half is done.
        low, high: A chunk counts as low at or below `low`, and as high at or above `high`. None:
            the lowest and the highest quarter of the document's chunks.
        min_chunks: The least number of chunks that have quarters. With fewer, nothing is changed.
        min_tokens: Shorter chunks are never reduced.
        growth: The token limit of supplements, as a share of the chunk's index text.
        if_less_dense: Whether a sentence that a language model requested is added only if it lowers
            the density.
        max_tokens: Hard limit of an index text, measured by `counter`. None: `growth` alone.
        counter: The counter for `max_tokens`. None: the token counter of `density`.
        into_context: Whether added lines go to `context`. False: only to `extras["added"]`.
        density: The settings of the measure of density.
        prompts: The prompts of the language model.
    """

    reduce: bool = True
    supplement: bool = True
    low: float | None = None
    high: float | None = None
    min_chunks: int = 8
    min_tokens: int = 120
    growth: float = 0.2
    if_less_dense: bool = True
    max_tokens: int | None = None
    counter: TokenCounter | None = None
    into_context: bool = True
    density: DensitySettings = field(default_factory=DensitySettings)
    prompts: EnrichmentPrompts = field(default_factory=EnrichmentPrompts)

    def __post_init__(self) -> None:
        is_number = isinstance(self.growth, int | float) and not isinstance(
            self.growth, bool
        )
        if not is_number or not 0 <= self.growth <= 1:
            raise InvalidParameter(
                f"growth must be a number from 0 to 1; got {self.growth!r}."
            )
        for name in ("low", "high", "min_tokens"):
            check_optional(name, getattr(self, name), 0)
        check_at_least("min_chunks", self.min_chunks, 1)
        check_optional("max_tokens", self.max_tokens, 1)

    @classmethod
    def paper(cls, **changes: Any) -> IDMSEnricher:
        """The enrichment of the paper ("Density-driven Chunking", equations 2 to 8).

        Every factor of equation 2 with its sum as printed: each chunk is rated by the language
        model (S, equation 6), and an entity weighs the number of different ones (equation 4),
        in however many chunks it occurs. A shortened text may have any length, and text that a
        language model finds missing is added whether or not density falls by it. The paper
        names no thresholds, rounds, sizes or prompts; these are ours, and so are
        the checks: a shorter text that lost or brought an entity is dropped, and only whole
        sentences of the document are added.
        """
        density = DensitySettings(entity_weight="literal", rate=True, max_share=1.0)
        return changed(
            cls,
            {
                "density": density,
                "min_tokens": 0,
                "min_chunks": 2,
                "if_less_dense": False,
            },
            changes,
        )

    def enrich(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> list[Chunk]:
        """Enrich the chunks of a document. Models are passed as to `ReadingSplitter`."""
        chosen = runner or runner_for(embedder, llm)
        return chosen.run(counted_flow(self.enrich_flow(document, chunks), chosen))

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
        flow = counted_flow(self.enrich_flow(document, chunks), chosen)
        return await chosen.arun(flow)

    def enrich_flow(
        self, document: Document, chunks: Sequence[Chunk]
    ) -> Flow[list[Chunk]]:
        """`enrich` as a flow. The chunks are the document's, in order."""
        factors, vectors = yield from density_flow(chunks, self.density, self.prompts)
        lowest, highest = self._chosen(factors)
        source = Source(document, chunks, vectors)
        changes: dict[int, dict[str, Any]] = {}
        if self.reduce and lowest:
            changes |= yield from self._reduce_flow(chunks, factors, source, lowest)
        if self.supplement and highest:
            limits = SupplementLimits(
                self.growth,
                self.max_tokens,
                self.counter or self.density.counter,
                self.prompts.missing,
                self.if_less_dense,
            )
            changes |= yield from supplement_flow(
                chunks, factors, source, highest, limits, self.density
            )
        enriched = []
        for i, (chunk, measured) in enumerate(zip(chunks, factors, strict=True)):
            enriched.append(self._changed(chunk, measured, changes.get(i, {})))
        return enriched

    def _chosen(self, factors: Sequence[DensityFactors]) -> tuple[list[int], list[int]]:
        """The chunks to reduce and those to supplement."""
        low, high = self._cut_offs([chunk.density for chunk in factors])
        explained = [chunk.effectiveness for chunk in factors if chunk.entities]
        middle = float(np.median(explained)) if explained else 0.0
        lowest: list[int] = []
        highest: list[int] = []
        for i, chunk in enumerate(factors):
            if not chunk.entities:
                continue
            # Shortening is for chunks whose entities are "relatively complete".
            complete = chunk.effectiveness >= middle - 1e-9
            if chunk.density <= low and chunk.tokens >= self.min_tokens and complete:
                lowest.append(i)
            elif chunk.density >= high:
                highest.append(i)
        return lowest, highest

    def _cut_offs(self, densities: Sequence[float]) -> tuple[float, float]:
        """The highest low density and the lowest high one."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if len(densities) < self.min_chunks:  # quantiles of a few say nothing
            return low, high
        if self.low is None:
            low = float(np.quantile(densities, LOW_QUANTILE))
        if self.high is None:
            high = float(np.quantile(densities, HIGH_QUANTILE))
        if self.low is None and self.high is None and low >= high:
            return -math.inf, math.inf  # chunks of one density: none stands out
        return low, high

    def _reduce_flow(
        self,
        chunks: Sequence[Chunk],
        factors: Sequence[DensityFactors],
        source: Source,
        lowest: Sequence[int],
    ) -> Flow[dict[int, dict[str, Any]]]:
        """Shortened texts of the lowest chunks, as changes of their extras."""
        limits = [int(REDUCE_TO * factors[i].tokens) for i in lowest]
        entities = [[entity.name for entity in factors[i].entities] for i in lowest]
        checks = []
        for i, names, most in zip(lowest, entities, limits, strict=True):
            checks.append(partial(self._faithful, chunks[i].text, names, most))
        questions = []
        for i in lowest:
            text = chunks[i].text
            words = int(REDUCE_TO * len(text.split()))
            prompt = self.prompts.reduce.format(words=words, text=text)
            questions.append(Ask(prompt, "idms.reduce/1"))
        answers = yield questions
        changes: dict[int, dict[str, Any]] = {}
        for i, names, most, check, answer in zip(
            lowest, entities, limits, checks, answers, strict=True
        ):
            if isinstance(answer, str):
                changes[i] = (
                    {"reduced": answer.strip()} if check(answer) else {"dropped": 1}
                )
            else:
                vectors = source.vectors.sentences[i]
                shorter = shortened(
                    source.of(i), vectors, names, most, self.density.counter
                )
                changes[i] = _by_sentences(shorter, answer)
        return changes

    def _faithful(
        self, text: str, names: Sequence[str], most: int, answer: str
    ) -> bool:
        """Return True if a shortened text is short and has only entities of the text."""
        answer = answer.strip()
        if not answer or self.density.counter(answer) > most:
            return False
        if not all(contains(answer, name) for name in names):
            return False
        return all(contains(text, name) for name in names_by_form(answer))

    def _changed(
        self, chunk: Chunk, factors: DensityFactors, change: dict[str, Any]
    ) -> Chunk:
        """A chunk with its extras, and with added lines in its context."""
        added = change.get("added", [])
        action = "none"
        if "reduced" in change:
            action = "reduced"
        elif added:
            action = "supplemented"
        extras = {
            **chunk.extras,
            "density": round(factors.density, 6),
            "density_factors": {
                "entities": len(factors.entities),
                "effectiveness": round(factors.effectiveness, 6),
                "correlation": round(factors.correlation, 6),
                "rating": round(factors.rating, 6),
                "similarity": round(factors.similarity, 6),
                "tokens": factors.tokens,
            },
            "action": action,
            **change,
        }
        lines = [chunk.context] if chunk.context else []
        if self.into_context:
            lines += [item["text"] for item in added]
        context = "\n".join(lines)
        enriched = replace(chunk, context=context, extras=extras)
        if context != chunk.context or "reduced" in change:
            extras["index_tokens"] = self.density.counter(enriched.index_text)
        return enriched


def _by_sentences(shorter: str | None, answer: Any) -> dict[str, Any]:
    """The change of a chunk without a model's text: sentences, if any."""
    change: dict[str, Any] = {} if shorter is None else {"reduced": shorter}
    # Without any model nothing failed: sentences are what was asked for.
    if isinstance(answer, Failed) and not isinstance(answer.reason, NoModel):
        change["degraded"] = True
    return change


@dataclass(frozen=True, slots=True)
class EnrichingSplitter(ReadingSplitter):
    """A splitter whose chunks are enriched.

    The same models, cache and counts serve both.

    Example:
        >>> from structrag.chunks.content_aware import ContentAwareSplitter
        >>> EnrichingSplitter(ContentAwareSplitter(), IDMSEnricher()).enricher.growth
        0.2
    """

    splitter: ReadingSplitter
    enricher: IDMSEnricher

    def explain_flow(self, document: Document) -> Flow[Explanation]:
        """Explain the splitter, with the enriched chunks."""
        explanation = yield from self.splitter.explain_flow(document)
        chunks = yield from self.enricher.enrich_flow(document, explanation.chunks)
        return replace(explanation, chunks=tuple(chunks))


ENRICHMENTS = ("none", "reduce", "supplement", "both", "paper")


def as_enricher(value: Any) -> IDMSEnricher | None:
    """Return the enricher for a host's `enrich`; None for "none".

    Example:
        >>> as_enricher("reduce").supplement, as_enricher({"growth": 1}).growth
        (False, 1)

    Raises:
        InvalidParameter: it is neither one of ENRICHMENTS nor an `IDMSEnricher` nor its settings.
    """
    if isinstance(value, IDMSEnricher):
        return value
    if isinstance(value, Mapping):
        return _enricher_of(value)
    if not isinstance(value, str):
        raise InvalidParameter(
            f"enrich must be one of {', '.join(map(repr, ENRICHMENTS))} or an IDMSEnricher; got "
            f"{type(value).__name__}."
        )
    if check_choice("enrich", value, ENRICHMENTS) == "none":
        return None
    if value == "paper":
        return IDMSEnricher.paper()
    return IDMSEnricher(
        reduce=value in {"reduce", "both"}, supplement=value in {"supplement", "both"}
    )


def _enricher_of(settings: Mapping[str, Any]) -> IDMSEnricher:
    """An enricher of its settings by name. Those of its density are under "density", its prompts
    under "prompts"."""
    choices = dict(settings)
    parts = {"density": DensitySettings, "prompts": EnrichmentPrompts}
    try:
        for name, make in parts.items():
            if isinstance(choices.get(name), Mapping):
                choices[name] = make(**choices[name])
        return IDMSEnricher(**choices)
    except TypeError as error:
        raise InvalidParameter(
            f"enrich must hold valid settings of IDMSEnricher: {error}."
        ) from error


def enricher_settings(enricher: IDMSEnricher) -> dict[str, Any]:
    """The settings of an enricher that differ from the defaults. They are JSON values; functions
    are left out."""
    prompts = _plain_changes(enricher.prompts)
    return {
        **_plain_changes(enricher),
        "density": _plain_changes(enricher.density),
        **({"prompts": prompts} if prompts else {}),
    }


def _plain_changes(record: Any) -> dict[str, Any]:
    changes = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if value != part.default and isinstance(value, str | int | float | bool):
            changes[part.name] = value
    return changes


def with_enrichment(
    splitter: ReadingSplitter,
    enrich: Any,
    *,
    max_tokens: int | None,
    counter: TokenCounter,
    into_context: bool = True,
) -> ReadingSplitter:
    """Return the splitter with the enrichment that a host's `enrich` names.

    `as_enricher` reads `enrich`. Index texts stay within the limit of the splitter's chunks.

    Raises:
        InvalidParameter: as `as_enricher`.
    """
    enricher = as_enricher(enrich)
    if enricher is None:
        return splitter
    into_context = into_context and enricher.into_context
    limited = replace(
        enricher, max_tokens=max_tokens, counter=counter, into_context=into_context
    )
    return EnrichingSplitter(splitter, limited)
