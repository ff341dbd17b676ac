"""What an application of a framework relies on around retrievers: the errors that it names, models
and stores that are only awaited, documents that a tool is limited to, texts that a service
takes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from frameworks import RETRIEVERS
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords
from llama_index_fakes import HashEmbedding, ListStore

from structrag.errors import InvalidParameter, ModelFailed

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Care\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is of brass.\n\n## Care\n\nOil the stem every week.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish every week.\n",
}
QUESTION = "What is done every week?"
each_retriever = pytest.mark.parametrize("name", RETRIEVERS)


class RateLimitError(Exception):
    """An error of a service's client, which takes more than a message."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Limited(BagOfWords):
    """Answers from the second question on."""

    model = "limited"
    left = 0

    def embed_query(self, text: str) -> list[float]:
        if Limited.left:
            Limited.left -= 1
            raise RateLimitError("429", status=429)
        return super().embed_query(text)


class LimitedEmbedding(HashEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return Limited().embed_query(query)[:64] and super()._get_query_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Awaited(BagOfWords):
    """A model that is only awaited."""

    model = "awaited"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("called")

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("called")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return BagOfWords().embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return BagOfWords().embed_query(text)


class AwaitedEmbedding(HashEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        raise AssertionError("called")

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("called")

    def _get_query_embedding(self, query: str) -> list[float]:
        raise AssertionError("called")


class AwaitedStore(InMemoryVectorStore):
    """A store whose client is only awaited."""

    def _refuse(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("This method must not be called in async mode.")

    add_documents = similarity_search_with_score = delete = get_by_ids = _refuse

    async def adelete(self, ids: Any = None, **options: Any) -> None:
        InMemoryVectorStore.delete(self, ids)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> Any:
        return InMemoryVectorStore.similarity_search_with_score(
            self, query, k, **options
        )


class AwaitedListStore(ListStore):
    def add(self, nodes: Any, **options: Any) -> Any:
        raise AssertionError("called")

    def delete(self, ref_doc_id: str, **options: Any) -> None:
        raise AssertionError("called")

    def query(self, query: Any, **options: Any) -> Any:
        raise AssertionError("called")

    async def async_add(self, nodes: Any, **options: Any) -> Any:
        return ListStore.add(self, nodes, **options)

    async def adelete(self, ref_doc_id: str, **options: Any) -> None:
        ListStore.delete(self, ref_doc_id, **options)

    async def aquery(self, query: Any, **options: Any) -> Any:
        return ListStore.query(self, query, **options)


class Utf8(BagOfWords):
    """A client that sends texts as UTF-8."""

    model = "utf8"

    def embed_query(self, text: str) -> list[float]:
        text.encode()
        return super().embed_query(text)


class Utf8Embedding(HashEmbedding):
    def _vector(self, text: str) -> list[float]:
        text.encode()
        return super()._vector(text)


MODELS = {
    "limited": (Limited, LimitedEmbedding),
    "awaited": (Awaited, AwaitedEmbedding),
    "utf8": (Utf8, Utf8Embedding),
}


def model(framework: Any, name: str) -> Any:
    return MODELS[name][framework.name == "llama_index"]()


def index(framework: Any, name: str, **options: Any) -> Any:
    documents = [
        framework.document(text, id, tenant="a" if id == "cats" else "b", year=year)
        for (id, text), year in zip(TEXTS.items(), (2020, 2021, 2021), strict=True)
    ]
    return framework.index(name, documents, **options)


def ids(passages: Any) -> set[str]:
    return {passage.doc_id for passage in passages}


def call(framework: Any, tool: Any, **arguments: Any) -> str:
    return str(framework.call(tool, **arguments)).lower()


async def acall(framework: Any, tool: Any, **arguments: Any) -> str:
    return str(await framework.acall(tool, **arguments)).lower()


# -- errors


@each_retriever
async def test_at_a_question_the_models_own_error_passes(
    framework: Any, name: str
) -> None:
    retriever = index(framework, name, embedding=model(framework, "limited"))
    asking = {
        "sync": lambda: framework.ask(retriever, QUESTION),
        "tool": lambda: call(
            framework, retriever.as_tool(name=f"tool_{name}"), query=QUESTION
        ),
    }
    for ask in asking.values():
        Limited.left = 1
        with pytest.raises(RateLimitError) as caught:
            ask()
        assert caught.value.status == 429
        assert "raised RateLimitError: 429" in "".join(
            getattr(caught.value, "__notes__", ["raised RateLimitError: 429"])
        )
        assert ask()
    Limited.left = 1
    with pytest.raises(RateLimitError):
        await framework.aask(retriever, QUESTION)


def test_while_documents_are_added_the_error_says_what_is_kept(framework: Any) -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise RateLimitError("429", status=429)

    with pytest.raises(ModelFailed, match="returned no retriever") as caught:
        index(framework, "MultiView", embedding=fail)
    assert isinstance(caught.value.__cause__, RateLimitError)


def test_an_error_without_a_model_behind_it_stays(framework: Any) -> None:
    chain = framework.self_ask(index(framework, "MultiView"), None)
    with pytest.raises(ModelFailed, match="needs a language model"):
        framework.answer(chain, QUESTION)


def test_results_that_are_shortened_raise_the_models_own_error(framework: Any) -> None:
    hosts = [framework.piece(text) for text in TEXTS.values()]
    Limited.left = 1
    with pytest.raises(RateLimitError):
        framework.shorten(hosts, QUESTION, embedding=model(framework, "limited"))


# -- only awaited


@each_retriever
async def test_a_model_that_is_only_awaited(framework: Any, name: str) -> None:
    documents = framework.documents(TEXTS)
    retriever = await framework.kind(name).afrom_documents(
        documents, embedding=model(framework, "awaited")
    )
    assert "pump" in ids(await framework.aask(retriever, "filter"))
    tool = retriever.as_tool(name=f"of_{name}")
    assert "pump" in await acall(framework, tool, query="Rinse the filter")


@pytest.mark.parametrize("name", ["MultiView", "HiQA"])
async def test_a_store_that_is_only_awaited(framework: Any, name: str) -> None:
    is_langchain = framework.name == "langchain"
    store = (
        AwaitedStore(BagOfWords())
        if is_langchain
        else AwaitedListStore(nodes={}, queries=[])
    )
    retriever = await framework.kind(name).afrom_documents(
        framework.documents(TEXTS), **framework.store(store)
    )
    n_entries = len(getattr(store, framework.kept))
    assert n_entries
    whales = framework.documents({"whales": "# Whales\n\nWhales sing in the sea.\n"})
    await framework.aadd(retriever, whales)
    assert "whales" in ids(await framework.aask(retriever, "Whales sing"))
    assert await retriever.adelete(["whales"])
    assert len(getattr(store, framework.kept)) == n_entries
    assert "whales" not in ids(await framework.aask(retriever, "Whales sing"))
    assert not await retriever.adelete("whales")


async def test_an_event_loop_goes_on_while_a_store_is_filled(framework: Any) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    store = framework.store()
    ticking = asyncio.create_task(tick())
    await framework.kind("MultiView").afrom_documents(
        framework.documents(TEXTS), **store
    )
    ticking.cancel()
    assert ticks > 3


async def test_results_are_shortened_by_a_model_that_is_only_awaited(
    framework: Any,
) -> None:
    hosts = [framework.piece(text) for text in TEXTS.values()]
    settings = {"embedding": model(framework, "awaited"), "max_tokens": 12}
    passages = await framework.ashorten(hosts, "Rinse the filter", **settings)
    assert any("Rinse the filter" in passage.text for passage in passages)


# -- limited to documents


@pytest.mark.parametrize("name", RETRIEVERS)
def test_one_tool_a_tenant_over_one_index(framework: Any, name: str) -> None:
    retriever = index(framework, name)
    a, b = (
        retriever.as_tool(name=f"{name}_{tenant}", where={"tenant": tenant})
        for tenant in "ab"
    )
    whole = call(framework, retriever.as_tool(name=f"{name}_whole"), query=QUESTION)
    of_a = call(framework, a, query=QUESTION)
    of_b = call(framework, b, query=QUESTION)
    assert "cats" in of_a and "pump" not in of_a and "valve" not in of_a
    assert "cats" not in of_b and "valve" in of_b
    assert "cats" in whole and "valve" in whole  # the retriever is as it was
    assert framework.about(a)[2] == ["query"]


@each_retriever
async def test_an_agent_may_limit_a_tool_further_and_never_less(
    framework: Any, name: str
) -> None:
    retriever = index(framework, name)
    tool = retriever.as_tool(
        name=f"limited_{name}", where={"tenant": "b"}, where_argument=True
    )
    assert framework.about(tool)[2] == ["query", "where"]
    limits = {"year": 2021}, {"tenant": ["a", "b"], "year": [2021]}
    for where in limits:
        answer = call(framework, tool, query=QUESTION, where=where)
        assert "valve" in answer and "pump" not in answer and "cats" not in answer
        assert await acall(framework, tool, query=QUESTION, where=where) == answer
    assert "nothing" in call(framework, tool, query=QUESTION, where={"tenant": "a"})
    for where in (None, {}):
        assert "pump" in call(framework, tool, query=QUESTION, where=where)


@pytest.mark.parametrize("name", [*RETRIEVERS, "SelfAsk"])
def test_a_retriever_keeps_its_condition(framework: Any, name: str) -> None:
    inner = "MultiView" if name == "SelfAsk" else name
    whole = index(framework, inner)
    where = {"tenant": "b"}
    limited = framework.over(inner, whole.index, where=where)
    if name == "SelfAsk":
        replies = iter(["Follow up: What is done every week?", "Oil", "Oil"])
        chain = framework.self_ask(limited, lambda prompt: next(replies, "Oil"))
        assert ids(framework.answer(chain, QUESTION)["evidence"]) <= {"pump", "valve"}
        return
    assert ids(framework.ask(limited, QUESTION)) == {"pump", "valve"}
    if framework.name == "langchain":  # which takes conditions at the call too
        later = framework.ask(limited, QUESTION, where=lambda meta: meta["year"] > 2020)
        assert ids(later) == {"valve"}
        assert framework.ask(limited, QUESTION, where={"tenant": "a"}) == []
    assert "cats" in ids(framework.ask(whole, QUESTION))
    if name == "D3":
        assert {hit.chunk.doc_id for hit in limited.result(QUESTION).hits} == {
            "pump",
            "valve",
        }


def test_a_tool_in_an_engine_is_limited_too(framework: Any, tmp_path: Any) -> None:
    store = {"store": f"lancedb:{tmp_path}/store"}
    retriever = index(framework, "MultiView", **store)
    where = {"where": {"tenant": "b"}, "where_argument": True}
    tool = retriever.as_tool(name="in_an_engine", **where)
    answer = call(framework, tool, query=QUESTION, where={"year": 2021})
    assert "valve" in answer and "pump" not in answer and "cats" not in answer
    assert "nothing" in call(framework, tool, query=QUESTION, where={"tenant": "a"})


def test_a_value_that_is_no_value_is_refused(framework: Any) -> None:
    retriever = index(framework, "MultiView")
    with pytest.raises(InvalidParameter, match="where must map keys"):
        framework.ask(retriever, QUESTION, where={"year": {"$gt": 2020}})


# -- as many as asked for


def test_evidence_that_a_model_names_is_at_most_k(framework: Any) -> None:
    def model_of(prompt: str) -> str:
        return " ".join(re.findall(r"\[(?:S?\d+[\d.]*|P\d+)\]", prompt)) or "1, 2, 3"

    documents = framework.documents(TEXTS)
    options = {"llm": framework.model(model_of)}
    n_all = len(framework.ask(framework.index("D3", documents, **options), QUESTION))
    assert n_all > 2
    for k in (1, 2):
        retriever = framework.index("D3", documents, **{framework.k_name: k}, **options)
        passages = framework.ask(retriever, QUESTION)
        assert len(passages) == k


# -- texts that a service takes

BROKEN = (
    "# Rep\ud835ort\n\nThe pump \udbff leaks.\n\n"
    "## Care \ud800\n\nRinse the filter \udc00 each week.\n"
)


@each_retriever
async def test_halves_of_surrogate_pairs_are_kept_and_not_sent(
    framework: Any, name: str, tmp_path: Any
) -> None:
    document = framework.document(BROKEN, "broken", title="x\udfff")
    embedding = model(framework, "utf8")
    llm = {"llm": framework.language_model(lambda prompt: prompt.encode() and "1")}
    options = llm if name in ("MultiView", "D3") else {}
    retriever = framework.index(name, [document], embedding=embedding, **options)
    question = "Rinse the filter \ud800"
    for passages in (
        framework.ask(retriever, question),
        await framework.aask(retriever, question),
    ):
        assert passages
        for passage in passages:
            assert BROKEN[passage.start : passage.end] in passage.text
    retriever.save(tmp_path / "saved")
    opened = framework.load_index(
        name, tmp_path / "saved", embedding=embedding, **options
    )
    assert framework.ask(opened, question)
    call(framework, retriever.as_tool(name=f"broken_{name}"), query=question).encode()


def test_a_store_gets_texts_that_it_can_send(framework: Any) -> None:
    options = framework.store()
    options[framework.embedding_name] = model(framework, "utf8")
    if framework.name == "langchain":
        options = framework.store(InMemoryVectorStore(model(framework, "utf8")))
    document = framework.document(BROKEN, "broken")
    retriever = framework.index("MultiView", [document], **options)
    assert framework.ask(retriever, "Rinse the filter \ud800")


# -- a model that nothing names


def test_another_model_in_a_slot_is_noticed(framework: Any, tmp_path: Any) -> None:
    base = type(framework.embedding())
    if framework.name == "llama_index":
        pytest.skip("its models are Pydantic's, which have no slots")

    class Slotted(base):
        __slots__ = ("m",)
        model = None

        def __init__(self, m: str) -> None:
            self.m = m

    index(framework, "MultiView", embedding=Slotted("old")).save(tmp_path / "saved")
    with pytest.raises(InvalidParameter, match=r"embed\w+ must be the one"):
        framework.load_index("MultiView", tmp_path / "saved", embedding=Slotted("new"))
    framework.load_index("MultiView", tmp_path / "saved", embedding=Slotted("old"))


@each_retriever
def test_a_model_that_nothing_names_is_told_when_an_index_is_opened(
    framework: Any, name: str, tmp_path: Any
) -> None:
    if framework.name == "llama_index":
        pytest.skip("its models have names")

    class Plain(BagOfWords):
        model = None

    index(framework, name, embedding=Plain()).save(tmp_path / "saved")
    with pytest.warns(UserWarning, match=r"Plain\(\)' does not name its model"):
        framework.load_index(name, tmp_path / "saved", embedding=Plain())


# -- a splitter's own models


@pytest.mark.parametrize("splitter", ["PIC", "IDMS"])
def test_a_splitter_in_a_retriever_has_no_models_of_its_own(
    framework: Any, splitter: str
) -> None:
    kind = framework.splitter_class(splitter)
    for models in ({"embedding": framework.embedding()}, {"llm": len}):
        with pytest.raises(InvalidParameter, match=r"must have no embed\w+ and no llm"):
            index(framework, "MultiView", splitter=kind(**models))
    assert index(framework, "MultiView", splitter=kind())
