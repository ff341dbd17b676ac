"""Log-probabilities from a host framework's model: which parameters it takes is tried out once
(foundation, section 7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.asking.steps import adrive, drive
from structrag.models.margins import two_way_of_top

Top = Sequence[
    tuple[str, float]
]  # the most likely first tokens of an answer with their log-probabilities

WANTED: tuple[dict[str, Any], ...] = (
    {"logprobs": True, "top_logprobs": 20, "max_tokens": 1, "temperature": 0},
    {"logprobs": True, "top_logprobs": 20},  # for models that refuse one of the others
)
REFUSED = {400, 404, 422}  # HTTP status codes for a parameter that is not known


@dataclass(slots=True)
class LogProbabilities:
    """What is known of one model object: the number of the parameters in WANTED that work, -1 for
    none, None before the first call."""

    works: int | None = None

    def steps(
        self, options: tuple[str, str], read: Callable[[Any], Top]
    ) -> Generator[Mapping[str, Any], Any, float | None]:
        """Yields the parameters of a call, receives the model's answer or what it raised; ends with
        the margin.

        `read` takes the log-probabilities out of an answer, [] if there are none. The margin is
        None for a model without them, and where neither option is among them. A call that failed
        for another reason than its parameters is raised, and decides nothing.
        """
        if self.works == -1:
            return None
        for number in range(len(WANTED)) if self.works is None else [self.works]:
            answer = yield WANTED[number]
            if isinstance(answer, Exception):
                if self.works is None and _is_refusal(answer):
                    continue
                raise answer
            top = read(answer)
            if top:
                self.works = number
                weighed = two_way_of_top(top, options)
                return None if weighed is None else weighed.margin
            break
        if self.works is None:
            self.works = -1
        return None

    def margin(
        self,
        options: tuple[str, str],
        read: Callable[[Any], Top],
        call: Callable[[Mapping[str, Any]], Any],
    ) -> float | None:
        """The margin as in `steps`, the model asked by `call(parameters)`."""

        def answer(parameters: Mapping[str, Any]) -> Any:
            try:
                return call(parameters)
            except Exception as error:  # noqa: BLE001 - the steps judge it
                return error

        return drive(self.steps(options, read), answer)

    async def amargin(
        self,
        options: tuple[str, str],
        read: Callable[[Any], Top],
        call: Callable[[Mapping[str, Any]], Awaitable[Any]],
    ) -> float | None:
        """`margin` with calls that are awaited."""

        async def answer(parameters: Mapping[str, Any]) -> Any:
            try:
                return await call(parameters)
            except Exception as error:  # noqa: BLE001 - as in `margin`
                return error

        return await adrive(self.steps(options, read), answer)


def _is_refusal(error: Exception) -> bool:
    return (
        isinstance(error, TypeError | ValueError | NotImplementedError)
        or getattr(error, "status_code", None) in REFUSED
    )
