"""Base classes of both adapters' models: answers, JSON, margins, vectors, and their tokens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from structrag._locks import cached_property
from structrag.errors import InvalidParameter
from structrag.integrations.naming import (
    answer_counter,
    host_name,
    margin_model,
    reading_limit,
    token_reader,
)
from structrag.model_calls.requests import T, TokenVectors, adrive, drive
from structrag.model_calls.usage import CallTokens, counted
from structrag.models.margins import Masses, two_way_of_top
from structrag.text.tokens import TokenCounter

Vectors = list[list[float]]

# The most likely first tokens of an answer with their log-probabilities.
Top = Sequence[tuple[str, float]]

PARAMETERS: tuple[dict[str, Any], ...] = (
    {"logprobs": True, "top_logprobs": 20, "max_tokens": 1, "temperature": 0},
    {"logprobs": True, "top_logprobs": 20},  # for models that refuse one of the others
    {},  # a call that fails without parameters did not fail for them
)
# HTTP status codes that have nothing to do with parameters: who asks, how often, and who is down.
ELSEWHERE = {401, 402, 403, 407, 408, 409, 413, 421, 423, 425, 429, 502, 503, 504, 529}
_NETWORK = re.compile("Timeout|Connect|Network|Transport|RateLimit|Throttl")


@dataclass(slots=True)
class LogProbabilities:
    """Log-probabilities of one model object's answers (foundation, section 7).

    Which parameters the model takes is tried out once.

    Attributes:
        works: The number of the parameters in PARAMETERS that work; -1: none, None: not tried yet.
        masses: How much of the probability the options had together.
        normalised: Whether margins are (pA - pB) / (pA + pB); False: pA - pB.
        tokens: Takes the tokens of a call out of the model's answer, None where it tells none.
    """

    works: int | None = None
    normalised: bool = True
    tokens: Callable[[Any], CallTokens | None] = field(
        default=lambda _: None, repr=False
    )
    masses: Masses = field(default_factory=Masses)

    def flow(
        self, options: tuple[str, str], read: Callable[[Any], Top]
    ) -> Generator[Mapping[str, Any], Any, float | None]:
        """Yield the parameters of calls, and return the margin.

        Each yield is sent the model's answer, or the exception that it raised.

        `read` takes the log-probabilities out of an answer, [] if there are none. The margin is
        None for a model without them, and where neither option is among them. A call that failed
        for another reason than its parameters is raised, and decides nothing: a prompt that is too
        long is refused without any parameter too.
        """
        if self.works == -1:
            return None
        numbers = range(len(PARAMETERS)) if self.works is None else [self.works]
        for number in numbers:
            answer = yield PARAMETERS[number]
            if isinstance(answer, Exception):
                is_last = number + 1 == len(PARAMETERS)
                if self.works is None and _is_refusal(answer) and not is_last:
                    continue
                raise answer
            top = read(answer)
            # The model takes the parameters, and gives no log-probabilities.
            if not top:
                break
            self.works = number
            weighed = two_way_of_top(top, options, normalised=self.normalised)
            if weighed is None:
                return None
            self.masses.add(weighed.mass)
            return counted(weighed.margin, self.tokens(answer))
        if self.works is None:
            self.works = -1
        return None


@dataclass(slots=True)
class JsonAnswers:
    """Whether one model object can be held to a JSON schema.

    Servers of OpenAI's kind can.

    Attributes:
        takes: None: not tried yet.
    """

    takes: bool | None = None

    def flow(self, schema: Mapping[str, Any]) -> Generator[Mapping[str, Any], Any, Any]:
        """Yield the parameters of calls, and return the answer.

        Each yield is sent the model's answer, or the exception that it raised. A model that refuses
        the schema, and not the prompt without it, is not given one again.
        """
        if self.takes is not False:
            of_schema = {"name": "answer", "schema": dict(schema), "strict": True}
            answer = yield {
                "response_format": {"type": "json_schema", "json_schema": of_schema}
            }
            if not isinstance(answer, Exception):
                self.takes = True
                return answer
            if self.takes or not _is_refusal(answer):
                raise answer
        answer = yield {}
        if isinstance(answer, Exception):
            raise answer
        self.takes = False
        return answer


def tried(
    flow: Generator[Mapping[str, Any], Any, T],
    call: Callable[[Mapping[str, Any]], Any],
) -> T:
    """Run `flow`, trying the parameters that it yields by `call`, and return its result."""

    def answer(parameters: Mapping[str, Any]) -> Any:
        try:
            return call(parameters)
        except Exception as error:  # noqa: BLE001 - the steps judge it
            return error

    return drive(flow, answer)


async def atried(
    flow: Generator[Mapping[str, Any], Any, T],
    call: Callable[[Mapping[str, Any]], Awaitable[Any]],
) -> T:
    """`tried` by calls that are awaited."""

    async def answer(parameters: Mapping[str, Any]) -> Any:
        try:
            return await call(parameters)
        except Exception as error:  # noqa: BLE001 - as in `tried`
            return error

    return await adrive(flow, answer)


def _is_refusal(error: Exception) -> bool:
    """Whether a call may have failed for its parameters. Each provider says so in its own way, if
    at all, so whatever has no other reason counts."""
    status = _status_of(error)
    if status is not None:
        return status not in ELSEWHERE
    kinds = type(error).__mro__
    is_network = any(_NETWORK.search(kind.__name__) for kind in kinds)
    return not isinstance(error, OSError) and not is_network


def _status_of(error: Exception) -> int | None:
    """The HTTP status code that an error carries, as OpenAI's, Google's, Amazon's, aiohttp's,
    requests' and httpx's do; None without one."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, Mapping):
        response = response.get("ResponseMetadata")
        codes = [response.get("HTTPStatusCode") if response else None]
    else:
        codes = [getattr(response, "status_code", None)]
    codes += [getattr(error, name, None) for name in ("status_code", "code", "status")]
    for value in codes:
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return int(value)
    return None


class HostEmbedder:
    """An embedding model of a host framework as an embedder of structrag."""

    name: str
    max_tokens: int | None

    def __init__(
        self,
        model: Any,
        name: str,
        max_tokens: int | None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name or host_name(model, extra)
        self.max_tokens, self._counter = reading_limit(model, max_tokens)
        self._tokens = token_reader(model, self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def gives_tokens(self) -> bool:
        """Whether the model holds a SentenceTransformer that `embed_tokens` can ask."""
        return self._tokens is not None

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text, as in `SentenceTransformerEmbedder`. Raises
        InvalidParameter for a model that holds no SentenceTransformer."""
        if self._tokens is None:
            raise InvalidParameter(
                f"token_encoder must hold a SentenceTransformer with a fast tokenizer; got "
                f"{self.name!r}. Pass one, or its name or folder."
            )
        return self._tokens.embed_tokens(texts, query=query)

    def count_tokens(self, text: str) -> int:
        """The number of model tokens in a text, for windows; an estimate without the tokenizer."""
        return self._counter(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """One vector per text."""
        if query:
            return [self._query(text) for text in texts]
        return self._documents(list(texts))

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """`embed` by the model's own async calls."""
        if query:
            return list(await asyncio.gather(*map(self._aquery, texts)))
        return await self._adocuments(list(texts))

    def _documents(self, texts: list[str]) -> Vectors:
        raise NotImplementedError

    def _query(self, text: str) -> list[float]:
        raise NotImplementedError

    async def _adocuments(self, texts: list[str]) -> Vectors:
        raise NotImplementedError

    async def _aquery(self, text: str) -> list[float]:
        raise NotImplementedError


class HostModel:
    """A language model of a host framework as one of structrag.

    Each host defines how to send a prompt with some parameters, and how to read the text, the
    tokens and the log-probabilities of the first token from an answer.
    """

    name: str

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._weighing = LogProbabilities(tokens=self._tokens)
        self._json = JsonAnswers()
        self._weigher = margin_model(model)
        # by the model's own tokenizer; None where it has none at hand
        self.count_tokens: TokenCounter | None = answer_counter(model)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _ask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    async def _aask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    @staticmethod
    def _text(answer: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def _tokens(answer: Any) -> CallTokens | None:
        raise NotImplementedError

    @staticmethod
    def _top(answer: Any) -> Top:
        raise NotImplementedError

    def complete(self, prompt: str) -> str:
        """The answer's text."""
        return self._counted(self._ask(prompt, {}))

    async def acomplete(self, prompt: str) -> str:
        """`complete` by the model's own async call."""
        return self._counted(await self._aask(prompt, {}))

    def complete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The answer's text, constrained by a JSON schema. Models with OpenAI's API do so through
        `response_format`; others answer as in `complete`."""
        return self._counted(tried(self._json.flow(schema), partial(self._ask, prompt)))

    async def acomplete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """`complete_json` by the model's own async call."""
        answer = await atried(self._json.flow(schema), partial(self._aask, prompt))
        return self._counted(answer)

    def _counted(self, answer: Any) -> str:
        text: str = self._text(answer)
        return counted(text, self._tokens(answer))

    @cached_property
    def unnormalised(self) -> Any:
        """The same model with margins pA - pB, as IDMS prints them. Both count in `masses`."""
        if not self._weighing.normalised:
            return self
        other = copy(self)
        other.name = f"{self.name}|not normalised"
        other._weighing = replace(self._weighing, normalised=False)
        other._weigher = self._weigher and self._weigher.unnormalised
        return other

    @property
    def masses(self) -> Masses:
        """The total probability of the options of `choose` so far. Near 0, the model would rather
        give another answer, and its margins say little."""
        return (self._weigher or self._weighing).masses

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second.

        It is computed from the log-probabilities of the answer, or from the logits of a
        transformers model in this process; None for a model without them.
        """
        if self._weigher is not None:
            return self._weigher.choose(prompt, options)
        flow = self._weighing.flow(options, self._top)
        return tried(flow, partial(self._ask, prompt))

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """`choose` by the model's own async call."""
        if self._weigher is not None:
            return await asyncio.to_thread(self._weigher.choose, prompt, options)
        flow = self._weighing.flow(options, self._top)
        return await atried(flow, partial(self._aask, prompt))
