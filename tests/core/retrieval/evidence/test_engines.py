"""The same evidence in every store, and what an engine adds: writers, tenants, what may be lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doubles import HashEmbedder, HashTokens
from engine_making import ENGINES, address_in

from structrag import EvidenceRetriever, read_text
from structrag.errors import IndexDamaged, InvalidParameter
from structrag.records import Document, Hit
from structrag.retrieval.evidence.level import FOUND

WHERE: list[Any] = [None, {"half": 1}, {"doc_id": ["d2", "d3"]}]
QUESTIONS = ["Valve 3.7", "Is valve 7.2 kept in room r5?", "kept 12 days"]


def document(number: int, parts: int = 13) -> Document:
    """A document of several pieces."""
    text = "\n\n".join(
        f"# Valve {number}.{part}\n\n"
        + " ".join(
            f"Valve {number}.{part} is kept {number * part * k % 97} days in room r{k}."
            for k in range(14)
        )
        for part in range(parts)
    )
    return read_text(text, id=f"d{number}", meta={"half": number % 2})


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with (
        TemporaryDirectory() as folder,
        address_in(request.param, Path(folder)) as address,
    ):
        yield address


def same(one: list[Hit], other: list[Hit]) -> None:
    assert [hit.chunk for hit in one] == [hit.chunk for hit in other]
    scores = [hit.score for hit in other]
    assert [hit.score for hit in one] == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize("model", [HashTokens, HashEmbedder])
def test_the_hits_are_those_of_the_folder_whatever_came_and_went(
    address: str, model: Any
) -> None:
    own, there = EvidenceRetriever(model()), EvidenceRetriever(model(), store=address)
    documents = [document(number) for number in range(10)]
    for retriever in (own, there):
        retriever.add(documents)
        retriever.add([read_text("", id="empty"), document(3, 17)])
        assert retriever.delete("d5")
    assert len(own.store) > FOUND and len(there.store) == len(own.store)
    opened = EvidenceRetriever.load(address, model())
    assert opened.document_ids == own.document_ids
    for question in QUESTIONS:
        for where in WHERE:
            expected = own.search(question, where=where)
            for retriever in (there, opened):
                same(retriever.search(question, where=where), expected)
    for question in ("zzz", "???"):
        same(
            there.search(question, where=WHERE[-1]),
            own.search(question, where=WHERE[-1]),
        )
    assert opened.add(documents[:2]).unchanged == 2
    blocks = own.blocks("d3")
    assert there.blocks("d3") == blocks and there.blocks("empty") == []
    assert there.neighbours(blocks[1]) == (blocks[0], blocks[2])
    hits = own.search("Valve 7.7", 2)
    assert there.explain("Valve 7.7", hits) == own.explain("Valve 7.7", hits)


def test_a_reader_keeps_what_it_has_opened(address: str) -> None:
    there = EvidenceRetriever(HashTokens(), store=address)
    there.add([document(number) for number in range(3)])
    flow = there.flow("Valve 2.7", 1)
    requests = next(flow)
    there.delete("d2")
    (hit,) = there.run(_resumed(flow, requests))
    assert hit.chunk.doc_id == "d2"
    assert "d2" not in {hit.chunk.doc_id for hit in there.search("Valve 2.7")}


def _resumed(flow: Any, requests: Any) -> Any:
    """The rest of some steps, whose first requests were taken."""
    answers = yield requests
    while True:
        try:
            answers = yield flow.send(answers)
        except StopIteration as end:
            return end.value


def test_what_does_not_fit_the_index_is_refused(address: str) -> None:
    there = EvidenceRetriever(HashTokens(), store=address)
    there.add([document(1)])
    with pytest.raises(InvalidParameter, match="embedding must match the index at"):
        EvidenceRetriever.load(address, HashTokens(name="another"))
    with pytest.raises(InvalidParameter, match="read_options must match the index at"):
        EvidenceRetriever(
            HashTokens(),
            store=address,
            read_options=there.read_options.__class__(exclude_titles=["x"]),
        )
    with pytest.raises(InvalidParameter, match="got LSA, whose vectors change"):
        EvidenceRetriever.load(address)
    with pytest.raises(InvalidParameter, match="where must be None or a dict"):
        there.search("valve", where=lambda meta: True)


def test_a_row_that_another_program_removed_is_missed(tmp_path: Path) -> None:
    with address_in("lancedb", tmp_path) as address:
        there = EvidenceRetriever(HashTokens(), store=address)
        there.add([document(1)])
        table: Any = there.store._table  # type: ignore[attr-defined]
        chunk = there.store.chunks("d1")[2]
        table.delete(f"chunk = '\"{chunk.id}\"'")
        with pytest.raises(IndexDamaged, match="has lost a row of an index"):
            there.search("Valve 1.3")
