"""HiQARetriever as a LangChain retriever: routes of the host, metadata, packing, tuning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords, facts

from langchain_structrag import HiQAFormatter, HiQARetriever, HiQATransformer
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.retrieval.hiqa.retriever import HiQARetriever as CoreRetriever
from structrag.retrieval.hiqa.tuning import LabelledQuestion
from structrag.text.tokens import count_tokens

NAMES = ["LM358", "TL431", "NE555", "BC547"]
MANUAL = (
    "# {name}\n\nA part for many uses.\n\n## Limits\n\nThe supply voltage is given here.\n\n"
    "| Rating | Value |\n|---|---|\n| Supply voltage | 32 V |\n| Power | 830 mW |\n\n"
    "## Pins\n\n![Pin layout](img/pins.png)\n\nFigure 1: the pins from above\n\nThere are eight of "
    "them.\n"
)
DOCUMENTS = [
    Document(
        page_content=MANUAL.format(name=name),
        metadata={"source": f"{name}.md", "year": 2000 + i},
    )
    for i, name in enumerate(NAMES)
]


class WordRetriever(BaseRetriever):
    """A search engine of the host: counts common words. `keep` says what of a document's facts it
    gives back."""

    documents: list[Document]
    keep: Any = None
    k: int = 50
    log: list[str] = []  # noqa: RUF012

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any
    ) -> list[Document]:
        self.log.append(query)
        wanted = set(re.findall(r"\w+", query.lower()))
        counts = [
            (len(wanted & set(re.findall(r"\w+", d.page_content.lower()))), d)
            for d in self.documents
        ]
        best = sorted((pair for pair in counts if pair[0]), key=lambda pair: -pair[0])[
            : self.k
        ]
        return [self.keep(d, count) if self.keep else d for count, d in best]


EMBEDDING = BagOfWords()
MODELS: dict[str, Any] = {
    "lsa": lambda: {},
    "embedding": lambda: {"embedding": EMBEDDING},
    "vectorstore": lambda: {"vectorstore": InMemoryVectorStore(EMBEDDING)},
    "lancedb": lambda: {"embedding": EMBEDDING, "store": f"lancedb:{mkdtemp()}"},
}
KINDS = pytest.mark.parametrize("kind", list(MODELS))


def made(kind: str, **options: Any) -> HiQARetriever:
    if kind == "lancedb":
        pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    return HiQARetriever.from_documents(DOCUMENTS, **MODELS[kind](), **options)


@KINDS
async def test_the_product_in_the_question_comes_first_sync_and_async(
    kind: str,
) -> None:
    retriever = made(kind, k=3)
    for name in NAMES:
        found = retriever.invoke(f"What is the supply voltage of the {name}?")
        assert len(found) == 3
        assert found[0].metadata["doc_id"] == f"{name}.md"
        assert found[0].metadata["hiqa_keywords"] == [name]
        assert facts(
            await retriever.ainvoke(f"What is the supply voltage of the {name}?")
        ) == facts(found)
    assert retriever.invoke("  ") == []
    assert {
        d.metadata["doc_id"]
        for d in retriever.invoke("supply voltage", k=9, where={"year": 2001})
    } == {"TL431.md"}
    assert [len(d) for d in retriever.batch(["supply", "pins"], k=2)] == [2, 2]


@KINDS
def test_results_are_plain_json_with_parts_of_the_score_and_images(kind: str) -> None:
    retriever = made(kind, k=12)
    found = retriever.invoke("Where are the pins of the NE555?")
    texts = {d.metadata["source"]: d.page_content for d in DOCUMENTS}
    for document in found:
        meta = document.metadata
        assert type(document) is Document and json.loads(json.dumps(meta)) == meta
        assert (
            texts[meta["doc_id"]][meta["start_index"] : meta["end_index"]]
            == document.page_content
        )
        assert meta["score"] == pytest.approx(sum(meta["score_parts"].values()))
        assert set(meta["score_parts"]) == {"dense", "bm25", "keywords"}
        assert "views_hit" not in meta
    image = next(d for d in found if d.metadata["hiqa_kind"] == "image")
    assert json.loads(image.metadata["hiqa_images"]) == [
        {"file": "img/pins.png", "alt": "Pin layout"}
    ]
    assert (
        image.metadata["heading_path"] == "NE555 > Pins"
        and image.metadata["hiqa_caption"] == "Figure 1: the pins from above"
    )
    table = next(d for d in found if d.metadata["hiqa_kind"] == "table")
    assert "830 mW" in table.page_content
    assert [d.metadata["rank"] for d in found] == list(range(1, len(found) + 1))


def test_it_is_the_core_retriever() -> None:
    settings: dict[str, Any] = {
        "k": 4,
        "alpha": "auto",
        "beta": 0.4,
        "keywords": ["TL431"],
        "detect_keywords": False,
    }
    settings |= {
        "diversify": "round_robin",
        "order": "document",
        "routes": ["dense", "keywords"],
    }
    retriever = made("embedding", **settings)
    hits = CoreRetriever(retriever.index, **settings).search("pins of TL431 and LM358")
    found = retriever.invoke("pins of TL431 and LM358")
    assert [(d.id, d.metadata["score"]) for d in found] == [
        (hit.chunk.id, hit.score) for hit in hits
    ]
    others: list[dict[str, Any]] = [
        {"preset": "code"},
        {"preset": "paper"},
        {"preset": "paper", "compare_rest": True},
    ]
    for settings in others:
        retriever = made("embedding", **settings)
        hits = CoreRetriever(retriever.index, **settings).search("pins of TL431")
        assert [
            (d.id, d.metadata["score"]) for d in retriever.invoke("pins of TL431")
        ] == [(hit.chunk.id, hit.score) for hit in hits]


def test_the_splitter_is_hiqas_in_the_documents_language_or_the_one_given(
    tmp_path: Path,
) -> None:
    retriever = made("lsa", language="german")
    assert retriever.index.splitter.language == "german"  # type: ignore[attr-defined]
    assert retriever.index.views == ("raw",)
    retriever.save(tmp_path / "index")
    assert HiQARetriever.load(tmp_path / "index").index.splitter.language == "german"  # type: ignore[attr-defined]
    small = HiQARetriever.from_documents(
        DOCUMENTS, splitter=HiQATransformer(metadata="none", exclude_titles=["Pins"])
    )
    assert not any(
        d.metadata["hiqa_kind"] == "image" for d in small.invoke("pins", k=99)
    )
    numbered = Document(
        page_content="1 One\n\nA text.\n\n2 Two\n\nMore words.\n",
        metadata={"source": "a.txt"},
    )
    markdown = HiQAFormatter().transform_documents([numbered])
    (first, *_) = HiQARetriever.from_documents(markdown).invoke("more words")
    assert first.metadata["heading_path"] == "2 Two"


# -- any retriever in place of BM25


def by_id(document: Document, count: int) -> Document:
    return Document(page_content=document.page_content, id=document.id)


def as_elasticsearch(document: Document, count: int) -> Document:
    source = {"text": document.page_content, "metadata": document.metadata}
    return Document(
        page_content="",
        metadata={"_index": "i", "_id": "7", "_score": count * 1.5, "_source": source},
    )


def by_elasticsearch_id(document: Document, count: int) -> Document:
    return Document(
        page_content="",
        metadata={"_id": document.id, "_score": count * 1.5, "_source": {}},
    )


@KINDS
@pytest.mark.parametrize("keep", [None, by_id, as_elasticsearch, by_elasticsearch_id])
async def test_results_of_a_host_are_mapped_by_id(kind: str, keep: Any) -> None:
    retriever = made(kind, k=3, routes=["bm25"])
    engine = WordRetriever(documents=retriever.segments(), keep=keep, log=[])
    retriever.lexical = engine
    found = retriever.invoke("supply voltage of the BC547")
    assert engine.log == ["supply voltage of the BC547"]
    assert found[0].metadata["doc_id"] == "BC547.md"
    assert found[0].metadata["routes"] == {"bm25": 1}
    assert facts(await retriever.ainvoke("supply voltage of the BC547")) == facts(found)
    # The host's scores, not the ranks.
    if keep in (as_elasticsearch, by_elasticsearch_id):
        assert (
            found[0].metadata["score"]
            == found[1].metadata["score"]
            == pytest.approx(1.0)
        )
        assert 0.5 <= found[2].metadata["score"] < 1.0
    else:
        assert [d.metadata["score"] for d in found] == pytest.approx([1.0, 0.5, 1 / 3])
    narrowed = retriever.invoke("supply voltage", k=9, where={"doc_id": "TL431.md"})
    assert narrowed and {d.metadata["doc_id"] for d in narrowed} == {"TL431.md"}


async def test_results_of_a_host_are_mapped_by_place() -> None:
    retriever = made("embedding", k=3)
    pieces = HiQATransformer(add_context=True).split_documents(DOCUMENTS)
    retriever.lexical = WordRetriever(documents=pieces)
    found = retriever.invoke("supply voltage of the BC547")
    assert (
        found[0].metadata["doc_id"] == "BC547.md"
        and found[0].metadata["routes"]["bm25"] == 1
    )
    assert facts(await retriever.ainvoke("supply voltage of the BC547")) == facts(found)
    # Lies within our segments.
    smaller = HiQATransformer(chunk_size=12).split_documents(DOCUMENTS)
    retriever.lexical = WordRetriever(documents=smaller)
    retriever.routes = ["bm25"]
    best = retriever.lexical.invoke("eight of them")[0]
    assert best.page_content in retriever.invoke("eight of them")[0].page_content


def test_what_cannot_be_mapped_is_said_and_what_was_deleted_is_left_out() -> None:
    retriever = made("embedding")
    retriever.lexical = WordRetriever(
        documents=[Document(page_content="supply voltage", metadata={"title": "x"})]
    )
    with pytest.raises(
        InvalidParameter, match=r"lexical must be .* metadata \['title'\]"
    ):
        retriever.invoke("supply voltage")
    whole = [
        Document(
            page_content=d.page_content,
            metadata={**d.metadata, "start_index": 0, "end_index": 300},
        )
        for d in DOCUMENTS
    ]
    retriever.lexical = WordRetriever(documents=whole)
    with pytest.raises(InvalidParameter, match="inside one segment"):
        retriever.invoke("supply voltage")
    retriever.lexical = WordRetriever(documents=retriever.segments())
    for name in NAMES:
        retriever.delete(f"{name}.md")
    retriever.add_documents(DOCUMENTS[:1])
    assert {d.metadata["doc_id"] for d in retriever.invoke("supply voltage", k=9)} == {
        "LM358.md"
    }
    retriever.lexical = WordRetriever(documents=[])
    assert retriever.invoke("supply voltage")
    with pytest.raises(ValueError, match="code"):
        made("embedding", preset="code", lexical=WordRetriever(documents=[]))


async def test_the_hosts_search_is_a_child_run() -> None:
    runs: list[tuple[str, Any, Any]] = []

    class Recorder(BaseCallbackHandler):
        def on_retriever_start(
            self,
            serialized: Any,
            query: str,
            *,
            run_id: Any,
            parent_run_id: Any = None,
            **kwargs: Any,
        ) -> None:
            runs.append((query, run_id, parent_run_id))

    retriever = made("embedding")
    retriever.lexical = WordRetriever(documents=retriever.segments())
    retriever.invoke("pins", config={"callbacks": [Recorder()]})
    await retriever.ainvoke("pins", config={"callbacks": [Recorder()]})
    assert len(runs) == 4
    assert runs[1][2] == runs[0][1] and runs[3][2] == runs[2][1]


# -- packing and tuning


async def test_results_fit_the_tokens_given() -> None:
    free = made("embedding", k=12).invoke("supply voltage of the TL431")
    packed = made("embedding", k=12, max_tokens=60)
    found = packed.invoke("supply voltage of the TL431")
    assert facts(await packed.ainvoke("supply voltage of the TL431")) == facts(found)
    sizes = [count_tokens(d.page_content) for d in found]
    assert 1 < len(found) < len(free) and sum(sizes) <= 60
    assert found[0].id == free[0].id
    in_order = made("embedding", k=12, max_tokens=60, order="document").invoke(
        "supply voltage of the TL431"
    )
    assert {d.id for d in in_order} == {d.id for d in found}
    places = [
        (NAMES.index(d.metadata["doc_id"][:-3]), d.metadata["start_index"])
        for d in in_order
    ]
    assert places == sorted(places)
    long = Document(
        page_content="# Whale\n\n" + "The whale swims in the sea. " * 50,
        metadata={"source": "w.md"},
    )
    (cut,) = HiQARetriever.from_documents([long], max_tokens=30).invoke("whale")
    assert (
        cut.metadata["hiqa_cut"] is True
        and long.page_content[cut.metadata["start_index"] : cut.metadata["end_index"]]
        == cut.page_content
    )
    assert made("embedding", max_tokens=0).invoke("pins") == []
    words = made(
        "embedding", k=12, max_tokens=30, counter=lambda text: len(text.split())
    ).invoke("pins")
    assert 0 < sum(len(d.page_content.split()) for d in words) <= 30


async def test_tuning_sets_the_weights_and_reports() -> None:
    questions = [
        LabelledQuestion(f"supply voltage of the {name}", {f"{name}.md"})
        for name in NAMES
    ]
    retriever = made("embedding")
    report = retriever.tune(questions)
    assert (retriever.alpha, retriever.beta) == (report.alpha, report.beta)
    assert report.score >= report.default_score and "alpha" in str(report)
    other = made("embedding")
    assert await other.atune(questions) == report
    assert facts(other.invoke("pins of the NE555")) == facts(
        retriever.invoke("pins of the NE555")
    )
    with pytest.raises(InvalidParameter, match="LabelledQuestion"):
        retriever.tune([])


def test_it_takes_an_index_of_the_core() -> None:
    index = Index()
    assert HiQARetriever(index=index).invoke("anything") == []
    HiQARetriever(index=index).add_documents(DOCUMENTS)
    assert len(HiQARetriever(index=index, k=2).invoke("pins")) == 2
