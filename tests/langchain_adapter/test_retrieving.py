"""What all retrievers of LangChain share: scores that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doubles import HashTokens
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.context import collect_runs
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords

from langchain_structrag import (
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
    TwoHopRetriever,
)
from structrag.errors import InvalidParameter, UnknownArgument

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is made of brass.\n\n## Care\n\nOil the stem of the valve yearly.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
QUESTION = "How often do I rinse the filter of the PX-20?"


def documents() -> list[Document]:
    return [Document(text, id=name) for name, text in TEXTS.items()]


MODEL: Any = FakeListChatModel(responses=["1, 2"])
CASES: dict[str, tuple[Any, Callable[[], dict[str, Any]]]] = {
    "multiview": (MultiViewRetriever, lambda: {"embedding": BagOfWords()}),
    "multiview by lsa": (MultiViewRetriever, lambda: {"embedding": "lsa"}),
    "multiview in a store": (
        MultiViewRetriever,
        lambda: {"vectorstore": InMemoryVectorStore(BagOfWords())},
    ),
    "hiqa": (HiQARetriever, lambda: {"embedding": BagOfWords()}),
    "hiqa by lsa": (HiQARetriever, lambda: {"embedding": "lsa"}),
    "hiqa in a store": (
        HiQARetriever,
        lambda: {"vectorstore": InMemoryVectorStore(BagOfWords())},
    ),
    "d3": (D3Retriever, lambda: {"embedding": BagOfWords()}),
    "d3 by lsa": (D3Retriever, lambda: {"embedding": "lsa"}),
    "d3 with a model": (
        D3Retriever,
        lambda: {"embedding": "lsa", "llm": MODEL, "preset": "paper"},
    ),
    "evidence": (EvidenceRetriever, lambda: {"embedding": HashTokens()}),
    "evidence by lsa": (EvidenceRetriever, lambda: {"embedding": "lsa"}),
}


@pytest.mark.parametrize("case", ["multiview", "hiqa", "d3", "evidence"])
async def test_texts_have_their_metadata(case: str) -> None:
    kind, options = CASES[case]
    texts, metadatas = list(TEXTS.values()), [{"n": 1}, {"n": 2}, {"n": 3}]
    for retriever in (
        kind.from_texts(texts, metadatas=metadatas, **options()),
        await kind.afrom_texts(texts, metadatas=metadatas, **options()),
    ):
        found = retriever.invoke("Cats sleep all day", where={"n": 3})
        assert found and {one.metadata["n"] for one in found} == {3}
    with pytest.raises(InvalidParameter, match="metadatas"):
        kind.from_texts(texts, metadatas=[{}], **options())


def made(name: str) -> Any:
    if name == "multiview":
        return MultiViewRetriever.from_documents(documents(), BagOfWords(), k=6)
    if name == "hiqa":
        return HiQARetriever.from_documents(documents(), BagOfWords(), k=6)
    if name == "d3":
        return D3Retriever.from_documents(documents(), BagOfWords())
    model: Any = HashTokens() if name == "evidence of tokens" else BagOfWords()
    evidence = EvidenceRetriever.from_documents(documents(), model, k=6)
    return TwoHopRetriever(retriever=evidence) if name == "two hops" else evidence


@pytest.mark.parametrize("name", ["multiview", "hiqa", "d3", "evidence"])
def test_results_know_what_stands_beside_them(name: str) -> None:
    retriever = made(name)
    found = retriever.invoke(QUESTION)
    (result,) = (one for one in found if "Rinse the filter" in one.page_content)
    assert result.metadata["previous_id"] and result.metadata["next_id"] == ""
    before, itself = retriever.neighbours(result, before=1, after=3)
    assert itself is result and before.id == result.metadata["previous_id"]
    assert "It moves water." in before.page_content
    assert "Rinse the filter" in retriever.neighbours(before, before=2)[-1].page_content
    assert retriever.neighbours(result, 0, 0) == [result]
    with pytest.raises(InvalidParameter, match="must be a result of this retriever"):
        retriever.neighbours(Document("x"))


async def test_adding_documents_is_one_run() -> None:
    llm = FakeListChatModel(
        responses=['{"summary": "About it.", "keywords": ["word"]}']
    )
    with collect_runs() as collected:
        retriever = MultiViewRetriever.from_documents(
            documents(), BagOfWords(), llm=llm
        )
        await retriever.aadd_documents(
            [Document("# New\n\nA page of words.", id="new")]
        )
    assert [run.name for run in collected.traced_runs] == ["add_documents"] * 2
    assert all(run.child_runs for run in collected.traced_runs)


def test_fields_of_a_subclass_are_arguments_of_from_documents() -> None:
    class Loud(MultiViewRetriever):
        volume: float = 1.0

    assert Loud.from_documents(documents(), BagOfWords(), volume=2.0).volume == 2.0
    with pytest.raises(UnknownArgument, match="Did you mean 'volume'"):
        Loud.from_documents(documents(), BagOfWords(), volumes=2.0)
