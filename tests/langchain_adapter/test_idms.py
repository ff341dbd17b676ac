"""IDMSTextSplitter: the core's chunks with LangChain's models; margins from log-probabilities,
probed once."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_structrag import LangChainModel


class Weigher(BaseChatModel):
    """Answers "2", keep, with log-probabilities where both sides name the same animal. Records the
    parameters of its calls."""

    model: str = "weigher-1"
    # How the provider reports log-probabilities; "none": it does not.
    shape: str = "openai"
    refuses: str = ""  # a parameter that it does not take
    calls: list[Any] = []  # noqa: RUF012 - a field of pydantic
    asynchronous: int = 0

    @property
    def _llm_type(self) -> str:
        return "weigher"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.calls.append(kwargs)
        if self.refuses and self.refuses in kwargs:
            raise TypeError(f"unexpected keyword argument {self.refuses!r}")
        sides = str(messages[0].content).split("Passage A:\n")[-1].split("Passage B:\n")
        keep = (
            sides[0].split()[-2:][0] in sides[1]
            or sides[0].split(". ")[-1].split()[0] in sides[1]
        )
        content, metadata = "9" if keep else "1", {}
        if "logprobs" in kwargs and self.shape != "none":
            best, other = ("2", "1") if keep else ("1", "2")
            top = [{"token": best, "logprob": -0.1}, {"token": other, "logprob": -2.4}]
            token = {"token": best, "logprob": -0.1, "top_logprobs": top}
            metadata = {
                "openai": {"logprobs": {"content": [token]}},
                "list": {"logprobs": [token]},
                "google": {"logprobs_result": [token]},
            }[self.shape]
        return ChatResult(
            generations=[
                ChatGeneration(
                    message=AIMessage(content=content, response_metadata=metadata)
                )
            ]
        )

    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.asynchronous += 1
        await asyncio.sleep(0)
        return self._generate(messages, stop, None, **kwargs)


@pytest.mark.parametrize("shape", ["openai", "list", "google"])
async def test_log_probabilities_are_read_as_providers_report_them(shape: str) -> None:
    model = LangChainModel(Weigher(shape=shape, calls=[]))
    question = "Passage A:\nCats nap.\nPassage B:\nCats nap."
    assert model.choose(question, ("2", "1")) == pytest.approx(math.tanh(2.3 / 2))
    assert await model.achoose(question, ("1", "2")) == pytest.approx(
        -math.tanh(2.3 / 2)
    )
    assert model.choose(question, ("yes", "no")) is None
