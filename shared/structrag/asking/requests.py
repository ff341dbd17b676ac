"""What algorithms ask of models, who answers, and what it costs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.text.amounts import amount

T = TypeVar("T")
Array = NDArray[np.float32]
# (chunk id, or row of our own index; score), best first.
Ranking = list[tuple[str | int, float]]
Progress = Callable[[str, int, int], None]  # what is being done, done so far, total


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt for the language model. Answered by its text, or by `Failed`."""

    prompt: str
    # who asks and which version of the prompt, for the cache key and the counts
    component: str = ""
    use_cache: bool = True
    # who answers; None: the runner's own
    llm: LanguageModel | None = field(default=None, hash=False)
    # of an answer in JSON, for models that can be held to one; None: any text
    schema: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Choose:
    """A question with two options.

    Answered by a margin in [-1, 1], positive for the first option; or by None, or `Failed`.
    """

    prompt: str
    options: tuple[str, str]
    component: str = ""
    normalised: bool = True  # False: pA - pB by a model with an `unnormalised` form
    use_cache: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to turn into vectors. Answered by a float32 array of shape (len(texts), dimension)."""

    texts: tuple[str, ...]
    query: bool = False  # with the model's query prompt instead of its document prompt
    # None: the runner's own
    embedder: Embedder | None = field(default=None, hash=False)

    @property
    def kind(self) -> tuple[bool, object]:
        """Equal for requests whose texts can be embedded together."""
        return self.query, id(self.embedder)


@dataclass(frozen=True, slots=True)
class EmbedTokens:
    """Texts to turn into vectors of their tokens. Answered by a list of one `TokenVectors` a text.

    Nothing is cached: the vectors of a text are a thousand times its size.
    """

    texts: tuple[str, ...]
    encoder: TokenEncoder = field(hash=False)
    query: bool = False  # with the model's query prompt instead of its document prompt

    @property
    def kind(self) -> object:
        """Equal for requests whose texts can be read together."""
        return "tokens", self.query, id(self.encoder)


@dataclass(frozen=True, slots=True)
class Search:
    """A search on one named route. Answered by a Ranking of at most `n` chunks."""

    route: str
    query: str
    vector: Array | None
    n: int
    where: Any = None
    # who answers; None: the runner's own route of that name
    searcher: Route | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Score:
    """Texts to judge by their relevance to a query. Answered by a list of one finite float a text.

    Higher is better; on which scale, the scorer decides.
    """

    query: str
    texts: tuple[str, ...]
    scorer: Scorer = field(hash=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """Instead of an answer: the model raised. The algorithm falls back, or raises `reason`.

    Example:
        >>> print(Failed(TimeoutError("no answer")))
        TimeoutError: no answer
    """

    reason: Exception
    asked: bool = True  # False: no model was called, as there is none that can answer

    def __str__(self) -> str:
        """The reason on one line of at most about 200 characters."""
        message = shortened(str(self.reason))
        return (
            f"{type(self.reason).__name__}: {message}"
            if message
            else type(self.reason).__name__
        )


Request = Ask | Choose | Embed | EmbedTokens | Search | Score
Steps = Generator[Sequence[Request], list[Any], T]


class LanguageModel(Protocol):
    """A model that completes prompts.

    `name` goes into cache keys, so it must tell models and settings apart. On an event loop
    `acomplete(prompt)` is awaited where there is one; else `complete` runs in a worker thread.

    A model with `complete_many(prompts)` answers several at once: one answer a prompt, in their
    order. `acomplete_many` is its awaited form. A model with `complete_json(prompt, schema)` is
    asked by that for JSON; awaited: `acomplete_json`. One with a `summary_prompt` says itself how
    it is asked for a summary.
    """

    @property
    def name(self) -> str: ...

    def complete(self, prompt: str) -> str: ...


class Chooser(Protocol):
    """A language model that can also weigh two options.

    On an event loop `achoose` with the same parameters is awaited where there is one.

    A model with `choose_many(prompts, options)` weighs the same options after several prompts at
    once: one margin or None a prompt, in their order. `achoose_many` is its awaited form.
    """

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None: ...


class Embedder(Protocol):
    """A model that turns texts into vectors, one row a text.

    On an event loop `aembed` with the same parameters is awaited where there is one; else `embed`
    runs in a worker thread.
    """

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any: ...


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text as its encoder sees it, token by token.

    Example:
        >>> vectors = np.eye(2, dtype=np.float32)
        >>> spans = np.array([[0, 5], [6, 11]])
        >>> TokenVectors(np.array([7, 8]), spans, vectors, vectors.mean(axis=0)).ids
        array([7, 8])

    Special tokens such as [CLS] and a prompt in front are left out, so a blank text has none.
    """

    ids: NDArray[np.int32]  # (n,) which token of the vocabulary
    # (n, 2) start and end of each, in characters of the text; ascending.
    spans: NDArray[np.int32]
    vectors: Array  # (n, d) of the last layer, as the model gives them
    # (d,) of the text as a whole, in the space where it can be compared with sums of token vectors
    vector: Array


class TokenEncoder(Protocol):
    """An embedder that also gives the vectors of a text's tokens.

    They come of the pass that embeds the text. `name` must tell models and settings apart. A text
    longer than the model reads is read in parts. On an event loop `aembed_tokens` with the same
    parameters is awaited where there is one; else `embed_tokens` runs in a worker thread.
    """

    @property
    def name(self) -> str: ...

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> Sequence[TokenVectors]: ...


class Scorer(Protocol):
    """A model that judges how relevant texts are to a query.

    It gives one float a text. Where it has a `name`, which must tell models and settings apart, its
    scores are kept in the cache. On an event loop `ascore` with the same parameters is awaited
    where there is one; else `score` runs in a worker thread.
    """

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


class Route(Protocol):
    """Something that ranks chunks, here or in the host.

    That is an index of ours, or a store or retriever of the host. On an event loop
    `asearch(request)` is awaited where there is one; else `search` runs in a worker thread.
    """

    def search(self, request: Search) -> Ranking: ...


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a method of a caller's model."""

    who: str  # such as "embedder 'e5'", for errors
    model: Any
    method: str  # without the "a" of one that is awaited
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


# What is done with one model after another: it yields calls, and gets what each returned or raised.
Calls = Generator[ModelCall, Any, T]


async def acall(model: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Call a model's method on an event loop.

    The method of the same name with an "a" in front is awaited; a model without one is called in a
    worker thread.
    """
    awaitable = getattr(model, f"a{method}", None)
    if awaitable is not None:
        return await awaitable(*arguments, **options)
    return await asyncio.to_thread(
        called_in_thread, getattr(model, method), *arguments, **options
    )


def called_in_thread(
    function: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """The result of a call in a thread. StopIteration would never leave it."""
    try:
        return function(*arguments, **options)
    except StopIteration as stop:
        raise RuntimeError(f"raised StopIteration: {stop}") from stop


@dataclass(slots=True)
class Usage:
    """What a run has cost so far.

    Tokens of prompts and answers are those that the model's server or framework tells of a call;
    where it tells none, and of embedded texts, `structrag.text.tokens.count_tokens` estimates them.
    """

    calls: int = 0  # of the language model
    failed: int = 0  # of these calls
    prompt_tokens: int = 0
    answer_tokens: int = 0
    embedded: int = 0  # texts sent to the embedder
    embedding_tokens: int = 0
    scored: int = 0  # texts sent to a scorer
    cache_hits: int = 0  # answers, vectors and scores that cost nothing
    # What fell back -> how often.
    fallbacks: Counter[str] = field(default_factory=Counter)
    # What fell back -> why, the first time.
    reasons: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return {
            **counts,
            "fallbacks": dict(self.fallbacks),
            "reasons": dict(self.reasons),
        }

    def fell_back(self, counts: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        """Count what fell back; the first reason of each is kept."""
        self.fallbacks.update(counts)
        self.reasons = {**reasons, **self.reasons}

    def __add__(self, other: Usage) -> Usage:
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        reasons = {**other.reasons, **self.reasons}
        return Usage(
            **counts, fallbacks=self.fallbacks + other.fallbacks, reasons=reasons
        )

    def __str__(self) -> str:
        fell_back = fallbacks_line(self.fallbacks, self.reasons)
        parts = [
            calls_line(self.calls, self.prompt_tokens, self.answer_tokens),
            f"{self.failed:,} of the calls failed" if self.failed else "",
            f"{amount(self.embedded, 'text')} embedded, {amount(self.embedding_tokens, 'token')}",
            f"{amount(self.scored, 'text')} scored" if self.scored else "",
            amount(self.cache_hits, "cache hit"),
            f"fell back: {fell_back}" if fell_back else "",
        ]
        return "; ".join(filter(None, parts))


# the numbers of `Usage`
COUNTS = tuple(
    field.name for field in fields(Usage) if field.name not in {"fallbacks", "reasons"}
)


def fallbacks_line(counts: Mapping[str, int], reasons: Mapping[str, str]) -> str:
    """What fell back, how often and why, in words.

    Such as "keywords 2 (TimeoutError), summary 1 (...)"; "" for nothing.
    """
    parts = []
    for what, count in sorted(counts.items()):
        parts.append(
            f"{what} {count:,} ({reasons[what]})"
            if what in reasons
            else f"{what} {count:,}"
        )
    return ", ".join(parts)


def why_unusable(answer: str | Failed) -> str:
    """Why something fell back: the call's error, or an empty answer."""
    if isinstance(answer, Failed):
        return str(answer)
    return f"the answer cannot be used: {shortened(answer, 80)!r}"


def shortened(text: str, most: int = 200) -> str:
    """A text on one line, cut behind `most` characters."""
    # Far more than is shown: white space of a long answer is not all looked at.
    line = " ".join(text[: 20 * most].split())
    return line if len(line) <= most else f"{line[:most]}..."


def calls_line(calls: int, prompt_tokens: int, answer_tokens: int) -> str:
    """Calls of a language model in words.

    Such as "2 language-model calls, 1,200 tokens of prompts and 40 of answers".
    """
    return (
        f"{amount(calls, 'language-model call')}, {amount(prompt_tokens, 'token')} of "
        f"prompts and {answer_tokens:,} of answers"
    )
