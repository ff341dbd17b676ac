"""IDMS's enrichment of chunks that any splitter of a framework made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from structrag.chunks.enriching.enricher import IDMSEnricher, as_enricher
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.model_splitter import counted_flow
from structrag.errors import InvalidParameter
from structrag.integrations.documents import file_of
from structrag.integrations.metadata import UNKNOWN
from structrag.integrations.splitters import defaults_of
from structrag.model_calls.requests import Flow, gather
from structrag.model_calls.runner import Runner
from structrag.records import Chunk, Document


@dataclass(frozen=True, slots=True)
class HostChunk:
    """A framework's chunk, reduced to what enrichment needs.

    Attributes:
        text: Its text, without metadata.
        metadata: As the framework has it.
        start: Where it begins in its document, in characters; None: unknown.
        document: What it was cut from, where the framework knows; "" elsewhere.
        context: What models see in front of the text.
    """

    text: str
    metadata: Mapping[str, Any]
    start: int | None = None
    document: str = ""
    context: str = ""


def checked_enricher(enrich: Any) -> IDMSEnricher:
    """The enricher that `enrich` stands for; InvalidParameter for "none" and unknown values."""
    enricher = as_enricher(enrich)
    if enricher is None:
        raise InvalidParameter(
            "enrich must be 'reduce', 'supplement', 'both', 'paper' or an IDMSEnricher; got 'none'."
            " Leave the enrichment out."
        )
    return enricher


def enriched_flow(
    enricher: IDMSEnricher, chunks: Sequence[HostChunk], runner: Runner
) -> Flow[list[Chunk]]:
    """The chunks as their documents' enriched ones, in the order they came, as steps.

    Chunks whose metadata names the same file belong to one document, else those that the framework
    knows one for. The others are one document until a chunk begins before the one in front of it.
    Blank ones stay.
    """
    places: dict[str, list[int]] = {}
    for i, name in enumerate(_documents(chunks)):
        if chunks[i].text.strip():
            places.setdefault(name, []).append(i)
    core_chunks = [_chunk(i, chunk) for i, chunk in enumerate(chunks)]
    flows = [
        counted_flow(
            enricher.enrich_flow(
                Document("", id=name), [core_chunks[i] for i in of_one]
            ),
            runner,
        )
        for name, of_one in places.items()
    ]
    enriched = yield from gather(flows)
    for of_one, results in zip(places.values(), enriched, strict=True):
        is_placed = all(chunks[i].start is not None for i in of_one)
        for i, chunk in zip(of_one, results, strict=True):
            core_chunks[i] = chunk if is_placed else _without_places(chunk)
    return core_chunks


def _documents(chunks: Sequence[HostChunk]) -> list[str]:
    """The document of each chunk."""
    names = []
    last, number = -1, 0
    for chunk in chunks:
        name = file_of(chunk.metadata) or str(chunk.metadata.get("doc_id") or "")
        name = name or chunk.document
        if not name:
            number += chunk.start is not None and chunk.start <= last
            last = -1 if chunk.start is None else chunk.start
            name = f"\n{number}"  # no file's name
        names.append(name)
    return names


def _chunk(i: int, chunk: HostChunk) -> Chunk:
    start = chunk.start or 0
    end = start + len(chunk.text)
    return Chunk(str(i), "", "", start, end, chunk.text, context=chunk.context)


def _without_places(chunk: Chunk) -> Chunk:
    """A chunk whose added sentences stand nobody knows where."""
    added = [
        {**item, "start": UNKNOWN, "end": UNKNOWN}
        for item in chunk.extras.get("added", ())
    ]
    return replace(chunk, extras={**chunk.extras, "added": added}) if added else chunk


def shows_path(enrich: Any, settings: Mapping[str, Any]) -> bool:
    """Whether titles stand in front of IDMS's chunks. `settings` are those of its splitter. As
    published sentences are added alone, and a chunk may lie in several sections."""
    in_one_section = settings.get("respect_sections", True)
    return bool(enrich == "none" or (enrich != "paper" and in_one_section))


def idms_margin(margin: Any, embedder: Any, llm: Any) -> Any:
    """IDMS's margin. Without a model "auto" is "words", the fastest that needs none."""
    return "words" if margin == "auto" and embedder is None and llm is None else margin


def idms_target(target: int | None, max_tokens: int) -> int:
    """The size that IDMS's merging aims at.

    None: the same share of the limit as by default, at least 1.
    """
    if target is not None:
        return target
    defaults = defaults_of(IDMSSplitter)
    share = int(defaults["target_tokens"]), int(defaults["max_tokens"])
    return max(1, max_tokens * share[0] // share[1])
