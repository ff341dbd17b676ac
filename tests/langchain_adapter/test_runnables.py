"""Chains, models with fallbacks and other Runnables as language models: which are taken, what they
are called, what they share."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import (
    JsonOutputParser,
    PydanticOutputParser,
    StrOutputParser,
)
from langchain_core.prompts import (
    ChatPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import EMBEDDING, BagOfWords, Chat
from pydantic import BaseModel

import langchain_structrag
from langchain_structrag import EvidenceCompressor, LangChainModel
from langchain_structrag.hiqa import ImageDescriber
from langchain_structrag.models import as_language_model
from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Ask
from structrag.model_calls.runner import Runner

GOOD = FakeListChatModel(responses=["an answer"])
BAD = FakeListChatModel(responses=[])  # raises


class Answer(BaseModel):
    text: str


class Own(Runnable[str, str]):
    """A Runnable that is no Pydantic model."""

    def __init__(self, model: Any, ending: str = "") -> None:
        self.model = model
        self.ending = ending

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> str:
        return str(self.model.invoke(input, config).text) + self.ending


def echo(text: str) -> str:
    return text


TAKEN = {
    "fallbacks": BAD.with_fallbacks([GOOD]),
    "retried fallbacks": BAD.with_fallbacks([GOOD]).with_retry(),
    "bound": GOOD.bind(stop=["."]),
    "parsed": GOOD | StrOutputParser(),
    "prompted": ChatPromptTemplate.from_template("Answer: {question}") | GOOD,
    "prompted and bound": (
        PromptTemplate.from_template("Answer: {q}") | GOOD
    ).with_config(tags=["a"]),
    "partial prompt": PromptTemplate.from_template("{who} asks: {q}").partial(who="Ann")
    | GOOD,
    "passed": {"q": RunnablePassthrough()}
    | PromptTemplate.from_template("{q}")
    | GOOD
    | StrOutputParser(),
    "function": RunnableLambda(lambda text: "an answer"),
    "function that gives a message": RunnableLambda(
        lambda text: AIMessage(content="an answer")
    ),
    "configurable": GOOD.configurable_alternatives(
        ConfigurableField(id="model"), other=BAD
    ),
    "own class": Own(GOOD),
    "completion model": FakeListLLM(responses=["an answer"]).with_fallbacks([BAD]),
}


@pytest.mark.parametrize("kind", TAKEN)
async def test_runnables_from_string_to_string_or_message_are_taken(kind: str) -> None:
    model = as_language_model(TAKEN[kind])
    assert isinstance(model, LangChainModel)
    assert model.complete("question") == "an answer"
    assert await model.acomplete("question") == "an answer"


def gives_number(text: str) -> int:
    return len(text)


gives_number.__annotations__ = {"text": str, "return": int}

REFUSED = {
    "gives dict": {"a": GOOD},
    "gives Answer": GOOD | PydanticOutputParser(pydantic_object=Answer),
    "gives int": RunnableLambda(gives_number),
    "gives list": InMemoryVectorStore(EMBEDDING).as_retriever(),
    "gives ": PromptTemplate.from_template("{q}"),
    r"placeholders \['a', 'b'\]": PromptTemplate.from_template("{a} {b}") | GOOD,
    r"placeholders \[\]": PromptTemplate.from_template("text") | GOOD,
    r"placeholders \['history'\]": ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history")]
    )
    | GOOD,
    "takes dict": RunnablePassthrough.assign(q=RunnableLambda(echo))
    | RunnableLambda(lambda given: "text"),
}


@pytest.mark.parametrize("match", REFUSED)
def test_runnables_that_cannot_answer_are_refused(match: str) -> None:
    value: Any = REFUSED[match]
    model = RunnablePassthrough() | value if isinstance(value, dict) else value
    with pytest.raises(InvalidParameter, match=f"^model must be .*{match}"):
        LangChainModel(model)


def test_an_answer_of_another_type_is_a_failed_call() -> None:
    runner = Runner(
        llm=LangChainModel(
            FakeListChatModel(responses=['{"a": 1}']) | JsonOutputParser()
        )
    )

    def flow() -> Any:
        return (yield [Ask("q")])

    (answer,) = runner.run(flow())
    assert "must return a string; got dict" in str(answer.reason)


NAMED = {
    "fallbacks": Chat(model="a").with_fallbacks([Chat(model="b")]),
    "other fallbacks": Chat(model="a").with_fallbacks([Chat(model="c")]),
    "fallbacks the other way round": Chat(model="b").with_fallbacks([Chat(model="a")]),
    "warmer fallbacks": Chat(model="a").with_fallbacks(
        [Chat(model="b", temperature=0.9)]
    ),
    "bound fallbacks": Chat(model="a").with_fallbacks(
        [Chat(model="b").bind(temperature=0.7)]
    ),
    "fallbacks, then bound": Chat(model="a")
    .with_fallbacks([Chat(model="b")])
    .bind(temperature=0.7),
    "model": Chat(model="a"),
    "stop": Chat(model="a").bind(stop=["x"]),
    "other stop": Chat(model="a").bind(stop=["y"]),
    "tools": Chat(model="a").bind(
        tools=[{"type": "function", "function": {"name": "f"}}]
    ),
    "parsed": Chat(model="a") | StrOutputParser(),
    "prompted": PromptTemplate.from_template("Hi {q}") | Chat(model="a"),
    "prompted otherwise": PromptTemplate.from_template("Ho {q}") | Chat(model="a"),
    "chat prompt": ChatPromptTemplate.from_messages(
        [("system", "Be brief."), ("user", "{q}")]
    )
    | Chat(model="a"),
    "other system": ChatPromptTemplate.from_messages(
        [("system", "Be long."), ("user", "{q}")]
    )
    | Chat(model="a"),
    "partial": PromptTemplate.from_template("{w} {q}").partial(w="a") | Chat(model="a"),
    "other partial": PromptTemplate.from_template("{w} {q}").partial(w="b")
    | Chat(model="a"),
    "passed": {"q": RunnablePassthrough()}
    | PromptTemplate.from_template("Hi {q}")
    | Chat(model="a"),
    "middle": Chat(model="a") | StrOutputParser() | Chat(model="b") | StrOutputParser(),
    "other middle": Chat(model="a")
    | StrOutputParser()
    | Chat(model="c")
    | StrOutputParser(),
    "alternatives": Chat(model="a").configurable_alternatives(
        ConfigurableField(id="m"), b=Chat(model="b")
    ),
    "chosen": Chat(model="a")
    .configurable_alternatives(ConfigurableField(id="m"), b=Chat(model="b"))
    .with_config(configurable={"m": "b"}),
    "responses": FakeListChatModel(responses=["a"]),
    "other responses": FakeListChatModel(responses=["b"]),
    "own": Own(Chat(model="a")),
    "own with an ending": Own(Chat(model="a"), "."),
    "own with another model": Own(Chat(model="b")),
}


def test_chains_are_told_apart_by_all_their_parts() -> None:
    names = {kind: LangChainModel(model).name for kind, model in NAMED.items()}  # type: ignore[arg-type]
    assert len(set(names.values())) == len(names), sorted(
        names.items(), key=lambda pair: pair[1]
    )
    hidden = ("secret", "Be brief", "#unnamed")
    assert not any(part in name for name in names.values() for part in hidden)


async def test_plain_strings_are_not_asked_for_log_probabilities() -> None:
    asked: list[Any] = []

    class Counted(Chat):
        def _generate(
            self,
            messages: list[BaseMessage],
            stop: Any = None,
            run_manager: Any = None,
            **kw: Any,
        ) -> Any:
            asked.append(kw)
            return super()._generate(messages, stop, run_manager, **kw)

    chain = LangChainModel(Counted() | StrOutputParser())
    assert chain.choose("keep or split?", ("keep", "split")) is None
    assert await chain.achoose("keep or split?", ("keep", "split")) is None
    assert asked == []


def test_what_describes_images_may_have_fallbacks() -> None:
    describer = ImageDescriber(
        BAD.with_fallbacks([Chat(model="sees", content="A cat.")])
    )
    assert describer("https://example.org/cat.png") == "A cat."
    other = ImageDescriber(BAD.with_fallbacks([Chat(model="sees more")]))
    assert describer.name != other.name
    assert describer.name == ImageDescriber(describer.model).name


def _ask() -> Any:
    (answer,) = yield [Ask("q")]
    return answer


class RateLimited(Exception):
    """An error of a service."""


class Busy(BagOfWords):
    """Answers from the third question on."""

    model = "busy"
    left = 0

    def embed_query(self, text: str) -> list[float]:
        if Busy.left:
            Busy.left -= 1
            raise RateLimited("429")
        return super().embed_query(text)


@pytest.mark.parametrize("name", ["MultiView", "HiQA", "D3", "Evidence"])
async def test_retries_and_fallbacks_know_the_models_own_error(name: str) -> None:
    classic = pytest.importorskip("langchain_classic.retrievers")
    kind = getattr(langchain_structrag, f"{name}Retriever")
    retriever = kind.from_texts(["# Pump\n\nIt leaks."], Busy())
    shortened = classic.ContextualCompressionRetriever(
        base_retriever=retriever, base_compressor=EvidenceCompressor(embedding=Busy())
    )
    for one in (retriever, shortened):
        retried = one.with_retry(
            retry_if_exception_type=(RateLimited,),
            wait_exponential_jitter=False,
            stop_after_attempt=4,
        )
        fallen = one.with_fallbacks(
            [RunnableLambda(lambda question: "other")],
            exceptions_to_handle=(RateLimited,),
        )
        Busy.left = 2
        assert retried.invoke("leaks")[0].page_content
        Busy.left = 2
        assert (await retried.ainvoke("leaks"))[0].page_content
        Busy.left = 1
        assert fallen.invoke("leaks") == "other"
