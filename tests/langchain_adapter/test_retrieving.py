"""What all retrievers of LangChain share: scores that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.context import collect_runs
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords, facts

from langchain_structrag import (
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
    TwoHopRetriever,
)
from structrag.errors import InvalidParameter, SaveFailed, UnknownArgument

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is made of brass.\n\n## Care\n\nOil the stem of the valve yearly.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
QUESTION = "How often do I rinse the filter of the PX-20?"


def documents() -> list[Document]:
    return [Document(text, id=name) for name, text in TEXTS.items()]


NEW = Document("# Whales\n\nThe whale sings in the deep sea.\n", id="whales")
CHANGED = Document("# Cats\n\nCats hunt mice at night.\n", id="cats")
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


@pytest.mark.parametrize("case", CASES)
async def test_documents_come_change_and_go_and_are_saved(
    case: str, tmp_path: Path
) -> None:
    kind, options = CASES[case]
    chosen = options()
    said = pytest.warns(UserWarning, match="could not be used, .*: chunks 6")
    with said if "llm" in chosen else nullcontext():
        retriever = kind.from_documents(documents(), **chosen)
        awaited = await kind.afrom_documents(documents(), **options())
    for question in (QUESTION, "brass valve", "nothing like it", " "):
        found = facts(retriever.invoke(question))
        assert found == facts(await retriever.ainvoke(question))
        assert found == facts(await awaited.ainvoke(question))
        assert found == facts((await retriever.abatch([question] * 2))[1])
    assert retriever.add_documents(documents()).unchanged == 3
    report = await retriever.aadd_documents([NEW, CHANGED])
    assert (report.added, report.replaced) == (1, 1)
    texts = [one.page_content for one in retriever.invoke("cats whale sea mice", k=20)]
    assert "fish" not in "".join(texts)
    retriever.save(tmp_path / "index")
    loaded = kind.load(tmp_path / "index", **chosen)
    assert facts(loaded.invoke("whale")) == facts(retriever.invoke("whale"))
    assert loaded.add_documents([*documents()[:2], NEW, CHANGED]).unchanged == 4
    loaded.delete("cats")
    loaded.save(tmp_path / "index")
    with pytest.raises(SaveFailed, match="changed by another"):
        retriever.save(tmp_path / "index")
    assert len(kind.load(tmp_path / "index", **chosen).index.document_ids) == 3
    assert retriever.delete("whales") and not retriever.delete(["whales", "cats"])
    assert await retriever.adelete("valve")
    assert retriever.index.document_ids == ["pump"]
    left = retriever.invoke("whale cats valve water", k=20)
    assert {one.metadata["doc_id"] for one in left} <= {"pump"}


@pytest.mark.parametrize("case", ["multiview", "hiqa", "d3", "evidence"])
def test_parts_of_one_source_come_in_batches_and_none_is_lost(case: str) -> None:
    kind, options = CASES[case]
    facts = {"source": "talk.vtt", "category": "NarrativeText"}
    parts = [Document(f"Part {i} costs {i} euro.", metadata=facts) for i in range(7)]
    retriever = kind.from_documents([], **options())
    for some in (parts[:3], parts[3:6], parts[6:], parts[2:5]):
        report = retriever.add_documents(some)
    assert len(retriever.index.document_ids) == 7 and report.unchanged == 3
    by_place = [
        Document(part.page_content, metadata={**facts, "start_seconds": 30 * i})
        for i, part in enumerate(parts)
    ]
    retriever = kind.from_documents([], **options())
    for part in by_place:
        retriever.add_documents([part])
    changed = by_place[0].model_copy(update={"page_content": "It costs nothing."})
    assert retriever.add_documents([changed]).replaced == 1
    assert len(retriever.index.document_ids) == 7


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


@pytest.mark.parametrize(
    "name", ["multiview", "hiqa", "d3", "evidence", "evidence of tokens", "two hops"]
)
def test_scores_are_from_0_to_1(name: str) -> None:
    found = made(name).invoke(QUESTION)
    by_rank = sorted(found, key=lambda document: document.metadata["rank"])
    scores = [document.metadata["score"] for document in by_rank]
    assert len(found) > 1 and all(0 <= score <= 1 + 1e-12 for score in scores)
    if name != "two hops":  # whose hits come in turn
        assert [round(score, 9) for score in scores] == [
            round(score, 9) for score in sorted(scores, reverse=True)
        ]
    assert "Rinse the filter" in by_rank[0].page_content


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


@pytest.mark.parametrize("name", ["multiview", "hiqa", "d3", "evidence"])
async def test_a_document_deleted_while_it_is_found_is_left_out(
    name: str, monkeypatch
) -> None:
    retriever = made(name)
    core = retriever._core()
    search, asearch = core.search, core.asearch

    def search_then_delete(*args: Any, **options: Any) -> Any:
        hits = search(*args, **options)
        retriever.delete("pump")
        return hits

    async def asearch_then_delete(*args: Any, **options: Any) -> Any:
        hits = await asearch(*args, **options)
        retriever.delete("pump")
        return hits

    monkeypatch.setattr(
        type(core), "search", lambda self, *a, **o: search_then_delete(*a, **o)
    )
    monkeypatch.setattr(
        type(core), "asearch", lambda self, *a, **o: asearch_then_delete(*a, **o)
    )
    found = retriever.invoke(QUESTION)
    assert "pump" not in {document.metadata["doc_id"] for document in found}
    retriever.add_documents(documents()[:1])
    found = await retriever.ainvoke(QUESTION)
    assert "pump" not in {document.metadata["doc_id"] for document in found}


def test_fields_of_a_subclass_are_arguments_of_from_documents() -> None:
    class Loud(MultiViewRetriever):
        volume: float = 1.0

    assert Loud.from_documents(documents(), BagOfWords(), volume=2.0).volume == 2.0
    with pytest.raises(UnknownArgument, match="Did you mean 'volume'"):
        Loud.from_documents(documents(), BagOfWords(), volumes=2.0)


@pytest.mark.parametrize("start", ["5", None, 0])
def test_a_place_that_is_no_number_makes_no_chunk_of_a_document(start: Any) -> None:
    document = Document("# Pump\n\nIt moves water.", metadata={"start_index": start})
    assert MultiViewRetriever.from_documents([document], BagOfWords()).invoke("water")


@pytest.mark.parametrize("as_list", [True, False])
def test_documents_are_deleted_by_their_ids(as_list: bool) -> None:
    document = Document("# Pump\n\n" + "It pumps. " * 500, id="pump")
    retriever = MultiViewRetriever.from_documents([document])
    wrong: Any = [document] if as_list else document
    with pytest.raises(InvalidParameter, match="got Document") as told:
        retriever.delete(wrong)
    assert len(str(told.value)) < 200 and retriever.index.document_ids == ["pump"]


def test_strings_in_the_place_of_documents_are_told_of_from_texts() -> None:
    wrong: Any = ["# Pump"]
    with pytest.raises(InvalidParameter, match="For strings use"):
        MultiViewRetriever.from_documents(wrong)


def test_one_document_is_to_be_put_in_a_list() -> None:
    with pytest.raises(
        InvalidParameter, match=r"got one Document\. Put it in a list\."
    ):
        MultiViewRetriever.from_documents(documents()[0], BagOfWords())  # type: ignore[arg-type]
