"""One model of the driver for all workers."""

from __future__ import annotations

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
from structrag.ingestion.tasks import (
    ModelReply,
    ModelRequest,
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
    def ask(asked: ModelRequest) -> ModelReply:
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


def test_a_failure_and_a_wrong_number_of_vectors_are_told() -> None:
    for model, sentence in (
        (makers.Broken(), "ConnectionError: no server"),
        (lambda texts: np.ones((1, 2)), "1 answers for 2 texts"),
    ):
        with ModelServer(model) as server, pytest.raises(RuntimeError, match=sentence):
            remote(server).embed(["DOWN", "b"])


@pytest.mark.slow
def test_the_index_is_that_of_one_process(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", 30)
    model = HashTokens()
    report = ingest(
        tmp_path / "files", tmp_path / "many", model, shared_model=True, workers=2
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


@pytest.mark.slow
def test_with_a_make_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 5)
    arguments = {"make": makers.index_with, "shared_model": True, "workers": 1}
    ingest(
        tmp_path / "files", tmp_path / "index", HashEmbedder(max_tokens=40), **arguments
    )
    store = Store.load(tmp_path / "index")
    assert len(store.document_ids) == 5
    assert store.reader().search_dense("raw", np.ones(64), 3)


def test_a_model_that_fails_stops_it_and_one_that_refuses_a_file_does_not(
    tmp_path: Path,
) -> None:
    files = write_files(tmp_path / "files", 3)
    files[0].write_text("# It\n\nIs DOWN.")
    files[1].write_text("# It\n\nIs REFUSED.")
    arguments: dict[str, Any] = {
        "make": makers.index_with,
        "shared_model": True,
        "workers": 1,
    }
    target = tmp_path / "index"
    with pytest.raises(ModelFailed, match=r"no server.*/000\.md'; finished documents"):
        ingest(files[1:] + files[:1], target, makers.Broken(), **arguments)
    report = ingest(files[1:], target, makers.Broken(), **arguments)
    assert (report.added, list(report.errors)) == (1, [str(files[1])])
    assert "ValueError: not this text" in report.errors[str(files[1])]


def test_lsa_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 1)
    with pytest.raises(
        InvalidParameter, match="shared_model needs an embedding that is a model"
    ):
        ingest(tmp_path / "files", tmp_path / "index", shared_model=True)
    assert not (tmp_path / "index").exists()
