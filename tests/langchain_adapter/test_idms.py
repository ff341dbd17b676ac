"""IDMSTextSplitter: the core's chunks with LangChain's models; margins from log-probabilities,
probed once."""

from __future__ import annotations

import math
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_structrag import LangChainModel


class Weigher(BaseChatModel):
    """Keeps, and reports log-probabilities as a provider does."""

    reported: dict[str, Any]

    @property
    def _llm_type(self) -> str:
        return "weigher"

    def _generate(self, *messages: Any, **kwargs: Any) -> ChatResult:
        message = AIMessage(content="2", response_metadata=self.reported)
        return ChatResult(generations=[ChatGeneration(message=message)])


TOP = [{"token": "2", "logprob": -0.1}, {"token": "1", "logprob": -2.4}]
TOKENS = [{**TOP[0], "top_logprobs": TOP}]
REPORTED = [
    {"logprobs": {"content": TOKENS}},
    {"logprobs": TOKENS},
    {"logprobs_result": TOKENS},
]


@pytest.mark.parametrize("reported", REPORTED, ids=["OpenAI", "a list", "Google"])
async def test_log_probabilities_are_read_as_providers_report_them(
    reported: Any,
) -> None:
    model = LangChainModel(Weigher(reported=reported))
    question = "Passage A:\nCats nap.\nPassage B:\nCats nap."
    assert model.choose(question, ("2", "1")) == pytest.approx(math.tanh(2.3 / 2))
    assert await model.achoose(question, ("1", "2")) == pytest.approx(
        -math.tanh(2.3 / 2)
    )
    assert model.choose(question, ("yes", "no")) is None
