"""What all retrievers of LangChain share: scores that can be compared."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.context import collect_runs
from langchain_fakes import BagOfWords

from langchain_structrag import (
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
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


each_kind = pytest.mark.parametrize(
    "kind", [MultiViewRetriever, HiQARetriever, D3Retriever, EvidenceRetriever]
)


@each_kind
async def test_texts_have_their_metadata(kind: Any) -> None:
    texts, metadatas = list(TEXTS.values()), [{"n": 1}, {"n": 2}, {"n": 3}]
    for retriever in (
        kind.from_texts(texts, metadatas=metadatas, embedding=BagOfWords()),
        await kind.afrom_texts(texts, metadatas=metadatas, embedding=BagOfWords()),
    ):
        found = retriever.invoke("Cats sleep all day", where={"n": 3})
        assert found and {one.metadata["n"] for one in found} == {3}
    with pytest.raises(InvalidParameter, match="metadatas"):
        kind.from_texts(texts, metadatas=[{}], embedding=BagOfWords())


@each_kind
def test_results_know_what_stands_beside_them(kind: Any) -> None:
    limit = {} if kind is D3Retriever else {"k": 6}
    retriever = kind.from_documents(documents(), BagOfWords(), **limit)
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
