"""The prompts of an enrichment."""

from __future__ import annotations

from dataclasses import dataclass

from structrag.errors import check_template

REDUCE_PROMPT = """\
Shorten the text below to at most {words} words. \
Keep every name, term, code, date and number that it contains, written as it is there.
State nothing that the text does not state. \
Answer with the shortened text and nothing else, in the language of the text.

Text:
{text}

Shortened text:"""

MISSING_PROMPT = """\
Below are a passage of a document and sentences from other places in the same document. \
Which entities that a reader needs in order to
understand the passage are missing from it, and are named in one of the sentences? \
An entity is a name, a term or a code of at most 5
words, written as in the sentence. Name at most 3. \
Answer with a JSON list of strings and nothing else; [] if nothing is missing.

Passage:
{passage}

Sentences:
{sentences}

Missing entities:"""

RATING_PROMPT = """\
Rate the quality of the text below as a passage that has to stand by itself: \
is it coherent, consistent and complete, without needless
repetition? Answer with one number from 0 (poor) to 10 (excellent) and nothing else.

Text:
{text}

Rating:"""

ENTITY_PROMPT = """\
List the entities in the text below: people, organisations, places, products, \
technical terms, codes, dates and quantities, each as it
is written there. Answer with a JSON list of strings and nothing else.

Text:
{text}

Entities:"""

# The places of each prompt: those that must be there, and those that may.
_PLACES = {
    "reduce": (["text"], ["words"]),
    "missing": (["passage", "sentences"], []),
    "rating": (["text"], []),
    "entities": (["text"], []),
}


@dataclass(frozen=True, slots=True)
class EnrichmentPrompts:
    """The prompts of `IDMSEnricher`.

    Example:
        >>> from structrag import IDMSEnricher
        >>> enricher = IDMSEnricher(prompts=EnrichmentPrompts(rating="From 0 to 10: {text}"))

    The paper prints none of them; these are ours. Other braces are doubled.

    Attributes:
        reduce: For a shorter text, with {text} and, if wanted, {words}, how many it may have.
        missing: For missing entities as a JSON list, with {passage} and {sentences}.
        rating: For a rating from 0 to 10 (S), with {text}.
        entities: For the entities of a text as a JSON list, with {text}.
    """

    reduce: str = REDUCE_PROMPT
    missing: str = MISSING_PROMPT
    rating: str = RATING_PROMPT
    entities: str = ENTITY_PROMPT

    def __post_init__(self) -> None:
        for name, (places, optional) in _PLACES.items():
            template = getattr(self, name)
            check_template(f"prompts.{name}", template, places, optional=optional)
