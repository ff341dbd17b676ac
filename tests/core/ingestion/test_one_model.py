"""One model of the driver for all workers."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import ingestion_makers as makers
import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens

import structrag
from structrag.errors import InvalidParameter, ModelFailed
from structrag.index.store import Store
from structrag.ingestion import ingest
from structrag.ingestion.one_model import (
    Asked,
    ModelFacts,
    ModelReply,
    ModelServer,
    RemoteEmbedder,
)


def write_files(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    files = []
    for i in range(count):
        file = folder / f"{i:03}.md"
        file.write_text(f"# Title {i}\n\n" + f"Some words about {i * 7 % 50}. " * 20)
        files.append(file)
    return files


def remote(server: ModelServer) -> RemoteEmbedder:
    def ask(asked: Asked) -> ModelReply:
        answers: SimpleQueue[ModelReply] = SimpleQueue()
        server.asked.put((asked, answers.put))
        return answers.get(timeout=60)

    return RemoteEmbedder(server.facts, ask)


def test_a_worker_has_the_model_as_it_is() -> None:
    model = HashTokens()
    with ModelServer(model) as server:
        there = remote(server)
        assert (there.name, there.max_tokens, there.gives_tokens) == (
            model.name,
            None,
            True,
        )
        assert (there.embed(["a b", "c"]) == model.embed(["a b", "c"])).all()
        (tokens,) = there.embed_tokens(["a b"], query=True)
        assert (tokens.vectors == model.embed_tokens(["a b"])[0].vectors).all()
        assert there.count_tokens("a b c") == 3
    with ModelServer(lambda texts: np.ones((len(texts), 2))) as server:
        assert not server.facts.gives_tokens
        assert not hasattr(remote(server), "count_tokens")


def test_a_worker_counts_by_itself_where_it_can() -> None:
    class Counted(HashTokens):
        def count_tokens(self, text: str) -> int:
            raise AssertionError("it was asked")

        def token_counter(self) -> Any:
            return len

    with ModelServer(Counted()) as server:
        assert remote(server).count_tokens("a b c") == 5


def test_those_who_wait_are_answered_together_and_each_gets_its_own() -> None:
    entered, goes_on = threading.Event(), threading.Event()

    class Held(HashEmbedder):
        calls = 0

        def embed(self, texts: Any, *, query: bool = False) -> Any:
            self.calls += 1
            entered.set()
            assert goes_on.wait(60)
            return super().embed(texts, query=query)

    model = Held()
    with ModelServer(model) as server:
        there, vectors = remote(server), {}

        def ask(text: str) -> None:
            vectors[text] = there.embed([text, text + " more"])

        threads = [
            threading.Thread(target=ask, args=(word,))
            for word in ("one", "two", "three")
        ]
        threads[0].start()
        assert entered.wait(60)
        for thread in threads[1:]:
            thread.start()
        while server.asked.qsize() < 2:
            pass
        goes_on.set()
        for thread in threads:
            thread.join()
    assert model.calls == 2
    plain = HashEmbedder()
    for word, answer in vectors.items():
        assert (answer == plain.embed([word, word + " more"])).all()


def test_a_failure_and_a_wrong_number_of_vectors_are_told() -> None:
    for model, sentence in (
        (makers.Broken(), "ConnectionError: no server"),
        (lambda texts: np.ones((1, 2)), "1 answers for 2 texts"),
    ):
        with ModelServer(model) as server, pytest.raises(RuntimeError, match=sentence):
            remote(server).embed(["DOWN", "b"])


def test_the_index_is_that_of_one_process(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 30)
    model = HashTokens()
    report = ingest(
        tmp_path / "files", tmp_path / "many", model, one_model=True, workers=2
    )
    assert (report.added, report.errors) == (30, {})
    alone = structrag.EvidenceRetriever(HashTokens())
    alone.add([structrag.read_file(file) for file in files])
    many = structrag.EvidenceRetriever.load(tmp_path / "many", HashTokens())
    for question in ("words about 7", "Title 12"):
        there, here = many.search(question), alone.search(question)
        assert [hit.chunk for hit in there] == [hit.chunk for hit in here]
        # the workers' batches are other ones, so a rounded token vector may be too
        assert [hit.score for hit in there] == pytest.approx(
            [hit.score for hit in here], abs=1e-3
        )


def test_with_a_make_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 5)
    arguments = {"make": makers.index_with, "one_model": True, "workers": 1}
    ingest(
        tmp_path / "files", tmp_path / "index", HashEmbedder(max_tokens=40), **arguments
    )
    store = Store.load(tmp_path / "index")
    assert len(store.document_ids) == 5
    assert store.search_dense("raw", np.ones(64), 3)


def test_a_model_that_fails_stops_it_and_one_that_refuses_a_file_does_not(
    tmp_path: Path,
) -> None:
    files = write_files(tmp_path / "files", 3)
    files[0].write_text("# It\n\nIs DOWN.")
    files[1].write_text("# It\n\nIs REFUSED.")
    arguments: dict[str, Any] = {
        "make": makers.index_with,
        "one_model": True,
        "workers": 1,
    }
    target = tmp_path / "index"
    with pytest.raises(ModelFailed, match=r"no server.*/000\.md'; what was finished"):
        ingest(files[1:] + files[:1], target, makers.Broken(), **arguments)
    report = ingest(files[1:], target, makers.Broken(), **arguments)
    assert (report.added, list(report.errors)) == (1, [str(files[1])])
    assert "ValueError: not this text" in report.errors[str(files[1])]


def test_a_text_that_is_refused_fails_the_worker_alone_that_asked_for_it() -> None:
    with ModelServer(makers.Broken()) as server:
        answers: SimpleQueue[ModelReply] = SimpleQueue()
        asked = [Asked("embed", (text,)) for text in ("one", "REFUSED", "two")]
        server._answer("embed", False, [(one, answers.put) for one in asked])
        failures = [answers.get(timeout=60).failure for _ in asked]
    assert failures == [None, "ValueError: not this text", None]


def test_lsa_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    with pytest.raises(
        InvalidParameter, match="one_model needs an embedding that is a model"
    ):
        ingest(tmp_path / "files", tmp_path / "index", one_model=True)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("query", [False, True])
def test_questions_and_texts_are_embedded_as_such(query: bool) -> None:
    class Noted(HashEmbedder):
        def __init__(self) -> None:
            super().__init__(max_tokens=7)
            self.are_queries: list[bool] = []

        def embed(self, texts: Any, *, query: bool = False) -> Any:
            self.are_queries.append(query)
            return super().embed(texts, query=query)

    model = Noted()
    with ModelServer(model) as server:
        there = remote(server)
        assert there.max_tokens == 7
        there.embed(["a"], query=query)
        there.embed(["a"])
    assert model.are_queries == [query, False]


def test_each_gets_as_many_answers_as_it_asked_for() -> None:
    with ModelServer(HashEmbedder()) as server:
        answers: list[SimpleQueue[ModelReply]] = [SimpleQueue() for _ in range(3)]
        texts = [("a",), ("b", "c"), ("d", "e", "f")]
        asked = [Asked("embed", part) for part in texts]
        items = [(one, told.put) for one, told in zip(asked, answers, strict=True)]
        server._answer("embed", False, items)
        vectors = [told.get(timeout=60).values for told in answers]
    plain = HashEmbedder()
    for part, values in zip(texts, vectors, strict=True):
        assert (values == plain.embed(list(part))).all() and len(values) == len(part)


def test_a_text_is_counted_once() -> None:
    asked: list[Asked] = []

    def ask(one: Asked) -> ModelReply:
        asked.append(one)
        return ModelReply([len(one.texts[0])])

    facts = ModelFacts("shared", None, counts_tokens=True, gives_tokens=False)
    there = RemoteEmbedder(facts, ask)
    assert [there.count_tokens("abc"), there.count_tokens("abc")] == [3, 3]
    assert asked == [Asked("count_tokens", ("abc",))]
