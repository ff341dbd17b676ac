"""Workers of an ingestion as actors of Ray. They run on this machine or on many. The driver is that
of processes. It gives out the same tasks and stores what comes back, so an ingestion goes on after
anything by the same rules. An actor that dies is a worker that dies."""

from __future__ import annotations

import os
import pickle
from functools import partial
from itertools import cycle
from queue import SimpleQueue
from typing import Any

from structrag._locks import Lock
from structrag.errors import InvalidParameter, ModelFailed, require
from structrag.ingestion.tasks import (
    ModelFacts,
    ModelReply,
    ModelRequest,
    ModelServer,
)
from structrag.ingestion.worker import Preparer, started
from structrag.ingestion.workers import Replies, Worker, WorkerPool
from structrag.reading.child import adopt
from structrag.reading.processes import environment

Place = dict[str, Any]  # the driver's `environment()`

TRIES = 3  # more of a call whose actor has died
WAITING = 64  # calls that a model's actor puts together


class PreparingActor:
    """A worker where it runs."""

    preparer: Preparer | None

    def ready(self, place: Place, setup: bytes, model: Any) -> bytes:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        ask = None if model is None else partial(_asked, model)
        self.preparer, first_words = started(partial(_loaded, place, setup), ask)
        return pickle.dumps(first_words)

    # What passes through Ray is bytes: arrays in its shared memory could not be written to, and
    # would fill it while their documents wait to be saved.
    def done(self, task: bytes) -> bytes:
        assert self.preparer is not None  # noqa: S101
        return pickle.dumps(self.preparer.done(pickle.loads(task)))


class ModelActor:
    """One model for many workers. Those that wait together are answered in one call."""

    def __init__(self, place: Place, embedding: bytes) -> None:
        self._place, self._embedding = place, embedding
        self._lock = Lock()
        self._server: ModelServer | None = None

    def facts(self) -> ModelFacts:
        return self._made().facts

    def answer(self, asked: ModelRequest) -> bytes:
        answers: SimpleQueue[ModelReply] = SimpleQueue()
        self._made().asked.put((asked, answers.put))
        return pickle.dumps(answers.get())

    def _made(self) -> ModelServer:
        """The model. It is not loaded by the constructor, whose errors Ray only quotes."""
        with self._lock:
            if self._server is None:
                self._server = ModelServer(_loaded(self._place, self._embedding))
            return self._server


def _loaded(place: Place, pickled: bytes) -> Any:
    """What was sent. Paths and names of modules are the driver's."""
    adopt(place)
    try:
        os.chdir(place["folder"])
    except OSError as error:
        raise InvalidParameter(
            "ingest must run in a folder that exists on every machine of the cluster; got "
            f"{place['folder']!r} on {os.uname().nodename}: {error.strerror}. Run it in a shared "
            "folder."
        ) from error
    return pickle.loads(pickled)


def _asked(model: Any, asked: ModelRequest) -> ModelReply:
    """What a model's actor answers. One that has died is started again by Ray, and asked again."""
    ray: Any = require("ray", extra="ray")
    try:
        answer: ModelReply = pickle.loads(ray.get(model.answer.remote(asked)))
    except ray.exceptions.RayError as error:
        return ModelReply(
            failure=f"the model's actor ended {1 + TRIES} times ({_kind(error)})"
        )
    return answer


def _kind(error: BaseException) -> str:
    return f"Ray's {type(error).__name__}"


class RayRunner(WorkerPool):
    """Actors of the cluster at RAY_ADDRESS, or of a Ray started here. One that this process has
    started or joined before is used as it is."""

    def __init__(self, embedding: Any, shared_model: bool) -> None:
        self._ray: Any = require("ray", extra="ray")
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            try:
                self._ray.init(logging_level="warning")
            except Exception as error:
                raise ModelFailed(
                    f"Ray could not be started or reached: {error} Set RAY_ADDRESS to a running "
                    "cluster, or to 'local' for this machine."
                ) from error
        self._models: list[Any] = []
        try:
            free = self._ray.available_resources()
            self.cores = max(1, int(free.get("CPU", 1)))
            if shared_model:
                self._start_models(embedding, int(free.get("GPU", 0)))
                self.model = self._facts(self._models[0])
        except BaseException:
            self.close()
            raise
        self._turns = cycle(self._models or [None])

    def _start_models(self, embedding: Any, gpus: int) -> None:
        """An actor for each GPU, or one."""
        try:
            sent = pickle.dumps(embedding)
        except Exception as error:
            raise InvalidParameter(
                "embedding must be the name or folder of a model, or something that pickle can "
                f"send to another process; {type(embedding).__name__} raised "
                f"{type(error).__name__}: {error}."
            ) from error
        actor = self._ray.remote(ModelActor).options(
            num_cpus=0,  # it must not wait for a core that its workers have
            num_gpus=min(gpus, 1),
            max_concurrency=WAITING,
            max_restarts=-1,
            max_task_retries=TRIES,
        )
        self._models += [actor.remote(environment(), sent) for _ in range(max(1, gpus))]

    def _facts(self, model: Any) -> ModelFacts:
        try:
            facts: ModelFacts = self._ray.get(model.facts.remote())
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise ModelFailed(
                f"The model's actor ended {1 + TRIES} times before the model was loaded "
                f"({_kind(error)}). Read what it printed, and check the memory of its machine."
            ) from error
        return facts

    def start(self, setup: bytes, replies: Replies, count: int) -> Worker:
        actor = self._ray.remote(PreparingActor).options(num_cpus=1).remote()
        worker = RayWorker(replies, self._ray, actor)
        worker.hear(actor.ready.remote(environment(), setup, next(self._turns)))
        return worker

    def close(self) -> None:
        for model in self._models:
            self._ray.kill(model)
        if self._is_ours:
            self._ray.shutdown()


class RayWorker(Worker):
    """An actor that prepares documents."""

    def __init__(self, replies: Replies, ray: Any, actor: Any) -> None:
        super().__init__(replies)
        self._ray, self._actor = ray, actor
        self._error: BaseException | None = None

    def _send(self, request: bytes) -> None:
        self.hear(self._actor.done.remote(request))

    def hear(self, answer: Any) -> None:
        """Put its answer, or its end, among the replies."""
        answer.future().add_done_callback(self._take)

    def _take(self, answer: Any) -> None:
        try:
            reply = pickle.loads(answer.result())
        except BaseException as error:  # noqa: BLE001 - whatever it was, it has no answer
            self._error, reply = error, None
        self.replies.put((self, reply))

    def ending(self) -> str:
        return f"with {_kind(self._error)}" if self._error is not None else "by itself"

    def kill(self) -> None:
        self._ray.kill(self._actor)

    def close(self) -> None:
        self.kill()
