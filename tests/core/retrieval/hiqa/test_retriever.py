"""HiQA's retriever: the published numbers through an index, look-alike manuals, every route and
setting, bad input."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore
from engine_making import ENGINES, address_in
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from phone_making import phone_retriever, phones

from structrag import ContentAwareSplitter, Document, HiQARetriever, Hit, Index
from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Ranking, Search

SECTIONS = {
    "Features": "The phone has a bright display and two speakers.",
    "Battery": "The battery lasts for 30 hours and is charged by cable.",
    "Camera": "The camera takes pictures of 12 megapixels, also at night.",
    "Warranty": "The warranty covers defects for two years after purchase.",
    "Dimensions": "The case measures 150 by 70 by 8 millimetres.",
}
ASKED = ("Battery", "Camera", "Warranty", "Dimensions")
PRODUCTS = [f"Nova {'ABCDE'[i % 5]}{10 + i}" for i in range(20)]


def manual(name: str) -> Document:
    """A manual that differs from the others in the product's name alone, which stands in its title
    only."""
    body = "".join(f"## {title}\n\n{text}\n\n" for title, text in SECTIONS.items())
    return Document(f"# {name}\n\n{body}", id=name, title=name, format="markdown")


def manuals(*, path: bool = True, embedder: Any = None) -> Index:
    index = Index(
        embedder=embedder, splitter=ContentAwareSplitter(context=path), views=("raw",)
    )
    index.add([manual(name) for name in PRODUCTS])
    return index


def names(hits: Sequence[Hit]) -> str:
    return "".join(hit.chunk.doc_id for hit in hits)


def shown(hits: Sequence[Hit]) -> list[Any]:
    return [
        (
            hit.chunk.id,
            hit.score,
            hit.rank,
            hit.routes,
            hit.scores,
            hit.parts,
            hit.chunk.extras["keywords"],
        )
        for hit in hits
    ]


class Lexical:
    """A host's lexical retriever with fixed scores by document; it knows no conditions."""

    def __init__(self, index: Index, scores: Mapping[str, float]) -> None:
        self.index, self.scores = index, scores
        self.asked: list[tuple[str, Search]] = []

    def search(self, request: Search) -> Ranking:
        self.asked.append(("sync", request))
        store = self.index.store
        found = [
            (
                store.reader().chunk(row).id,
                self.scores.get(store.reader().chunk(row).doc_id, 0.0),
            )
            for row in range(len(store))
        ]
        return sorted(found, key=lambda item: -item[1])[: request.n]

    async def asearch(self, request: Search) -> Ranking:
        await asyncio.sleep(0)
        ranking = self.search(request)
        self.asked[-1] = ("async", request)
        return ranking


class Vectors(HostStore):
    """A host's vector store with fixed cosines by document."""

    def __init__(self, cosines: Mapping[str, float]) -> None:
        super().__init__(wants_vectors=False)
        self.cosines = cosines

    def search(self, request: Search) -> Ranking:
        found = [
            (chunk_id, self.cosines[chunk_id.split(":")[0]])
            for chunk_id, _ in self.entries
        ]
        return sorted(found, key=lambda item: -item[1])[: request.n]


TEXTS = {
    "a": "One text.",
    "b": "Another.",
    "c": "About IS-3722 HS and IS3731.",
    "d": "About the IS3731 alone.",
}
BM25 = {"a": 2.0, "b": 8.0, "d": 4.0}


def worked(**options: Any) -> HiQARetriever:
    index = Index(
        dense_store=Vectors({"a": 0.8, "b": 0.75, "c": 0.7, "d": 0.6}), views=("raw",)
    )
    index.add([Document(text, id=name) for name, text in TEXTS.items()])
    return HiQARetriever(
        index,
        keywords=["IS3722", "IS3722HS", "IS3731"],
        lexical=Lexical(index, BM25),
        **options,
    )


# -- look-alike manuals


@examples
@pytest.mark.parametrize("path", [True, False])
def test_hit_at_1_is_0_without_the_path_and_1_with_it(
    routes: Sequence[str], path: bool
) -> None:
    check_hits_at_1(HiQARetriever(manuals(path=path), k=1, routes=routes), path)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("path", [True, False])
def test_hit_at_1_with_a_sentence_encoder(minilm: Any, path: bool) -> None:
    check_hits_at_1(HiQARetriever(manuals(path=path, embedder=minilm), k=1), path)


def check_hits_at_1(retriever: HiQARetriever, path: bool) -> None:
    found = 0
    for name, section in itertools.product(PRODUCTS, ASKED):
        (hit,) = retriever.search(f"What is the {section.lower()} of the {name}?")
        found += hit.chunk.doc_id == name and hit.chunk.path[-1] == section
    assert found == (len(PRODUCTS) * len(ASKED) if path else 0)


def test_keywords_bring_in_what_no_other_route_found() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(
        [
            Document(
                f"# Part\n\nwater pump {i} pressure", id=f"d{i:03}", format="markdown"
            )
            for i in range(120)
        ]
    )
    index.add(
        [Document("# X\n\nSee the Q 7 sheet.", id="x", title="X", format="markdown")]
    )
    hits = HiQARetriever(index, keywords=["Q7"], beta=5, k=3).search(
        "water pump pressure of q7"
    )
    assert hits[0].chunk.doc_id == "x" and hits[0].routes == {"keywords": 1}
    highest = 1 + 5 * log(2)
    assert hits[0].parts["keywords"] == pytest.approx(5 * log(2) / highest)
    assert HiQARetriever(index, keywords=["Q7"]).source.keywords.table(
        index.reader()
    ).found_in("q7 and d1") == ["q7"]


# -- settings


def test_diversify_takes_turns_between_the_products_that_a_question_names() -> None:
    index = manuals()
    question = "Compare the battery and camera of the Nova A10 with the Nova C12"
    hits = HiQARetriever(index, k=12, diversify="round_robin").search(question)
    assert [hit.chunk.doc_id for hit in hits[:4]] == [
        "Nova A10",
        "Nova C12",
        "Nova A10",
        "Nova C12",
    ]
    assert {hit.chunk.doc_id for hit in hits[:10]} == {"Nova A10", "Nova C12"}
    assert all(not hit.chunk.extras["keywords"] for hit in hits[10:]) and [
        hit.rank for hit in hits
    ] == list(range(1, 13))
    one = "What is the battery of the Nova A10?"
    assert shown(HiQARetriever(index, diversify="round_robin").search(one)) == shown(
        HiQARetriever(index).search(one)
    )


def test_preset_code_is_v_plus_half_r_over_the_nearest() -> None:
    index = manuals(embedder=HashEmbedder(dimensions=512))
    retriever = HiQARetriever(index, preset="code", k=100, detect_keywords=False)
    hits = retriever.search("warranty of the camera")
    near = index.search("warranty of the camera", 100)
    low, high = min(hit.score for hit in near), max(hit.score for hit in near)
    v = {hit.chunk.id: (hit.score - low) / (high - low) for hit in near}
    assert {hit.chunk.id: hit.parts["dense"] * 1.5 for hit in hits} == pytest.approx(v)
    assert max(hit.parts["bm25"] for hit in hits) * 1.5 == pytest.approx(0.5) and {
        hit.parts["keywords"] for hit in hits
    } == {0}
    assert len(HiQARetriever(index, preset="code", k=5).search("warranty")) == 5
    grouped = HiQARetriever(manuals(), preset="code", k=6).search(
        "the battery of the Nova B16"
    )
    assert [hit.chunk.extras["keywords"] for hit in grouped] == [["B16"]] * 5 + [[]]


def test_weights_by_rule_of_thumb() -> None:
    deep, flat = manuals(), Index(views=("raw",))
    flat.add([Document("plain text without a heading", id=f"d{i}") for i in range(3)])
    alpha, beta = HiQARetriever(deep, alpha="auto", beta="auto").weights()
    assert alpha == pytest.approx(0.4 + 0.2 * 2 / 3) and beta == 0.4
    assert HiQARetriever(flat, alpha="auto", beta="auto").weights() == pytest.approx(
        (0.4, 0.2386), abs=1e-4
    )
    assert HiQARetriever(Index(), alpha="auto", beta="auto").weights() == pytest.approx(
        (0.4, 0.1)
    )
    long = Index(views=("raw",))
    long.add([Document("a text", id="d", meta={"pages": 1000})])
    assert HiQARetriever(long, beta="auto").weights()[1] == pytest.approx(
        0.1001, abs=1e-4
    )


def test_where_is_strict_for_every_route() -> None:
    retriever = worked(k=9)
    assert names(retriever.search("IS3731", where={"doc_id": ["a", "d"]})) == "ad"
    assert (
        names(retriever.search("IS3731", where=lambda meta: meta["doc_id"] > "a"))
        == "bcd"
    )
    assert retriever.search("IS3731", where={"doc_id": "unknown"}) == []
    with pytest.raises(InvalidParameter, match="where"):
        retriever.search("IS3731", where={"colour": "red"})
    own = HiQARetriever(manuals(), k=50)
    assert {
        hit.chunk.doc_id
        for hit in own.search("battery Nova A10", where={"doc_id": "Nova B11"})
    } == {"Nova B11"}
    few = own.search("battery Nova A10", where={"doc_id": ["Nova A10", "Nova C17"]})
    assert len(few) == 10 and {hit.chunk.doc_id for hit in few} == {
        "Nova A10",
        "Nova C17",
    }


def test_reading_order() -> None:
    best = worked(k=3).search("is3722hs vs IS3731")
    read_options = worked(k=3, order="document").search("is3722hs vs IS3731")
    assert names(read_options) == "".join(sorted(names(best)))
    assert {hit.chunk.doc_id: hit.rank for hit in read_options} == {
        hit.chunk.doc_id: hit.rank for hit in best
    }


def test_the_first_hits_do_not_depend_on_k() -> None:
    retriever = HiQARetriever(manuals())
    everything = shown(retriever.search("warranty of the Nova D13 and its camera", 50))
    assert len(everything) == 50
    for k in (1, 2, 7, 30):
        assert (
            shown(retriever.search("warranty of the Nova D13 and its camera", k))
            == everything[:k]
        )
    assert (
        len(retriever.search("warranty", 100)) == 100
        and len(retriever.search("warranty", 1_000)) == 100
    )


# -- what the routes say, and what they add


@examples
@pytest.mark.parametrize(
    "query", ["battery of the Nova A10", "Nova A10 or Nova B11?", "battery"]
)
def test_parts_add_up_to_the_score(options: dict[str, Any], query: str) -> None:
    index = manuals(embedder=HashEmbedder())
    hits = HiQARetriever(index, k=60, **options).search(query)
    assert hits
    for hit in hits:
        assert set(hit.parts) == {"dense", "bm25", "keywords"}
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-12)
        assert set(hit.routes) <= set(hit.scores)


# -- bad input


@examples
def test_settings_that_are_not_allowed_are_named(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidParameter, match=named):
        HiQARetriever(Index(views=("raw",)), **options)


@examples
def test_nothing_to_find(options: dict[str, Any]) -> None:
    empty = HiQARetriever(Index(), **options)
    assert empty.search("anything") == [] == empty.search("")
    filled = HiQARetriever(manuals(), **options)
    assert filled.search("") == [] == filled.search(" \n")
    assert filled.search("unknownword") == []
    assert filled.search("what is the of and") == []
    with pytest.raises(InvalidParameter, match="query"):
        filled.search(None)  # type: ignore[arg-type]


# -- for any documents

bodies = st.lists(
    st.lists(
        st.sampled_from(["pump", "valve", "water", "oil", "Q-7", "R8", "Nova"]),
        min_size=1,
        max_size=6,
    ).map(" ".join),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(
    bodies,
    st.sampled_from(
        [
            {},
            {"alpha": 0.2, "beta": 0.9},
            {"beta": "auto"},
            {"beta": 0},
            {"preset": "paper"},
            {"routes": ["dense"]},
            {"routes": ["keywords", "bm25"]},
            {"routes": ["keywords"]},
            {"routes": ["keywords"], "beta": 0},
        ]
    ),
)
def test_scores_are_from_0_to_1_and_fall_with_the_rank(
    texts: list[str], options: dict[str, Any]
) -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add([Document(text, id=f"d{i}") for i, text in enumerate(texts)])
    hits = HiQARetriever(index, k=20, keywords=["Q7", "R8"], **options).search(
        "pump Q7 and R8"
    )
    scores = [hit.score for hit in hits]
    assert all(0 <= score <= 1 + 1e-12 for score in scores)
    assert [round(score, 9) for score in scores] == [
        round(score, 9) for score in sorted(scores, reverse=True)
    ]


class Seen(HashEmbedder):
    """Keeps the questions of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if query:
            self.calls.append(list(texts))
        return super().embed(texts, query=query)


def test_both_are_embedded_in_one_call() -> None:
    embedder = Seen()
    assert phone_retriever(phones(embedder)).search("How long does the Nova C10 last?")
    assert embedder.calls == [
        ["How long does the Nova C10 last?", "How long does the last?"]
    ]


def test_a_name_no_longer_draws_the_vectors_away_from_what_is_asked() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    name = "Nova Ultra Pro Max A10"
    repeated = (
        f"# {name}\n\n## About\n\nThe {name} is the {name} of all {name}.\n\n## "
        "Battery\n\nCharge lasts 30 hours.\n"
    )
    others = [
        Document(
            f"# Thing {i}\n\nNothing of note.",
            id=str(i),
            title=f"Thing B{i}",
            format="markdown",
        )
        for i in range(4)
    ]
    index.add([Document(repeated, id="a", title=name, format="markdown"), *others])
    best = HiQARetriever(index, keywords=[name], routes=("dense", "keywords")).search(
        f"{name}: charge lasts hours"
    )[0]
    assert best.chunk.path[-1] == "Battery"


def test_as_printed_the_question_alone_is_compared() -> None:
    embedder = HashEmbedder()
    index = phones(embedder)
    query = "How long does the Nova C10 last?"
    hits = phone_retriever(index, preset="paper").search(query, 10)
    alpha, beta = 0.5, 0.2
    cosines = {hit.chunk.id: hit.scores["dense"] for hit in hits}
    low, high = min(cosines.values()), max(cosines.values())
    best = max(hit.scores.get("bm25", 0.0) for hit in hits)
    for hit in hits:  # equation 2
        v = (cosines[hit.chunk.id] - low) / (high - low)
        r = hit.scores.get("bm25", 0.0) / best
        named = len(hit.chunk.extras["keywords"])
        total = alpha * v + (1 - alpha) * r + beta * np.log(1 + named)
        # One keyword is asked.
        assert hit.score == pytest.approx(total / (1 + beta * np.log(2)))
    assert len(embedder.queries) == 1
    both = [hit.score for hit in phone_retriever(index).search(query, 10)]
    assert both != pytest.approx([hit.score for hit in hits])


# -- over an engine


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with address_in(request.param, tmp_path) as place:
        yield place


def both(address: str, documents: Sequence[Document]) -> tuple[Index, Index]:
    """An index in memory and one in an engine, of the same documents."""
    indexes = (
        Index(embedder=HashEmbedder()),
        Index(embedder=HashEmbedder(), store=address),
    )
    for index in indexes:
        index.add(documents)
    return indexes


def same(
    near: HiQARetriever, far: HiQARetriever, query: str, **options: Any
) -> list[Hit]:
    """The hits of both, which must be the same but for the last digits of scores."""
    hits, others = near.search(query, **options), far.search(query, **options)
    assert [hit.chunk for hit in others] == [hit.chunk for hit in hits]
    assert [hit.routes for hit in others] == [hit.routes for hit in hits]
    for hit, other in zip(hits, others, strict=True):
        # Milvus may weigh terms by a mean length that is 2 % off.
        assert other.score == pytest.approx(hit.score, abs=2e-3)
        assert other.parts == pytest.approx(hit.parts, abs=2e-3)
        assert other.scores == pytest.approx(hit.scores, rel=0.02, abs=1e-4)
    return hits


def numbered_manuals() -> list[Document]:
    return [
        Document(
            manual(name).text + f"Made in {2000 + i % 4}.\n",
            id=name,
            title=name,
            format="markdown",
            meta={"year": 2000 + i % 4, "pages": i + 1},
        )
        for i, name in enumerate(PRODUCTS)
    ]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"k": 120},
    {"preset": "paper"},
    {"preset": "code"},
    {"order": "document"},
    {"alpha": "auto", "beta": "auto", "diversify": "round_robin"},
    {
        "routes": ["keywords", "bm25"],
        "keywords": ["speakers"],
        "detect_keywords": False,
    },
]


@pytest.mark.slow
def test_an_engine_gives_the_hits_of_an_index_in_memory(address: str) -> None:
    near, far = both(address, numbered_manuals())
    queries = (
        "How long does the battery of the Nova A10 last?",
        "Compare the camera of Nova B11 and Nova C12",
        "Where was it made?",
        "unheardof",
        " ",
    )
    for settings_ in SETTINGS:
        ours, theirs = HiQARetriever(near, **settings_), HiQARetriever(far, **settings_)
        for query in queries:
            same(ours, theirs, query)
            same(ours, theirs, query, where={"year": [2001, 2002]})
            same(ours, theirs, query, where={"doc_id": "Nova A10"})
        assert theirs.keyword_statistics() == ours.keyword_statistics()
        assert theirs.weights() == pytest.approx(ours.weights())
    (hit, *_) = same(HiQARetriever(near), HiQARetriever(far), queries[0])
    assert hit.chunk.doc_id == "Nova A10"
    with pytest.raises(
        InvalidParameter, match="where must use keys of the documents' metadata"
    ):
        HiQARetriever(far).search(queries[0], where={"colour": "red"})
