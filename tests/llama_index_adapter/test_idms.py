"""IDMSNodeParser: the core's chunks with LlamaIndex's models; margins from log-probabilities,
probed once."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.base.llms.types import LogProb
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MockLLM,
)
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import IDMSNodeParser, LlamaIndexModel
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.integrations.splitters import defaults_of

TEXT = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n# "
    "Rain\n\nRain falls. Rain is wet.\n"
)
QUESTION = "Passage A:\nCats nap.\nPassage B:\nCats nap."


def count(text: str) -> list[str]:
    return text.split()


LOGPROBS = [[LogProb(token="2", logprob=-0.1), LogProb(token="1", logprob=-2.4)]]


class Weigher(ScriptedLLM):
    """Keeps, and tells log-probabilities."""

    is_chat: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="weigher", is_chat_model=self.is_chat)

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        return CompletionResponse(text="2", logprobs=LOGPROBS)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=ChatMessage(content="2"), logprobs=LOGPROBS)

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.async_calls += 1
        return self.chat(messages, **kwargs)


def parser(**settings: Any) -> IDMSNodeParser:
    return IDMSNodeParser(
        **{"embed_model": HashEmbedding(calls=[]), "tokenizer": count, **settings}
    )


@pytest.mark.parametrize("is_chat", [False, True])
async def test_log_probabilities_are_read(is_chat: bool) -> None:
    model = LlamaIndexModel(Weigher(is_chat=is_chat))
    assert model.choose(QUESTION, ("2", "1")) == pytest.approx(math.tanh(2.3 / 2))
    assert await model.achoose(QUESTION, ("1", "2")) == pytest.approx(
        -math.tanh(2.3 / 2)
    )
    assert model.choose(QUESTION, ("yes", "no")) is None
    assert model.llm.async_calls == 1


def test_settings_survive_and_tell_apart() -> None:
    made = parser(chunk_size=30, merge="none")
    again = IDMSNodeParser.from_dict(
        made.to_dict(), embed_model=HashEmbedding(), tokenizer=count
    )
    documents = [Document(text=TEXT, id_="d")]
    texts = [node.text for node in made.get_nodes_from_documents(documents)]
    assert [node.text for node in again.get_nodes_from_documents(documents)] == texts
    assert [
        node.text
        for node in pickle.loads(pickle.dumps(made)).get_nodes_from_documents(documents)
    ] == texts
    assert [
        node.text
        for node in IngestionPipeline(transformations=[made]).run(documents=documents)
    ] == texts
    assert (
        len(
            {
                str(parser(**change).to_dict())
                for change in ({}, {"warmup": 1}, {"context": "adjacent"})
            }
        )
        == 3
    )


def test_defaults_and_presets_are_those_of_the_core() -> None:
    skipped = {"counter", "max_tokens", "min_tokens", "plain_headings"}
    models: dict[str, Any] = {"embed_model": HashEmbedding(), "llm": MockLLM()}
    for parser, core in (
        (IDMSNodeParser(**models), IDMSSplitter()),
        (IDMSNodeParser.paper(**models), IDMSSplitter.paper()),
    ):
        made: Any = parser.core_splitter(parser.chunk_size, len)
        made = getattr(made, "splitter", made)  # within what enriches
        names = defaults_of(IDMSSplitter).keys() - skipped
        assert {name: getattr(made, name) for name in names} == {
            name: getattr(core, name) for name in names
        }
        assert parser.min_chunk_size == core.min_tokens
    assert IDMSNodeParser().chunk_size == IDMSSplitter().max_tokens
    assert (
        IDMSNodeParser().core_splitter(300, len).least_tokens
        == IDMSSplitter().least_tokens
    )


def test_one_warning_says_where_the_margins_of_all_documents_come_from() -> None:
    documents = [Document(text=f"{TEXT} Cat {i} naps.") for i in range(3)]
    documents += [Document(text=f"Cats nap. Rain {i} falls.") for i in range(3)]
    parser = IDMSNodeParser(llm=ScriptedLLM(answer="7"))
    with pytest.warns(UserWarning, match="no log-probabilities") as warned:
        parser.get_nodes_from_documents(documents)
    assert len(warned) == 1
