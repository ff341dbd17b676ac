"""The views of chunks: raw text, summary and keywords. MC-indexing, section 3; by a language model
or without one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from structrag.chunks.divisions import has_body
from structrag.errors import InvalidParameter, check_at_least, check_template
from structrag.model_calls.answers import parse_answer
from structrag.model_calls.requests import Ask, Failed, Flow, why_unusable
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from structrag.text.extractive import keywords as extract_keywords
from structrag.text.extractive import section_frequencies
from structrag.text.extractive import summarise as extract_summary
from structrag.text.folding import fold
from structrag.text.heading_path import SEPARATOR
from structrag.text.terms import Tokenizer, tokenizer_for
from structrag.text.tokens import TokenCounter, count_tokens

VIEWS = ("raw", "summary", "keywords")

Plan = list[tuple[int, str]]  # (position of a chunk, which prompt of `Prompts`)

MERGED_PROMPT = """\
Below is one section of a document, under its title. Prepare it for a search engine.
Answer with one JSON object and nothing else:
{{"summary": "...", "keywords": ["...", "..."]}}
"summary": what the section says, in at most 10 sentences and 200 words, in the section's \
language; only what it states.
"keywords": the words and short phrases somebody would search for to find it: names, terms, \
codes, at most 25.

Title: {title}

Section:
{text}
"""

SUMMARY_PROMPT = """\
Summarise the following section in at most 10 sentences and 200 words, in its own language. \
State only what it states.

Title: {title}

Section:
{text}

Summary:"""

KEYWORDS_PROMPT = """\
List the keywords of the following section: names, terms, codes and short phrases somebody would \
search for, at most 25.
Answer with a JSON list of strings and nothing else.

Title: {title}

Section:
{text}

Keywords:"""


PAPER_SUMMARY_PROMPT = """\
You are a helpful summarization assistant. Please help me summarize the following section into no \
more than 10 sentences or 200 words.

Section Name: {title}

Section Text: {text}"""

PAPER_KEYWORDS_PROMPT = """\
You are a helpful keyword extractor. You need to extract keywords from the following section. The \
keywords should consist of concepts, entities, or important descriptions that are related to the \
section text, which could be used to answer any questions from users.

Section Name: {title}

Section Text: **Beginning of text** {text} **End of text**

Please output format in list format: [...]. Do not output anything else aside from this list."""


_KEYWORDS = {"type": "array", "items": {"type": "string"}}
# The JSON that our own prompts ask for, for models that can be held to a schema.
SCHEMAS: dict[str, dict[str, Any]] = {
    template: {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    for template, properties in (
        (MERGED_PROMPT, {"summary": {"type": "string"}, "keywords": _KEYWORDS}),
        (KEYWORDS_PROMPT, {"keywords": _KEYWORDS}),
    )
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts for views.

    Example:
        >>> from structrag import Index
        >>> index = Index(prompts=Prompts(summary="Summarise {text}"))

    Templates have the place {text} and may have {title}; other braces are doubled.
    """

    # Summary and keywords in one call, answered by a JSON object.
    merged: str = MERGED_PROMPT
    summary: str = SUMMARY_PROMPT
    keywords: str = KEYWORDS_PROMPT

    def __post_init__(self) -> None:
        for name in self.__slots__:
            label = f"The prompt {name!r}"
            check_template(label, getattr(self, name), ["text"], optional=["title"])

    @classmethod
    def paper(cls) -> Prompts:
        """Return the prompts of MC-indexing, figures 8 and 9, in two calls. They begin "You are a
        helpful summarization assistant ..."."""
        return cls(summary=PAPER_SUMMARY_PROMPT, keywords=PAPER_KEYWORDS_PROMPT)


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """How views are made.

    Attributes:
        names: Which views, of "raw", "summary" and "keywords".
        with_context: Whether the heading path stands in front of raw and summary (preset `paper`:
            not).
        heading: Without a path, whether a chunk counts with the heading line it begins with.
        merged: One language-model call a section instead of two.
        summary_min_tokens: A body of at most this many tokens is its own summary.
        use_llm: Whether the language model is asked at all.
        prompts: What it is asked.
        language: For the extractive defaults.
        invented_keywords: Whether a language model's keywords may be others than words of the
            section and its titles, or close to them (`NearWords`); else those are left out.
        whole_summaries: Whether a language model's summary stays as it is, also a refusal (preset
            `paper`); else one above 10 sentences or 200 words is shortened, and one longer than its
            text is none.
    """

    names: tuple[str, ...] = VIEWS
    with_context: bool = True
    heading: bool = False
    merged: bool = True
    summary_min_tokens: int = 200
    use_llm: bool = False
    prompts: Prompts = field(default_factory=Prompts)
    language: str = "english"
    invented_keywords: bool = False
    whole_summaries: bool = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.names if name not in VIEWS]
        if unknown or not self.names or len(set(self.names)) != len(self.names):
            raise InvalidParameter(
                f"views must be some of {', '.join(map(repr, VIEWS))}, each once; got "
                f"{self.names!r}."
            )
        check_at_least("summary_min_tokens", self.summary_min_tokens, 0)


@dataclass(frozen=True, slots=True)
class ViewTexts:
    """The index texts of a document's chunks, view by view.

    None stands where a chunk lacks a view.
    """

    texts: dict[str, tuple[str | None, ...]]
    fallbacks: Counter[str]  # what fell back to the extractive default -> how often
    reasons: dict[str, str]  # the same -> why, the first time
    failed: int  # how many of them fell back as a call failed


def view_flow(
    document: Document,
    chunks: Sequence[Chunk],
    settings: ViewSettings,
    stored: Mapping[Any, Mapping[str, str | None]] = MappingProxyType({}),
    *,
    counter: TokenCounter = count_tokens,
) -> Flow[ViewTexts]:
    """Make the views of a document's chunks.

    A language model is not asked for chunks whose views are `stored`, by their path, context and
    text. All other sections of the document are asked for at once. A call that fails, or an answer
    that cannot be used, falls back to the extractive default for that chunk and view, and is
    counted with its reason.
    """
    bodies = _bodies(document, chunks, settings)
    # The paper's sections have a name, and no place in a hierarchy (section 3.2).
    paths = [
        chunk.path if settings.with_context else chunk.path[-1:] for chunk in chunks
    ]
    titles = [SEPARATOR.join(path) or document.title for path in paths]
    long = [counter(body) > settings.summary_min_tokens for body in bodies]
    kept = [
        stored.get((chunk.path, chunk.context, chunk.text))
        if settings.use_llm
        else None
        for chunk in chunks
    ]
    plan = [step for step in _plan(settings, bodies, long) if kept[step[0]] is None]
    answers = yield from _answered(plan, titles, bodies, settings, counter)
    make: dict[str, Callable[[], tuple[str | None, ...]]] = {
        "raw": lambda: _raw(chunks, bodies, settings),
        "summary": lambda: _summaries(
            chunks, bodies, long, answers.summaries, settings
        ),
        "keywords": lambda: _keywords(chunks, bodies, answers.keywords, settings),
    }
    texts = {
        name: tuple(
            text if of is None else of[name]
            for text, of in zip(make[name](), kept, strict=True)
        )
        for name in settings.names
    }
    return ViewTexts(texts, answers.fallbacks, answers.reasons, answers.failed)


def _bodies(
    document: Document, chunks: Sequence[Chunk], settings: ViewSettings
) -> list[str]:
    """The texts of the chunks that views are made of."""
    if settings.heading and not settings.with_context:
        return [chunk.text for chunk in chunks]
    if settings.with_context or not any(chunk.path for chunk in chunks):
        return [chunk.body for chunk in chunks]
    sections, text = parse(document).sections, document.text
    starts = [section.start for section in sections]
    bodies = []
    for chunk in chunks:
        end = chunk.end
        # Headings without a text are at the end of a neighbour's chunk, so that no text is lost.
        for i in range(bisect_left(starts, end) - 1, 0, -1):
            if starts[i] < chunk.body_start or has_body(sections[i], text):
                break
            end = starts[i]
        own = text[chunk.body_start : end]
        bodies.append(own if own.strip() else chunk.body)
    return bodies


@dataclass(slots=True)
class _Answers:
    """The usable summaries and keywords, by position, and what fell back."""

    summaries: dict[int, str] = field(default_factory=dict)
    keywords: dict[int, list[str]] = field(default_factory=dict)
    fallbacks: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    failed: int = 0

    def take(
        self, i: int, kind: str, answer: str | Failed, summary: str, words: list[str]
    ) -> None:
        """Take what a chunk's answer gave, or count what will be extracted."""
        if summary:
            self.summaries[i] = summary
        elif kind != "keywords":
            self.fall_back("summary", answer)
        if words:
            self.keywords[i] = words
        elif kind != "summary":
            self.fall_back("keywords", answer)

    def fall_back(self, view: str, answer: str | Failed) -> None:
        """Count a view that will be extracted because the answer is unusable."""
        self.fallbacks[view] += 1
        self.reasons.setdefault(view, why_unusable(answer))
        self.failed += isinstance(answer, Failed)


def _answered(
    plan: Plan,
    titles: Sequence[str],
    bodies: Sequence[str],
    settings: ViewSettings,
    counter: TokenCounter,
) -> Flow[_Answers]:
    """Ask what is planned, and read the answers."""
    templates = {kind: getattr(settings.prompts, kind) for _, kind in plan}
    asks = [
        Ask(
            templates[kind].format(title=titles[i], text=bodies[i]),
            component=f"views.{kind}",
            schema=SCHEMAS.get(templates[kind]),
        )
        for i, kind in plan
    ]
    answers = (yield asks) if asks else []
    usable = _Answers()
    for (i, kind), answer in zip(plan, answers, strict=True):
        read = _read(kind, answer, titles[i], bodies[i], settings, counter)
        usable.take(i, kind, answer, *read)
    return usable


def _read(
    kind: str,
    answer: str | Failed,
    title: str,
    body: str,
    settings: ViewSettings,
    counter: TokenCounter,
) -> tuple[str, list[str]]:
    """The summary and keywords of an answer, empty where unusable."""
    summary, words = parse_answer(kind, answer, refusals=settings.whole_summaries)
    if not settings.whole_summaries:
        is_longer = counter(summary) > counter(body)  # than what it sums up
        summary = (
            "" if is_longer else extract_summary(summary, language=settings.language)
        )
    if words and not settings.invented_keywords:
        near = NearWords(f"{title}\n{body}", tokenizer_for(settings.language))
        words = [word for word in words if word in near]
    return summary, words


def _plan(settings: ViewSettings, bodies: Sequence[str], long: Sequence[bool]) -> Plan:
    """Which chunk is asked which prompt."""
    plan: Plan = []
    if not settings.use_llm:
        return plan
    for i, body in enumerate(bodies):
        summary = "summary" in settings.names and long[i]
        keywords = "keywords" in settings.names and bool(body.strip())
        if summary and keywords and settings.merged:
            plan.append((i, "merged"))
            continue
        plan += [(i, "summary")] * summary + [(i, "keywords")] * keywords
    return plan


def _raw(
    chunks: Sequence[Chunk], bodies: Sequence[str], settings: ViewSettings
) -> tuple[str | None, ...]:
    return (
        tuple(chunk.index_text for chunk in chunks)
        if settings.with_context
        else tuple(bodies)
    )


def _summaries(
    chunks: Sequence[Chunk],
    bodies: Sequence[str],
    long: Sequence[bool],
    summaries: dict[int, str],
    settings: ViewSettings,
) -> tuple[str | None, ...]:
    raw = _raw(chunks, bodies, settings)
    texts: list[str | None] = []
    for i, chunk in enumerate(chunks):
        if not long[i]:
            texts.append(raw[i])
            continue
        summary = summaries.get(i) or extract_summary(
            bodies[i], language=settings.language
        )
        # A body within the summary's limits is its own: equal texts are embedded once.
        if summary == bodies[i].strip():
            texts.append(raw[i])
            continue
        path = _heading_path(chunk) if settings.with_context else ""
        texts.append(f"{path}\n{summary}" if path else summary)
    return tuple(texts)


def _heading_path(chunk: Chunk) -> str:
    """The path that the context begins with, and the chunk's own title."""
    titles = [chunk.context.partition("\n")[0], *chunk.path[-1:]]
    return SEPARATOR.join(filter(None, titles))


def _keywords(
    chunks: Sequence[Chunk],
    bodies: Sequence[str],
    keywords: dict[int, list[str]],
    settings: ViewSettings,
) -> tuple[str | None, ...]:
    missing = [i for i in range(len(chunks)) if i not in keywords]
    frequency = section_frequencies(bodies) if missing else Counter[str]()
    texts: list[str | None] = []
    for i, chunk in enumerate(chunks):
        heading = chunk.path[-1] if chunk.path and settings.with_context else ""
        words = keywords.get(i) or extract_keywords(
            bodies[i],
            heading,
            document_frequency=frequency,
            n_sections=len(chunks),
            language=settings.language,
        )
        texts.append(", ".join(words) or None)
    return tuple(texts)


_LEAST = 4  # letters that two forms of one word have in common at their beginning
_SHARE = 0.7  # of the shorter form's letters


class NearWords:
    """The words of a text, for phrases that may be in it.

    Example:
        >>> near = NearWords("The valves are cleaned once a year.", Tokenizer())
        >>> "cleaning the valve" in near, "Valve" in near, "pump" in near
        (True, True, False)

    A word is close if it is in the text, also as a part of another word, or has its beginning: at
    least four letters and 70 % of the shorter word. Case and stop words do not count, the order and
    the place of words neither. A phrase is in the text if more than half of its words are.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._folded = fold(text)
        self._terms = frozenset(tokenizer(text))
        self._by_beginning: dict[str, list[str]] = {}
        for term in self._terms:
            self._by_beginning.setdefault(term[:_LEAST], []).append(term)

    def __contains__(self, phrase: str) -> bool:
        terms = self.tokenizer(phrase)
        if not terms:  # stop words or signs only
            return fold(phrase) in self._folded
        return sum(map(self._is_near, terms)) * 2 > len(terms)

    def _is_near(self, term: str) -> bool:
        if term in self._terms:
            return True
        if len(term) < _LEAST or not term.isalpha():
            return False
        if term in self._folded:
            return True
        return any(
            _alike(term, other) for other in self._by_beginning.get(term[:_LEAST], [])
        )


def _alike(one: str, other: str) -> bool:
    """Whether two words begin alike."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= _SHARE * shorter
