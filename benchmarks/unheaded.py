"""Documents with their headings taken out, and where those stood: what a splitter must find by
reading.

The text of each section's own body follows the one before it after a blank line. Sections of fewer
than `LEAST_SENTENCES` sentences are left out, since a heading over one line is a label and not a
change of subject.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from benchmarks.question_sets import data_root
from structrag.reading.files import read_file
from structrag.reading.sections import parse
from structrag.records import Document
from structrag.text.sentences import sentence_spans

LEAST_SENTENCES = 3
LEAST_SECTIONS = 4
LARGEST = 100_000  # characters; two huge change logs would weigh more than all the rest
FOLDERS = ("fastapi/en", "rust_reference", "commonmark_spec")


@dataclass(frozen=True, slots=True)
class Unheaded:
    """A document without headings and the segmentation that they stood for."""

    document: Document  # plain text
    sentences: tuple[
        tuple[int, int], ...
    ]  # (start, end) characters of the units that boundaries lie between
    reference: tuple[
        int, ...
    ]  # for each gap between two units 1 where a section began behind it, else 0


def segmentation(
    sentences: Sequence[tuple[int, int]], places: Sequence[int]
) -> list[int]:
    """The gaps at which parts with these places (characters) begin; a place inside a sentence
    counts for the nearer end of it."""
    firsts = [start for start, _ in sentences]
    gaps = [0] * (len(firsts) - 1)
    for place in places:
        unit = bisect_left(firsts, place)
        if unit and (
            unit == len(firsts) or place - firsts[unit - 1] < firsts[unit] - place
        ):
            unit -= 1
        if unit:
            gaps[unit - 1] = 1
    return gaps


def unheaded(document: Document) -> Unheaded | None:
    """The document without its headings; None where fewer than `LEAST_SECTIONS` sections have a
    body to speak of."""
    bodies = []
    for section in parse(document).sections:
        body = document.text[section.body_start : section.body_end].strip()
        if body and len(sentence_spans(body)) >= LEAST_SENTENCES:
            bodies.append(body)
    if len(bodies) < LEAST_SECTIONS:
        return None
    text = "\n\n".join(bodies)
    # Where each begins.
    places = accumulate(len(body) + 2 for body in bodies[:-1])
    sentences = tuple(
        (start, end) for start, end in sentence_spans(text) if text[start:end].strip()
    )
    reference = tuple(segmentation(sentences, [*places]))
    return Unheaded(Document(text, id=document.id), sentences, reference)


def unheaded_documents(most: int) -> list[Unheaded]:
    """`most` Markdown documents of the set `parsing` at even distances among those that have
    sections enough."""
    found = list(_all())
    return (
        found
        if len(found) <= most
        else [found[i * len(found) // most] for i in range(most)]
    )


def _all() -> Iterator[Unheaded]:
    root = data_root() / "parsing"
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.md")):
            made = unheaded(read_file(path))
            if made is not None and len(made.document.text) < LARGEST:
                yield made
