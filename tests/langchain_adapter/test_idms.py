"""IDMSTextSplitter: the core's chunks with LangChain's models; margins from log-probabilities,
probed once."""

from __future__ import annotations

import asyncio
import math
import pickle
import re
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from samples import sections_with_a_definition

from langchain_structrag import IDMSTextSplitter, LangChainModel
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.reading.files import read_text

TEXT = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n# "
    "Rain\n\nRain falls. Rain is wet.\n"
)


class Words(Embeddings):
    """A hashed bag of words."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = [1e-3] * 32
        for word in re.findall(r"\w+", text.lower()):
            vector[sum(map(ord, word)) % 32] += 1.0
        return vector


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


def margin(model: Any) -> float | None:
    return LangChainModel(model).choose(
        "Passage A:\nCats nap.\nPassage B:\nCats nap.", ("2", "1")
    )


@pytest.mark.parametrize("shape", ["openai", "list", "google"])
async def test_log_probabilities_are_read_as_providers_report_them(shape: str) -> None:
    model = LangChainModel(Weigher(shape=shape, calls=[]))
    question = "Passage A:\nCats nap.\nPassage B:\nCats nap."
    assert model.choose(question, ("2", "1")) == pytest.approx(math.tanh(2.3 / 2))
    assert await model.achoose(question, ("1", "2")) == pytest.approx(
        -math.tanh(2.3 / 2)
    )
    assert model.choose(question, ("yes", "no")) is None


def test_what_a_model_takes_is_tried_out_once() -> None:
    good, picky, without = (
        Weigher(calls=[]),
        Weigher(refuses="max_tokens", calls=[]),
        Weigher(shape="none", calls=[]),
    )
    for model, counts in ((good, (1, 2)), (picky, (2, 3)), (without, (1, 1))):
        adapted = LangChainModel(model)
        for count in counts:
            adapted.choose("Passage A:\nCats nap.\nPassage B:\nCats nap.", ("2", "1"))
            assert len(model.calls) == count
    assert good.calls[0] == {
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 1,
        "temperature": 0,
    }
    assert picky.calls[-1] == {"logprobs": True, "top_logprobs": 20}
    assert margin(Weigher(refuses="logprobs", calls=[])) is None
    assert LangChainModel(FakeListLLM(responses=["2"])).choose("q", ("2", "1")) is None


def test_chunks_are_those_of_the_core() -> None:
    made = IDMSTextSplitter(
        Words(), chunk_size=80, min_chunk_size=20, strip_whitespace=False
    ).create_documents([TEXT])
    document = read_text(TEXT)
    core = IDMSSplitter(max_tokens=80, min_tokens=20, heading_path=False, counter=len)
    chunks = core.split(document, embedder=lambda texts: Words().embed_documents(texts))
    assert [part.page_content for part in made] == [chunk.text for chunk in chunks]
    assert "".join(part.page_content for part in made) == TEXT
    for part, chunk in zip(made, chunks, strict=True):
        assert (
            TEXT[part.metadata["start_index"] : part.metadata["end_index"]]
            == part.page_content
        )
        assert part.metadata["idms_margin_source"] == "similarity"
        assert part.metadata["idms_margin"] == (chunk.extras["margin"] or 0.0)
        assert part.metadata["idms_degraded"] is False


def test_a_model_without_log_probabilities_is_said_aloud() -> None:
    with pytest.warns(UserWarning, match="ratings from 0 to 10"):
        IDMSTextSplitter(Words(), Weigher(shape="none", calls=[])).split_text(TEXT)


def test_it_pickles() -> None:
    splitter = IDMSTextSplitter(Words(), chunk_size=60)
    assert pickle.loads(pickle.dumps(splitter)).split_text(TEXT) == splitter.split_text(
        TEXT
    )
    model = LangChainModel(Weigher(calls=[]))
    assert pickle.loads(pickle.dumps(model)).name == model.name


ENRICHED = sections_with_a_definition()


def test_as_published_the_chunks_are_enriched() -> None:
    def answer(prompt: str) -> str:
        return "8" if "Rating:" in prompt else "nothing"

    settings: dict[str, Any] = {
        "margin": lambda pairs: [0.5] * len(pairs),
        "format": "markdown",
    }
    splitter = IDMSTextSplitter.paper(Words(), answer, **settings)
    assert all(
        part.metadata["idms_density"] >= 0
        for part in splitter.create_documents([ENRICHED])
    )
    assert splitter.core.enricher.density.rate
    assert not splitter.core.splitter.heading_path
    mine = IDMSTextSplitter.paper(
        Words(), answer, enrich=IDMSEnricher.paper(rounds=1), **settings
    )
    assert mine._add_context and not mine.core.splitter.heading_path
    assert mine.core.enricher.into_context and mine.core.enricher.rounds == 1
    apart = IDMSTextSplitter.paper(enrich=IDMSEnricher.paper(into_context=False))
    assert not apart.core.enricher.into_context
    assert not apart.indexing_core().splitter.heading_path
    assert IDMSTextSplitter(enrich="both").indexing_core().splitter.heading_path
    margins = IDMSTextSplitter.paper(Words(), answer, enrich="none", **settings)
    documents = margins.create_documents([ENRICHED])
    assert {document.metadata["idms_density"] for document in documents} == {0.0}
