"""Splitters that ask models: side by side, with answers remembered, on an index's own models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag.asking.cache import Cache
from structrag.asking.requests import Ask, Embed
from structrag.asking.runner import Runner
from structrag.asking.steps import remembering, together
from structrag.chunks.asking_splitter import ReadingSplitter, groups_of
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.index.index import Index
from structrag.reading.files import read_text

DOCUMENTS = [
    read_text(
        " ".join(f"Document {d} says thing {i} of {i % 5}." for i in range(40)),
        id=f"d{d}",
        title=f"T{d}",
    )
    for d in range(3)
]
SPLITTER = PICSplitter(max_tokens=60, min_tokens=10)


def asking(*rounds: Any) -> Any:
    answers = []
    for requests in rounds:
        answers.append((yield list(requests)))
    return answers


class Counting(Runner):
    """A runner that notes the requests of each round."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rounds: list[Any] = []

    def _answer(self, requests: Any) -> list[Any]:
        self.rounds.append(list(requests))
        return super()._answer(requests)


def test_side_by_side_all_texts_of_a_round_are_one_request() -> None:
    runner = Counting(embedder=HashEmbedder(), llm=ScriptedModel(str.upper))
    first = asking([Embed(("a", "b")), Ask("one")], [Embed(("c",), query=True)])
    second = asking([Ask("two"), Embed(("b",)), Embed((), query=True), Embed(("q",), query=True)])
    one, two = runner.run(together([first, second]))
    assert [len(requests) for requests in runner.rounds] == [4, 1]
    vector = HashEmbedder().vector
    assert one[0][1] == "ONE" and np.array_equal(one[0][0], [vector("a"), vector("b")])
    assert np.array_equal(one[1][0], [vector("c")])
    assert two[0][0] == "TWO" and np.array_equal(two[0][1], [vector("b")])
    assert two[0][2].shape[0] == 0 and np.array_equal(two[0][3], [vector("q")])
    assert runner.run(together([])) == []


def test_what_was_answered_is_not_asked_again_except_votes() -> None:
    llm, embedder = ScriptedModel(str.upper), HashEmbedder()
    vote = Ask("vote", use_cache=False)
    rounds = [
        [Ask("one"), Embed(("a", "b")), vote, vote],
        [Ask("one"), Ask("two"), Embed(("b", "c")), Embed(("a",), query=True), vote, Embed(())],
        [Ask("two"), Embed(("c", "a"))],
    ]
    remembered = Runner(embedder=embedder, llm=llm).run(remembering(asking(*rounds)))
    plain = Runner(embedder=HashEmbedder(), llm=ScriptedModel(str.upper)).run(asking(*rounds))
    for ours, expected in zip(remembered, plain, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, expected, strict=True))
    assert sorted(llm.prompts) == ["one", "two", "vote", "vote", "vote"]
    assert sorted(embedder.texts) == ["a", "b", "c"] and embedder.queries == ["a"]


def test_groups_are_bounded_and_lazy() -> None:
    assert [len(group) for group in groups_of(range(600), lambda _: 10)] == [256, 256, 88]
    assert [len(group) for group in groups_of(range(5), lambda _: 200_000)] == [2, 2, 1]
    assert list(groups_of([], lambda _: 1)) == []


def test_a_splitter_must_say_how_it_splits() -> None:
    with pytest.raises(TypeError, match="must define explain_steps"):
        ReadingSplitter().split(DOCUMENTS[0])


def test_an_index_splits_with_its_own_models_and_counts_them() -> None:
    llm, embedder = ScriptedModel("Document says thing 3."), HashEmbedder()
    index = Index(splitter=SPLITTER, embedder=embedder, llm=llm, views=("raw",))
    report = index.add(DOCUMENTS)
    expected = list(
        SPLITTER.split_all(
            DOCUMENTS, embedder=HashEmbedder(), llm=ScriptedModel("Document says thing 3.")
        )
    )
    assert [chunk for chunks in expected for chunk in chunks] == index.chunks()
    assert report.usage["calls"] == 3 and len(llm.prompts) == 3
    assert not report.usage["fallbacks"]


def test_an_index_without_an_encoder_splits_by_each_documents_own_sentences() -> None:
    llm = ScriptedModel("Document says thing 3.")
    index = Index(splitter=SPLITTER, llm=llm, views=("raw",))
    index.add(DOCUMENTS)
    expected = SPLITTER.split(DOCUMENTS[1], llm=ScriptedModel("Document says thing 3."))
    assert index.chunks("d1") == expected
    assert len(llm.prompts) == 3


def test_chunks_made_without_their_summary_are_counted_and_made_again() -> None:
    llm = ScriptedModel(RuntimeError("down"))
    index = Index(splitter=SPLITTER, embedder=HashEmbedder(), llm=llm, views=("raw",))
    report = index.add(DOCUMENTS)
    assert report.usage["fallbacks"] == {"chunks": report.chunks}
    llm.script = "Document says thing 3."
    again = index.add(DOCUMENTS)
    assert again.unchanged == 0 and not again.usage["fallbacks"]
    assert index.add(DOCUMENTS).unchanged == 3


@pytest.mark.parametrize(
    "splitter",
    [
        PICSplitter(max_tokens=60),
        IDMSSplitter(max_tokens=60),
        IDMSSplitter(max_tokens=60, margin="words"),
    ],
    ids=["pic", "idms", "idms by words"],
)
def test_reused_vectors_embed_nothing_twice_and_can_be_searched(
    splitter: PICSplitter | IDMSSplitter,
) -> None:
    embedder = HashEmbedder()
    index = Index(splitter=splitter, embedder=embedder, views=("raw",))
    index.add([*DOCUMENTS, read_text("", id="empty"), read_text("Short one.", id="short")])
    sentences = {
        f"Document {d} says thing {i} of {i % 5}." for d in range(3) for i in range(40)
    } | {"Short one."}
    assert sorted(embedder.texts) == sorted(sentences)
    hits = index.search("Document 2 says thing 7 of 2.", k=3)
    assert hits[0].chunk.doc_id == "d2"


def test_both_runs_cost_the_same_with_a_cache(tmp_path: Any) -> None:
    embedder = HashEmbedder()
    for _ in range(2):
        list(
            SPLITTER.split_all(
                DOCUMENTS, runner=Runner(embedder=embedder, cache=Cache(tmp_path / "cache"))
            )
        )
    assert len(embedder.texts) == len(set(embedder.texts)) == 120
