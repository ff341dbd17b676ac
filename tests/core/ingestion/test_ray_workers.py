"""Actors of Ray as workers: the rows of processes, whoever dies."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import Queue
from types import ModuleType, SimpleNamespace
from typing import Any

import ingestion_makers as makers
import pytest
from fixture_cases import examples
from ingestion_making import content, start, wait_for, write_files

from structrag.errors import InvalidParameter, MissingExtra, ModelFailed
from structrag.index.store import Store
from structrag.ingestion import Progress, ingest
from structrag.ingestion.ray_workers import RayRunner, _asked
from structrag.ingestion.tasks import ModelRequest, Task


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two machines with a core each, by its address; both are this one."""
    ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    from ray.cluster_utils import Cluster

    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    machines.add_node(num_cpus=1)
    ray.init(address=machines.address, logging_level="error", log_to_driver=False)
    yield machines
    ray.shutdown()
    machines.shutdown()


def n_saved(place: Path) -> int:
    return len(Store.load(place, verify=True).document_ids) if place.exists() else 0


def undisturbed(folder: Path, make: Any) -> dict[str, Any]:
    """What one process makes of the same files."""
    ingest(folder / "files", folder / "undisturbed", make=make, workers=1)
    return content(folder / "undisturbed")


def test_without_ray_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "files", 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    run = partial(ingest, tmp_path / "files", tmp_path / "index", make=makers.index)
    with pytest.raises(MissingExtra, match=r"'ray' is missing.*structrag\[ray\]"):
        run(runner="ray")
    with pytest.raises(
        InvalidParameter, match="runner must be one of 'process', 'ray'; got 'dask'"
    ):
        run(runner="dask")
    assert not (tmp_path / "index").exists()


@pytest.mark.slow
def test_its_rows_are_those_of_processes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path / "files", 70)
    files[3].write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    monkeypatch.chdir(tmp_path)
    run = partial(ingest, "files", make=makers.index, runner="ray")
    report = run("index")
    assert (report.added, list(report.errors)) == (69, ["files/003.md"])
    ingest("files", "undisturbed", make=makers.index, workers=1)
    assert content(Path("index")) == content(Path("undisturbed"))
    again = run("index")
    assert (again.unchanged, again.bytes) == (69, 0)
    assert sys.modules["ray"].is_initialized()  # it was there before


@pytest.mark.slow
@pytest.mark.parametrize("make", [makers.lsa_index, makers.evidence])
def test_what_vectors_share_reaches_all_actors(
    cluster: Any, tmp_path: Path, make: Any
) -> None:
    write_files(tmp_path / "files", 70)
    ingest(tmp_path / "files", tmp_path / "index", make=make, workers=2, runner="ray")
    assert content(tmp_path / "index") == undisturbed(tmp_path, make)


@pytest.mark.slow
def test_a_worker_that_is_killed_or_takes_too_long(
    cluster: Any, tmp_path: Path
) -> None:
    files = write_files(tmp_path / "files", 40)
    files[5].write_text("# Bad\n\nKILL")
    files[7].write_text("# Bad\n\nRAISE")
    files[30].write_text("# Bad\n\nSLEEP")
    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.moody,
        workers=2,
        runner="ray",
        max_seconds=8,
    )
    assert sorted(report.errors) == [str(files[number]) for number in (5, 7, 30)]
    assert ", the last one with Ray's ActorDied" in report.errors[str(files[5])]
    assert "more than 8 seconds" in report.errors[str(files[30])]
    assert report.errors[str(files[7])] == "ZeroDivisionError: a fault of ours"
    for number in (5, 7, 30):
        files[number].unlink()
    assert content(tmp_path / "index") == undisturbed(tmp_path, makers.moody)


@pytest.mark.slow
def test_a_model_whose_actor_is_killed_is_asked_again(
    cluster: Any, tmp_path: Path
) -> None:
    files = write_files(tmp_path / "files", 40)
    files[5].write_text("# Good\n\nIt is no KILL the second time.")
    log = tmp_path / "died"
    run = partial(
        ingest,
        tmp_path / "files",
        make=makers.index_with,
        shared_model=True,
        workers=2,
        runner="ray",
    )
    report = run(tmp_path / "index", makers.Mortal(str(log)))
    assert log.exists() and report.errors == {}
    assert content(tmp_path / "index") == undisturbed(tmp_path, makers.index)
    # One that dies with every such text leaves that file out alone.
    report = run(tmp_path / "other", makers.Mortal())
    assert (report.added, list(report.errors)) == (39, [str(files[5])])
    assert "the model's actor ended 4 times (Ray's " in report.errors[str(files[5])]


@pytest.mark.slow
def test_what_is_raised_elsewhere_is_raised_here(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "files", 1)
    run = partial(
        ingest, tmp_path / "files", tmp_path / "index", workers=1, runner="ray"
    )
    with pytest.raises(InvalidParameter, match="it raised OSError: no weights here"):
        run(make=makers.raising)
    with pytest.raises(
        InvalidParameter, match="shared_model needs an embedding that is a model"
    ):
        run(shared_model=True)
    with pytest.raises(
        InvalidParameter, match="embedding must be the name or folder of a model"
    ):
        run(lambda texts: texts, shared_model=True)
    with pytest.raises(
        ModelFailed, match="3 processes in a row ended with Ray's ActorDied"
    ):
        run(make=makers.dying)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getcwd", lambda: "/no/such/folder")
        with pytest.raises(
            InvalidParameter, match=r"'/no/such/folder' on .*: No such file"
        ):
            run(make=makers.index)
    assert not (tmp_path / "index").exists()


@pytest.mark.slow
def test_the_driver_is_killed_and_begins_again(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    write_files(tmp_path / "files", 100)
    driver = start(tmp_path, "slow", workers=2, save_every=0.1, runner="ray")
    wait_for(lambda: n_saved(tmp_path / "index") > 0, seconds=120)
    driver.kill()
    assert driver.wait() < 0
    before = n_saved(tmp_path / "index")
    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.slow,
        workers=2,
        runner="ray",
    )
    assert 0 < report.unchanged == before < 100
    assert content(tmp_path / "index") == undisturbed(tmp_path, makers.slow)


@pytest.mark.slow
def test_a_machine_goes_away(cluster: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "files", 150)
    third = cluster.add_node(num_cpus=1)
    gone = []

    def go(progress: Progress) -> None:
        if not gone:
            gone.append(third)
            cluster.remove_node(third, allow_graceful=False)

    report = ingest(
        tmp_path / "files",
        tmp_path / "index",
        make=makers.slow,
        workers=3,
        runner="ray",
        progress=go,
    )
    assert gone and (report.added, report.errors) == (150, {})
    assert content(tmp_path / "index") == undisturbed(tmp_path, makers.slow)


class Actor:
    """Stands for an actor of Ray; calls of its methods are noted."""

    def __init__(self, kind: type, options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.answers: list[Future[bytes]] = []

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            answer: Future[bytes] = Future()
            self.answers.append(answer)
            return SimpleNamespace(future=lambda: answer, result=name)

        return SimpleNamespace(remote=remote)


class FakeRay(ModuleType):
    """Ray without a cluster, on machines with these resources."""

    def __init__(self, *, is_running: bool = False, **resources: float) -> None:
        super().__init__("ray")
        self.is_running, self.resources = is_running, resources
        self.actors: list[Actor] = []
        self.log: list[str] = []
        self.exceptions = SimpleNamespace(RayError=OSError, RayTaskError=KeyError)

    def is_initialized(self) -> bool:
        return self.is_running

    def init(self, **_: Any) -> None:
        self.log.append("init")

    def shutdown(self) -> None:
        self.log.append("shutdown")

    def kill(self, actor: Actor) -> None:
        self.log.append("kill")

    def available_resources(self) -> dict[str, float]:
        return self.resources

    def get(self, answer: Any) -> Any:
        return f"the {answer.result}"

    def remote(self, kind: type) -> Any:
        def options(**settings: Any) -> Any:
            def make(*_: Any) -> Actor:
                self.actors.append(Actor(kind, settings))
                return self.actors[-1]

            return SimpleNamespace(remote=make)

        return SimpleNamespace(options=options)


def runner_over(
    monkeypatch: pytest.MonkeyPatch, ray: FakeRay, **options: Any
) -> RayRunner:
    monkeypatch.setitem(sys.modules, "ray", ray)
    return RayRunner(options.get("embedding"), options.get("shared_model", False))


@examples
def test_there_is_room_for_a_worker_a_free_core(
    monkeypatch: pytest.MonkeyPatch, resources: dict[str, float], cores: int
) -> None:
    runner = runner_over(monkeypatch, FakeRay(**resources))
    assert (runner.cores, runner.model) == (cores, None)


@examples
def test_a_ray_that_runs_already_is_left_running(
    monkeypatch: pytest.MonkeyPatch, is_running: bool, log: list[str]
) -> None:
    ray = FakeRay(is_running=is_running)
    runner_over(monkeypatch, ray).close()
    assert ray.log == log


@examples
def test_there_is_a_model_for_each_free_gpu_or_one(
    monkeypatch: pytest.MonkeyPatch, gpus: float, models: int, gpus_each: int
) -> None:
    ray = FakeRay(GPU=gpus)
    runner = runner_over(monkeypatch, ray, embedding="some/model", shared_model=True)
    assert runner.model == "the facts"
    assert [actor.options["num_gpus"] for actor in ray.actors] == [gpus_each] * models
    assert ray.actors[0].options["num_cpus"] == 0  # none of its workers' cores
    assert ray.actors[0].options["max_restarts"] == -1  # as often as need be
    workers = [runner.start(b"setup", Queue(), 2) for _ in range(models + 1)]
    setups = [actor.calls[0][1] for actor in ray.actors[models:]]
    turns = [*ray.actors[:models], ray.actors[0]]
    assert [setup[1:] for setup in setups] == [(b"setup", model) for model in turns]
    assert all(actor.options == {"num_cpus": 1} for actor in ray.actors[models:])
    workers[0].close()
    runner.close()
    assert ray.log == ["init", *["kill"] * (1 + models), "shutdown"]


def test_a_model_that_cannot_be_sent_ends_what_was_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = FakeRay()
    with pytest.raises(InvalidParameter, match="function raised"):
        runner_over(monkeypatch, ray, embedding=lambda texts: texts, shared_model=True)
    assert ray.log == ["init", "shutdown"]


def test_an_actor_answers_or_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, replies = FakeRay(), Queue[Any]()
    worker = runner_over(monkeypatch, ray).start(b"setup", replies, 1)
    (actor,) = ray.actors
    actor.answers[0].set_result(pickle.dumps("ready"))
    assert replies.get(timeout=10) == (worker, "ready")
    assert worker.ending() == "by itself"
    worker.give(Task(0, ("a.md",), {}, {}))
    actor.answers[1].set_exception(OSError("no memory"))
    assert replies.get(timeout=10) == (worker, None)
    assert worker.ending() == "with Ray's OSError"


def test_a_model_that_ended_too_often_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = FakeRay()

    def ended(answer: Any) -> Any:
        raise OSError("actor died")

    monkeypatch.setattr(ray, "get", ended)
    with pytest.raises(ModelFailed, match=r"ended 4 times .* \(Ray's OSError\)"):
        runner_over(monkeypatch, ray, embedding="some/model", shared_model=True)
    answer = _asked(Actor(object, {}), ModelRequest("embed", ("a",)))
    assert answer.failure == "the model's actor ended 4 times (Ray's OSError)"
