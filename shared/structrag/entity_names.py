"""The names that a text holds, and how often: by their form, by a language model or by a function (IDMS, equation 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from structrag.answers import answers_list, parse_keywords
from structrag.models.extractive import entities as entities_by_form
from structrag.steps import Ask, Failed, Steps

EntityFinder = Callable[[str], Iterable[str]]

_LEADING = re.compile(
    r"^(?:The|A|An|This|That|These|Those|In|On|At|For|From|With|By|Our|Its|If|When|As|To|And|But) (?=\S)"
)

ENTITY_PROMPT = """\
List the entities in the text below: people, organisations, places, products, technical terms, codes, dates and quantities, each as it
is written there. Answer with a JSON list of strings and nothing else.

Text:
{text}

Entities:"""


def entity_steps(texts: Sequence[str], finder: str | EntityFinder, max_share: float) -> Steps[list[dict[str, str]]]:
    """For each text its different entities, folded name -> name as written; only names that occur in it.

    `finder` is "form", "llm" or a function. A name in more than `max_share` of four texts or more is left out.
    """
    if callable(finder):
        lists: list[Iterable[str]] = [finder(text) for text in texts]
    elif finder == "llm" and texts:
        answers = yield [Ask(ENTITY_PROMPT.format(text=text), "idms.entities/1", usable=answers_list) for text in texts]
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
        found = [{key: name for key, name in own.items() if frequency[key] <= most} for own in found]
    return found


def names_by_form(text: str) -> list[str]:
    """Names by their form, without the word of no meaning that a sentence begins with: `The ACME` is `ACME`."""
    names = (_LEADING.sub("", " ".join(name.split())) for name in entities_by_form(text))
    return [name for name in names if name]


def ner_entities(pipeline: Callable[[str], Iterable[dict[str, object]]]) -> EntityFinder:
    """An entity finder from a transformers token-classification pipeline with an aggregation strategy; names are slices of the text."""

    def find(text: str) -> list[str]:
        return [text[int(str(part["start"])) : int(str(part["end"]))] for part in pipeline(text)]

    return find


def contains(text: str, name: str) -> int:
    """How often a name occurs in a text as whole words, case and the width of white space aside."""
    return occurrences(fold(text), fold(name))


def occurrences(text: str, key: str) -> int:
    """How often a folded name occurs in a folded text; scripts without spaces have no borders of words."""
    found = text.count(key) if key else 0
    return len(_whole_word(key).findall(text)) if found and key.isascii() else found


@lru_cache(maxsize=8192)
def _whole_word(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(key)}(?!\w)")


def fold(text: str) -> str:
    """A name as names are compared: case and white space do not count."""
    return " ".join(text.split()).casefold()
