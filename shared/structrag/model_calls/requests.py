"""Requests of algorithms to models, the protocols of models that answer them, and flows: running
algorithms that ask to the end, together, or partly answered."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

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


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The end of an algorithm, in place of its next requests."""

    result: T


def advance(
    flow: Generator[R, Any, T], answers: Any, error: Exception | None = None
) -> R | Done[T]:
    """Send answers or raise an error; take requests or the end. The first answers are None."""
    try:
        return flow.send(answers) if error is None else flow.throw(error)
    except StopIteration as stop:
        return Done(stop.value)


def drive(flow: Generator[R, Any, T], answer: Callable[[R], Any]) -> T:
    """Run steps to their result; `answer` is called with what they yield.

    Example:
        >>> def one_question():
        ...     (answer,) = yield ["Is it so?"]
        ...     return answer.upper()
        >>> drive(one_question(), lambda requests: ["yes" for _ in requests])
        'YES'
    """
    turn = advance(flow, None)
    while not isinstance(turn, Done):
        turn = advance(flow, answer(turn))
    return turn.result


async def adrive(
    flow: Generator[R, Any, T], answer: Callable[[R], Awaitable[Any]]
) -> T:
    """`drive` on an event loop; the steps themselves run in worker threads."""
    turn: R | Done[T] = await in_thread(advance, flow, None)
    while not isinstance(turn, Done):
        turn = await in_thread(advance, flow, await answer(turn))
    return turn.result


async def in_thread(
    function: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """`asyncio.to_thread`, except that a cancelled caller waits until the thread has ended. So
    nothing that the thread reads changes under it, however often the caller is cancelled."""
    call = partial(contextvars.copy_context().run, function, *arguments, **options)
    # A future, no task: the end of `asyncio.run` cancels all tasks, and would not wait for this.
    work = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


def ask(request: Request) -> Flow[Any]:
    """The answer to one request.

    Example:
        >>> from structrag.model_calls.requests import Ask
        >>> def one_question():
        ...     answer = yield from ask(Ask("Is it so?"))
        ...     return answer.upper()
        >>> drive(one_question(), lambda requests: ["yes" for _ in requests])
        'YES'
    """
    return (yield [request])[0]


def gather(flow: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run steps side by side; the requests of one turn go together.

    Results are in the order of `flow`. The texts of a turn are one request, so that batches are
    full however short the documents.
    """
    return _side_by_side(flow, _merged)


def handle(flow: Flow[T], answer: Callable[[Request], Flow[Any]]) -> Flow[T]:
    """Answer each request of `flow` by steps of its own.

    What `answer(request)` returns is the answer. What it yields is asked outside, all of one turn
    together: to pass a request on, yield it alone and return the one answer.

    Example:
        >>> from structrag.model_calls.requests import Ask
        >>> def one_question():
        ...     return (yield [Ask("one"), Ask("two")])
        >>> def known_one(request):
        ...     if request.prompt == "one":
        ...         return "1"
        ...     return (yield from ask(request))
        >>> drive(handle(one_question(), known_one), lambda requests: ["?" for _ in requests])
        ['1', '?']
    """
    turn = advance(flow, None)
    while not isinstance(turn, Done):
        answers = yield from _side_by_side(
            [answer(request) for request in turn], _unchanged
        )
        turn = advance(flow, answers)
    return turn.result


def map_requests(flow: Flow[T], change: Callable[[Request], Request]) -> Flow[T]:
    """Run `flow` with each request changed before it goes out."""

    return handle(flow, lambda request: ask(change(request)))


def embedded_by(embedder: Any, flow: Flow[T]) -> Flow[T]:
    """Run `flow` with its texts embedded by this model, whoever runs it: one that is fitted to an
    index (LSA) is known to no runner. Requests that name a model keep it."""

    def change(request: Request) -> Request:
        is_open = isinstance(request, Embed) and request.embedder is None
        return replace(request, embedder=embedder) if is_open else request

    return map_requests(flow, change)


def memoised(flow: Flow[T]) -> Flow[T]:
    """Run `flow`, but answer repeated prompts and embedded texts from memory. Prompts that must not
    be cached are asked again."""
    answers: dict[Request, Any] = {}
    vectors: dict[tuple[object, str], Any] = {}

    def embed(request: Embed) -> Flow[Any]:
        new = [text for text in request.texts if (request.kind, text) not in vectors]
        if new:
            texts = tuple(dict.fromkeys(new))
            matrix = yield from ask(replace(request, texts=texts))
            keys = [(request.kind, text) for text in texts]
            vectors.update(zip(keys, matrix, strict=True))
        return _rows(vectors, request)

    def recall(request: Request) -> Flow[Any]:
        if isinstance(request, Embed):
            return (yield from embed(request))
        may_repeat = isinstance(request, Ask | Choose) and request.use_cache
        if may_repeat and request in answers:
            return answers[request]
        answer = yield from ask(request)
        if may_repeat:
            answers.setdefault(request, answer)
        return answer

    return handle(flow, recall)


def reuse_answers(flow: Flow[T], answers: dict[Request, Any]) -> Flow[T]:
    """Run `flow`, but take what the language model answered from `answers`. New answers are put
    there, failed calls are not."""

    def recall(request: Request) -> Flow[Any]:
        if not isinstance(request, Ask | Choose):
            return (yield from ask(request))
        if request in answers:
            return answers[request]
        answer = yield from ask(request)
        if request.use_cache and not isinstance(answer, Failed):
            answers[request] = answer
        return answer

    return handle(flow, recall)


def record_failures(flow: Flow[T], failures: list[Failed]) -> Flow[T]:
    """Run `flow`, and put each failed model call into `failures`."""

    def answer(request: Request) -> Flow[Any]:
        answer = yield from ask(request)
        if isinstance(answer, Failed) and answer.asked:
            failures.append(answer)
        return answer

    return handle(flow, answer)


Place = tuple[int, slice | None]  # of an answer: in which reply, in which rows of it
Join = Callable[[Sequence[Request]], tuple[Sequence[Request], list[Place]]]


def _side_by_side(flow: Sequence[Flow[T]], join: Join) -> Flow[list[T]]:
    """Run steps side by side; `join` makes the requests of each turn."""
    turns = [advance(one, None) for one in flow]
    while True:
        waiting = {
            i: turn for i, turn in enumerate(turns) if not isinstance(turn, Done)
        }
        if not waiting:
            break
        requests, places = join(
            [request for turn in waiting.values() for request in turn]
        )
        replies = yield requests
        answers = iter(
            [
                replies[number] if rows is None else replies[number][rows]
                for number, rows in places
            ]
        )
        for i, turn in waiting.items():
            turns[i] = advance(flow[i], list(islice(answers, len(turn))))
    return [turn.result for turn in turns if isinstance(turn, Done)]


def _unchanged(requests: Sequence[Request]) -> tuple[Sequence[Request], list[Place]]:
    return requests, [(i, None) for i in range(len(requests))]


def _merged(requests: Sequence[Request]) -> tuple[Sequence[Request], list[Place]]:
    """The requests, texts of one kind joined; where the answers will be."""
    merged: list[Request] = []
    texts: dict[object, list[str]] = {}
    numbers: dict[object, int] = {}  # kind -> its place in `merged`
    places: list[Place] = []
    for request in requests:
        if not isinstance(request, Embed | EmbedTokens):
            places.append((len(merged), None))
            merged.append(request)
            continue
        if request.kind not in texts:
            texts[request.kind], numbers[request.kind] = [], len(merged)
            merged.append(request)
        first = len(texts[request.kind])
        places.append((numbers[request.kind], slice(first, first + len(request.texts))))
        texts[request.kind] += request.texts
    for kind, number in numbers.items():
        embed = merged[number]
        if isinstance(embed, Embed | EmbedTokens):
            merged[number] = replace(embed, texts=tuple(texts[kind]))
    return merged, places


def _rows(vectors: Mapping[tuple[object, str], Any], request: Embed) -> Any:
    rows = [vectors[request.kind, text] for text in request.texts]
    return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
