"""What all retrievers of LlamaIndex share: scores that postprocessors can compare."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from llama_index.core import Document
from llama_index.core.postprocessor import (
    PrevNextNodePostprocessor,
    SimilarityPostprocessor,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
)
from llama_index_fakes import HashEmbedding, ListStore

from llama_index_structrag import (
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
    TwoHopRetriever,
)
from structrag.errors import SaveFailed

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is made of brass.\n\n## Care\n\nOil the stem of the valve yearly.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
QUESTION = "How often do I rinse the filter of the PX-20?"


def documents() -> list[Document]:
    return [Document(text=text, id_=name) for name, text in TEXTS.items()]


def first_two(prompt: str) -> str:
    return "1, 2"


NEW = Document(text="# Whales\n\nThe whale sings in the deep sea.\n", id_="whales")
CHANGED = Document(text="# Cats\n\nCats hunt mice at night.\n", id_="cats")
CASES: dict[str, tuple[Any, Callable[[], dict[str, Any]]]] = {
    "multiview": (MultiViewRetriever, lambda: {"embed_model": HashEmbedding()}),
    "multiview by lsa": (MultiViewRetriever, lambda: {"embed_model": "lsa"}),
    "multiview in a store": (
        MultiViewRetriever,
        lambda: {
            "embed_model": HashEmbedding(),
            "vector_store": ListStore(nodes={}, queries=[]),
        },
    ),
    "hiqa": (HiQARetriever, lambda: {"embed_model": HashEmbedding()}),
    "hiqa by lsa": (HiQARetriever, lambda: {"embed_model": "lsa"}),
    "hiqa in a store": (
        HiQARetriever,
        lambda: {
            "embed_model": HashEmbedding(),
            "vector_store": SimpleVectorStore(),
        },
    ),
    "d3": (D3Retriever, lambda: {"embed_model": HashEmbedding()}),
    "d3 with a model": (
        D3Retriever,
        lambda: {
            "embed_model": "lsa",
            "llm": first_two,
            "preset": "paper",
        },
    ),
    "evidence": (EvidenceRetriever, lambda: {"embed_model": HashTokens()}),
    "evidence by lsa": (EvidenceRetriever, lambda: {"embed_model": "lsa"}),
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
    same = kind.from_index(
        retriever.index, **{"preset": "paper"} if "preset" in chosen else {}
    )
    for question in (QUESTION, "brass valve", "nothing like it", ""):
        found = retriever.retrieve(question)
        assert found == await retriever.aretrieve(question)
        assert found == await awaited.aretrieve(question)
        assert "llm" in chosen or found == same.retrieve(question)
    assert retriever.add(documents()).unchanged == 3
    report = await retriever.aadd([NEW, CHANGED])
    assert (report.added, report.replaced) == (1, 1)
    retriever.save(tmp_path / "index")
    loaded = kind.load(tmp_path / "index", k=20, **chosen)
    texts = [one.text for one in loaded.retrieve("cats whale sea mice")]
    assert "fish" not in "".join(texts)
    assert loaded.add([*documents()[:2], NEW, CHANGED]).unchanged == 4
    loaded.delete("cats")
    loaded.save(tmp_path / "index")
    with pytest.raises(SaveFailed, match="changed by another"):
        retriever.save(tmp_path / "index")
    assert len(kind.load(tmp_path / "index", **chosen).index.document_ids) == 3
    assert retriever.delete("whales") and not retriever.delete(["whales", "cats"])
    assert retriever.delete("valve")
    assert retriever.index.document_ids == ["pump"]
    left = retriever.retrieve("whale cats valve water")
    assert {one.node.ref_doc_id for one in left} <= {"pump"}


def made(name: str) -> Any:
    options: dict[str, Any] = {"embed_model": HashEmbedding()}
    if name == "multiview":
        return MultiViewRetriever.from_documents(
            documents(), similarity_top_k=6, **options
        )
    if name == "hiqa":
        return HiQARetriever.from_documents(documents(), similarity_top_k=6, **options)
    if name == "d3":
        return D3Retriever.from_documents(documents(), **options)
    if name == "evidence of tokens":
        options = {"embed_model": HashTokens()}
    evidence = EvidenceRetriever.from_documents(
        documents(), similarity_top_k=6, **options
    )
    return TwoHopRetriever(evidence) if name == "two hops" else evidence


@pytest.mark.parametrize("name", ["multiview", "hiqa", "d3", "evidence"])
def test_nodes_know_what_stands_beside_them(name: str) -> None:
    retriever = made(name)
    (found,) = (
        one for one in retriever.retrieve(QUESTION) if "Rinse the filter" in one.text
    )
    assert found.node.next_node is None and found.node.prev_node is not None
    docstore = retriever.docstore()
    assert "It moves water." in docstore.get_node(found.node.prev_node.node_id).text
    postprocessor = PrevNextNodePostprocessor(
        docstore=docstore, num_nodes=1, mode="both"
    )
    around = postprocessor.postprocess_nodes([found])
    assert [node.node.ref_doc_id for node in around] == ["pump", "pump"]
    # The chain of each document goes through all of it.
    for node in docstore.docs.values():
        if node.prev_node is None:
            text = node.text
            while node.next_node is not None:
                assert (
                    docstore.get_node(node.next_node.node_id).prev_node.node_id
                    == node.node_id
                )
                node = docstore.get_node(node.next_node.node_id)
                text += node.text
            last_words = TEXTS[node.ref_doc_id].split()[-2:]
            assert set(last_words) <= set(text.split())


@pytest.mark.parametrize(
    "name", ["multiview", "hiqa", "d3", "evidence", "evidence of tokens", "two hops"]
)
def test_scores_are_from_0_to_1_so_that_a_cutoff_cuts(name: str) -> None:
    nodes = made(name).retrieve(QUESTION)
    scores = [node.score for node in nodes]
    assert len(nodes) > 1 and all(0 <= score <= 1 + 1e-12 for score in scores)
    if name not in {"d3", "two hops"}:  # which stand in reading order, and come in turn
        assert [round(score, 9) for score in scores] == [
            round(score, 9) for score in sorted(scores, reverse=True)
        ]
    best = max(nodes, key=lambda node: node.score)
    assert "Rinse the filter" in best.text
    least = (best.score + min(scores)) / 2
    kept = SimilarityPostprocessor(similarity_cutoff=least).postprocess_nodes(nodes)
    assert best in kept and len(kept) < len(nodes)


@pytest.mark.parametrize("name", ["multiview", "hiqa", "d3", "evidence"])
def test_a_document_deleted_while_it_is_found_is_left_out(name: str) -> None:
    retriever = made(name)
    hits = retriever.retriever.search(QUESTION)
    retriever.delete("pump")
    nodes = retriever.nodes_of(hits)
    assert [node.node.ref_doc_id for node in nodes] == [
        hit.chunk.doc_id for hit in hits if hit.chunk.doc_id != "pump"
    ]


def test_arguments_of_a_subclass_are_arguments_of_from_documents() -> None:
    class Loud(MultiViewRetriever):
        def __init__(
            self, index: Any, *, volume: float = 1.0, **arguments: Any
        ) -> None:
            super().__init__(index, **arguments)
            self.volume = volume

    retriever = Loud.from_documents(
        documents(), embed_model=HashEmbedding(), volume=2.0
    )
    assert retriever.volume == 2.0 and retriever.retrieve(QUESTION)


@pytest.mark.parametrize("operator", FilterOperator)
@pytest.mark.parametrize("store", [None, "lancedb"])
def test_every_filter_of_llama_index_is_understood(
    store: str | None, operator: FilterOperator, tmp_path: Path
) -> None:
    if store:
        pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    towns = {"Bonn": 4, "Kiel": 1, "Ulm": 3}
    found = [
        Document(text=f"# {town}\n\nThe rent is due.", id_=town, metadata={"rooms": n})
        for town, n in towns.items()
    ]
    value = [1] if operator.value in ("in", "nin", "any", "all") else 1
    known = MetadataFilter(key="rooms", operator=operator, value=value)
    never = MetadataFilter(key="rooms", value=7)
    any_of = MetadataFilters(filters=[known, never], condition=FilterCondition.OR)
    retriever = MultiViewRetriever.from_documents(
        found,
        embed_model=HashEmbedding(),
        filters=MetadataFilters(filters=[any_of]),
        **({"store": f"lancedb:{tmp_path / 'corpus'}"} if store else {}),
    )
    equal, others = {"Kiel"}, {"Bonn", "Ulm"}
    expected = {"==": equal, "in": equal, "any": equal, "all": equal, "contains": equal}
    expected |= {"!=": others, "nin": others, ">": others, ">=": {*towns}, "<=": equal}
    got = {node.node.ref_doc_id for node in retriever.retrieve("rent")}
    assert got == expected.get(operator.value, set())
