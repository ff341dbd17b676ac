"""The requests of algorithms to models, and the protocols of models that answer them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from structrag.text.arrays import Array, Int32Array

T = TypeVar("T")
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
    """A question with two options. Answered by a margin in [-1, 1], positive for the first option;
    or by None, or `Failed`."""

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
    of: str = "texts"  # what they are, as `progress` is told

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for requests whose texts can be embedded together."""
        return self.query, id(self.embedder), self.of


@dataclass(frozen=True, slots=True)
class EmbedTokens:
    """Texts to turn into vectors of their tokens. Answered by a list of one `TokenVectors` a text.
    Nothing is cached: the vectors of a text are a thousand times its size."""

    texts: tuple[str, ...]
    encoder: TokenEncoder = field(hash=False)
    query: bool = False  # with the model's query prompt instead of its document prompt
    of: ClassVar[str] = "passages"

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
    Higher is better; on which scale, the scorer decides."""

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
Flow = Generator[Sequence[Request], list[Any], T]


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
    """A model that turns texts into vectors, one row a text. On an event loop `aembed` with the
    same parameters is awaited where there is one; else `embed` runs in a worker thread."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any: ...


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text as its encoder sees it, token by token.

    Example:
        >>> import numpy as np
        >>> vectors = np.eye(2, dtype=np.float32)
        >>> spans = np.array([[0, 5], [6, 11]])
        >>> TokenVectors(np.array([7, 8]), spans, vectors, vectors.mean(axis=0)).ids
        array([7, 8])

    Special tokens such as [CLS] and a prompt in front are left out, so a blank text has none.
    """

    ids: Int32Array  # (n,) which token of the vocabulary
    # (n, 2) start and end of each, in characters of the text; ascending.
    spans: Int32Array
    vectors: Array  # (n, d) of the last layer, as the model gives them
    # (d,) of the text as a whole, in the space where it can be compared with sums of token vectors
    vector: Array


class TokenEncoder(Protocol):
    """An embedder that also returns the vectors of a text's tokens.

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
