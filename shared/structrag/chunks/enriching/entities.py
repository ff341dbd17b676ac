"""The entities of many texts: by their form, by a language model or by a function (IDMS, equation
4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from structrag.asking.replies.lists import answers_list, parse_keywords
from structrag.asking.requests import Ask, Failed, Steps
from structrag.text.names import EntityFinder, fold, names_by_form, occurrences

ENTITY_PROMPT = """\
List the entities in the text below: people, organisations, places, products, technical terms, codes, dates and quantities, each as it
is written there. Answer with a JSON list of strings and nothing else.

Text:
{text}

Entities:"""


def entity_steps(
    texts: Sequence[str], finder: str | EntityFinder, max_share: float
) -> Steps[list[dict[str, str]]]:
    """For each text its different entities, folded name -> name as written; only names that occur
    in it.

    `finder` is "form", "llm" or a function. A name in more than `max_share` of four texts or more
    is left out.
    """
    if callable(finder):
        lists: list[Iterable[str]] = [finder(text) for text in texts]
    elif finder == "llm" and texts:
        answers = yield [
            Ask(ENTITY_PROMPT.format(text=text), "idms.entities/1", usable=answers_list)
            for text in texts
        ]
        lists = [[] if isinstance(answer, Failed) else parse_keywords(answer) for answer in answers]
        lists = [names or names_by_form(text) for text, names in zip(texts, lists, strict=True)]
    else:
        lists = [names_by_form(text) for text in texts]
    found: list[dict[str, str]] = []
    for text, names in zip(texts, lists, strict=True):
        folded = fold(text)
        unique: dict[str, str] = {}
        for name in names:
            if (key := fold(name)) and occurrences(folded, key):
                unique.setdefault(key, " ".join(name.split()))
        found.append(unique)
    if len(texts) >= 4:
        frequency = Counter(key for own in found for key in own)
        most = max_share * len(texts)
        found = [
            {key: name for key, name in own.items() if frequency[key] <= most} for own in found
        ]
    return found


def ner_entities(pipeline: Callable[[str], Iterable[dict[str, object]]]) -> EntityFinder:
    """An entity finder from a transformers token-classification pipeline with an aggregation
    strategy; names are slices of the text."""

    def find(text: str) -> list[str]:
        return [text[int(str(part["start"])) : int(str(part["end"]))] for part in pipeline(text)]

    return find
