"""Entities of texts by form, by a language model or a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from structrag.model_calls.answer_parsing.lists import parse_keywords
from structrag.model_calls.requests import Ask, Failed, Flow
from structrag.text.names import EntityFinder, fold, names_by_form, occurrences


def entity_flow(
    texts: Sequence[str], finder: str | EntityFinder, max_share: float, prompt: str
) -> Flow[list[dict[str, str]]]:
    """The different entities of each text, folded name -> name as written.

    Only names that occur in the text count. `finder` is "form", "llm" (which is asked `prompt`) or
    a function. A name in more than `max_share` of four texts or more is left out.
    """
    lists: list[Iterable[str]]
    if finder == "llm" and texts:
        lists = yield from _asked_flow(texts, prompt)
    else:
        find = finder if callable(finder) else names_by_form
        lists = [find(text) for text in texts]
    entities = [
        _occurring(text, names) for text, names in zip(texts, lists, strict=True)
    ]
    if len(texts) < 4:  # too few to tell what is common
        return entities
    return _without_common(entities, max_share * len(texts))


def _without_common(
    entities: list[dict[str, str]], most: float
) -> list[dict[str, str]]:
    """The entities that occur in at most so many texts."""
    frequency = Counter(chain.from_iterable(entities))
    rare = {key for key, count in frequency.items() if count <= most}
    return [
        {key: name for key, name in names.items() if key in rare} for names in entities
    ]


def _asked_flow(texts: Sequence[str], prompt: str) -> Flow[list[Iterable[str]]]:
    """The names that a model lists, or else those by form."""
    answers = yield [Ask(prompt.format(text=text), "idms.entities/1") for text in texts]
    lists: list[Iterable[str]] = []
    for text, answer in zip(texts, answers, strict=True):
        names = [] if isinstance(answer, Failed) else parse_keywords(answer)
        lists.append(names or names_by_form(text))
    return lists


def _occurring(text: str, names: Iterable[str]) -> dict[str, str]:
    """The names that occur in a text, each once."""
    folded = fold(text)
    unique: dict[str, str] = {}
    for name in names:
        key = fold(name)
        if key and occurrences(folded, key):
            unique.setdefault(key, " ".join(name.split()))
    return unique


def ner_entities(
    pipeline: Callable[[str], Iterable[dict[str, object]]],
) -> EntityFinder:
    """An entity finder from a transformers token-classification pipeline.

    The pipeline needs an aggregation strategy. Names are slices of the text.

    Example:
        >>> ner_entities(lambda text: [{"start": 4, "end": 8}])("The Nova rings.")
        ['Nova']
    """

    def find(text: str) -> list[str]:
        return [
            text[int(str(part["start"])) : int(str(part["end"]))]
            for part in pipeline(text)
        ]

    return find
