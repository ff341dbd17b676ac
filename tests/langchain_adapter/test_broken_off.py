"""A retriever whose making is broken off: what the error says is kept is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_fakes import BagOfWords

from langchain_structrag import D3Retriever, HiQARetriever, MultiViewRetriever
from structrag.errors import BudgetExceeded, InvalidAnswer, ModelFailed, StructragError

DOCUMENTS = [
    Document("# T\n\n" + f"Word{i} says much. " * 80, id=str(i)) for i in range(3)
]
MODEL = FakeListChatModel(
    responses=['{"summary": "A summary.", "keywords": ["zebra"]}']
)
PARTS = [
    r"from_documents returned no retriever",
    r"from_documents\(\[\], \.\.\.\)",
    "add_documents",
]


class Failing(BagOfWords):
    answer: Any = None

    def embed_documents(self, texts: list[str]) -> Any:
        if self.answer is None:
            raise ConnectionError("no network")
        return self.answer


def making(kind: str, **options: Any) -> Any:
    """A call that is broken off."""
    if kind == "budget":
        return MultiViewRetriever.from_documents(
            DOCUMENTS, llm=MODEL, max_calls=1, **options
        )
    if kind == "model":
        return HiQARetriever.from_documents(DOCUMENTS, Failing(), **options)
    if kind == "d3":
        return D3Retriever.from_documents(DOCUMENTS, Failing(), **options)
    embedding = Failing()
    embedding.answer = [[float("nan")]]
    return MultiViewRetriever.from_texts(
        [DOCUMENTS[0].page_content], embedding, views=["raw"], **options
    )


KINDS = {
    "budget": BudgetExceeded,
    "model": ModelFailed,
    "d3": ModelFailed,
    "answer": InvalidAnswer,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_says_what_is_kept_and_how_to_go_on(
    kind: str, tmp_path: Path
) -> None:
    with pytest.raises(KINDS[kind]) as bare:
        making(kind)
    with pytest.raises(KINDS[kind]) as cached:
        making(kind, cache=tmp_path / "calls.sqlite")
    for error in (bare, cached):
        for part in PARTS:
            error.match(part)
    bare.match("nothing is kept, because this call")
    cached.match("only the cache is kept")
    if KINDS[kind] is ModelFailed:
        assert isinstance(bare.value.__cause__, ConnectionError)
        bare.match(r"raised ConnectionError: no network\. But from_documents returned")


async def test_the_same_on_an_event_loop() -> None:
    with pytest.raises(
        ModelFailed, match=r"afrom_documents returned no retriever.*aadd_documents"
    ):
        await MultiViewRetriever.afrom_documents(DOCUMENTS, Failing())


def test_going_on_by_the_cache(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "llm": MODEL,
        "cache": tmp_path / "calls.sqlite",
        "max_concurrency": 1,
    }
    with pytest.raises(StructragError):
        MultiViewRetriever.from_documents(DOCUMENTS, max_calls=2, **options)
    usage = MultiViewRetriever.from_documents(DOCUMENTS, **options).index.usage
    assert (usage.calls, usage.cache_hits) == (4, 2)


def test_going_on_with_an_empty_retriever() -> None:
    retriever = MultiViewRetriever.from_documents([], llm=MODEL, max_calls=5)
    with pytest.raises(BudgetExceeded) as error:
        for document in DOCUMENTS:
            retriever.add_documents([document])
    assert "no retriever" not in str(error.value)
    assert retriever.index.document_ids == ["0", "1"]


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="views") as error:
        MultiViewRetriever.from_documents(DOCUMENTS, views=["title"])
    assert "no retriever" not in str(error.value)
