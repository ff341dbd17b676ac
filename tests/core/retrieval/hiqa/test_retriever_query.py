"""A question that names a product: what is left without the name orders the chunks that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore
from hypothesis import given
from hypothesis import strategies as st

from structrag import Document, HiQARetriever, Index
from structrag.retrieval.hiqa.keyword_names import Names, name_key, pieces
from structrag.retrieval.hiqa.pool import PoolSource


class Seen(HashEmbedder):
    """Keeps the questions of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if query:
            self.calls.append(list(texts))
        return super().embed(texts, query=query)


class Alone(PoolSource):
    """By the query's own vector."""

    def query_vectors(self, query: str, table: Any) -> Any:
        return (yield from self.index.query_vector(query)), None


NAMES = [f"Nova {letter}10" for letter in "ABCDE"]


def retriever(index: Index, **settings: Any) -> HiQARetriever:
    return HiQARetriever(index, keywords=NAMES, detect_keywords=False, **settings)


def phones(embedder: Any = None) -> Index:
    index = Index(embedder=embedder, views=("raw",))
    sections = (
        "## Battery\n\nIt lasts for 30 hours.\n\n## Camera\n\nIt takes pictures of 12 megapixels.\n"
    )
    index.add(
        [
            Document(f"# {name}\n\n{sections}", id=name, title=name, format="markdown")
            for name in NAMES
        ]
    )
    return index


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("How long does the Nova A10 last?", "How long does the last?"),
        ("NOVA-A10 battery", "battery"),
        ("The nova  a10's case", "The 's case"),
        ("A Nova A105 is another", "A Nova A105 is another"),
        ("Nova A10", ""),
    ],
)
def test_a_name_is_taken_out_however_it_is_written(text: str, rest: str) -> None:
    assert Names([name_key("Nova A10")]).removed(text) == rest


def test_a_text_whose_length_folding_changes_is_given_folded() -> None:
    assert Names(["x1"]).removed("Die Straße des X1 ist ﬁn") == "die strasse des ist fin"
    assert Names(["x1"]).removed("Die Größe des X1") == "die grösse des"
    assert Names(["x1"]).removed("Été du X1") == "Été du"


@given(
    st.text(alphabet="aA1 -ﬁßé.手", max_size=40),
    st.lists(st.text(alphabet="aA1é手", min_size=1, max_size=4), max_size=3),
)
def test_what_is_left_holds_nothing_new_and_no_text_without_names_changes(
    text: str, names: list[str]
) -> None:
    found = Names(name_key(name) for name in names if name_key(name))
    rest = found.removed(text)
    assert len(pieces(rest)) <= len(pieces(text))
    if not list(found.spans(pieces(text))):
        assert pieces(rest) == pieces(text)


def test_both_are_embedded_in_one_call() -> None:
    embedder = Seen()
    assert retriever(phones(embedder)).search("How long does the Nova C10 last?")
    assert embedder.calls == [["How long does the Nova C10 last?", "How long does the last?"]]


def test_the_rest_orders_chunks_that_hold_the_name_and_leaves_their_mean() -> None:
    index = phones(HashEmbedder())
    source = retriever(index).source
    query = "How long does the Nova C10 last?"
    with_rest = index.run(source.steps(query, 50, None))
    alone = index.run(Alone(**vars(source)).steps(query, 50, None))
    holds = alone.held.any(axis=0)
    assert 0 < holds.sum() < len(holds)
    assert np.array_equal(with_rest.cosine[~holds], alone.cosine[~holds])
    assert with_rest.cosine[holds].mean() == pytest.approx(alone.cosine[holds].mean())
    rest = dict(
        index.store.search_dense(
            "raw", HashEmbedder().embed(["How long does the last?"], query=True)[0], len(index)
        )
    )
    own = np.array([rest[row] for row in alone.rows[holds].tolist()])
    assert np.allclose(with_rest.cosine[holds], alone.cosine[holds] + own - own.mean())


def test_one_chunk_with_the_name_keeps_its_score() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(
        [
            Document(f"# {name}\n\nMade by Acme.", id=name, title=name, format="markdown")
            for name in NAMES
        ]
    )
    source = retriever(index).source
    pools = [
        index.run(each.steps("Who makes the Nova C10?", 50, None))
        for each in (source, Alone(**vars(source)))
    ]
    assert np.array_equal(pools[0].cosine, pools[1].cosine)


@pytest.mark.parametrize("question", ["How long does it last?", "Nova C10", "Nova C10?"])
def test_a_question_of_nothing_but_names_or_without_any_is_embedded_alone(question: str) -> None:
    embedder = Seen()
    retriever(phones(embedder)).search(question)
    assert embedder.calls == [[question]]


def test_a_query_over_a_hosts_vectors_is_embedded_alone() -> None:
    embedder = Seen()
    index = Index(embedder=embedder, views=("raw",), dense_store=HostStore(wants_vectors=True))
    index.add(
        [
            Document(f"# {name}\n\nIt lasts for 30 hours.", id=name, title=name, format="markdown")
            for name in NAMES
        ]
    )
    assert retriever(index).search("How long does the Nova C10 last?")
    assert embedder.calls == [["How long does the Nova C10 last?"]]


def test_the_published_code_embeds_the_question_alone() -> None:
    embedder = Seen()
    retriever(phones(embedder), preset="code").search("How long does the Nova C10 last?")
    assert embedder.calls == [["How long does the Nova C10 last?"]]


def test_a_name_no_longer_draws_the_vectors_away_from_what_is_asked() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    name = "Nova Ultra Pro Max A10"
    repeated = (
        f"# {name}\n\n## About\n\nThe {name} is the {name} of all {name}.\n\n## "
        "Battery\n\nCharge lasts 30 hours.\n"
    )
    others = [
        Document(
            f"# Thing {i}\n\nNothing of note.", id=str(i), title=f"Thing B{i}", format="markdown"
        )
        for i in range(4)
    ]
    index.add([Document(repeated, id="a", title=name, format="markdown"), *others])
    best = HiQARetriever(index, keywords=[name], routes=("dense", "keywords")).search(
        f"{name}: charge lasts hours"
    )[0]
    assert best.chunk.path[-1] == "Battery"
