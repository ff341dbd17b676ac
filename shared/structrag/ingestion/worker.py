"""The child's part of an ingestion. It reads files, prepares their documents, and sends them to the
driver. It is started by `structrag.ingestion.workers`. Requests come over standard input, replies
go to standard output, both pickled; whatever else prints goes to standard error."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO
from uuid import uuid4

from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    MissingExtra,
    ModelFailed,
    StructragError,
)
from structrag.index.document_index import DocumentIndex
from structrag.index.entries import Entry
from structrag.index.snapshot import Settings
from structrag.index.store import Store
from structrag.ingestion.tasks import (
    ModelReply,
    ModelRequest,
    Ready,
    RemoteEmbedder,
    Setup,
    Stopped,
    Task,
    TaskResult,
    refusal,
)
from structrag.model_calls.requests import Embed, EmbedTokens, Flow, Request
from structrag.model_calls.usage import COUNTS
from structrag.reading.files import read_file
from structrag.records import Document
from structrag.retrieval.d3.index import D3AddReport
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.multiview import MultiViewRetriever

GARBAGE = 100_000  # new objects after which circles are looked for
_OF_A_MODEL = (ModelFailed, InvalidAnswer)  # it is down, or refuses a text
_OF_ALL_FILES = (BudgetExceeded, MissingExtra)  # other files would meet these too


class Collected(Store):
    """Takes what a retriever stores, for the driver's store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.settings.levels)
        self.settings: Settings = store.settings
        self.entries: dict[str, Entry] = {}
        # Documents of the driver's store, fingerprints.
        self.present: Mapping[str, str] = {}

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.entries or doc_id in self.present

    def fingerprints(self, doc_ids: Sequence[str]) -> dict[str, str]:
        """As of the driver's store, with what was prepared here since."""
        prints = dict(self.present)
        prints |= {doc_id: entry.fingerprint for doc_id, entry in self.entries.items()}
        return {doc_id: prints[doc_id] for doc_id in doc_ids if doc_id in prints}

    def unchanged_ids(self, entries: Sequence[Entry]) -> set[str]:
        return set()

    def put(self, entry: Entry) -> None:
        # The text is in the chunks or arrays.
        bare = replace(entry.document, text="", layout=None)
        self.entries[entry.document.id] = replace(entry, document=bare)


class Preparer:
    """A retriever that prepares documents without keeping them."""

    def __init__(
        self, setup: Setup, ask: Callable[[ModelRequest], ModelReply] | None = None
    ) -> None:
        if setup.model is None or ask is None:
            retriever = setup.make()
        else:
            retriever = setup.make(RemoteEmbedder(setup.model, ask))
        if isinstance(retriever, MultiViewRetriever):
            retriever = retriever.index
        self.retriever = retriever
        self.reading: Mapping[str, Any] = setup.reading
        if not isinstance(retriever, DocumentIndex):
            raise InvalidParameter(
                "make must return an EvidenceRetriever, an Index, a MultiViewRetriever or a "
                f"D3Index; got {type(retriever).__name__}. Add documents to other retrievers by "
                "their own add."
            )
        if retriever.host.dense_store is not None:
            raise InvalidParameter(
                "make must return an index without a dense_store: several processes cannot share "
                "a host's store. Add its documents in one process."
            )
        self.collected: Collected = Collected(retriever.own_store)
        retriever.use(self.collected)
        self.before: dict[str, Any] = dict.fromkeys(COUNTS, 0)
        self.chunks: int = 0  # of the task at hand
        self.at_fault: str = ""  # the file after which a model was down

    def ready(self) -> Ready:
        embedder = getattr(self.retriever, "embedder", None)
        return Ready(
            self.collected.settings,
            self.retriever.config(),
            hasattr(embedder, "fit"),
            self._is_settled(),
        )

    def done(self, task: Task) -> TaskResult | Stopped:
        """Prepare the files of a task. Stopped by an error that other files would meet too."""
        self.collected.entries = {}
        self.collected.present = task.fingerprints
        self.collected.shared = dict(task.shared)
        self.chunks, self.at_fault = 0, ""
        documents, errors = self._read(task.paths)
        try:
            errors |= self._add(documents)
        except StructragError as error:
            return Stopped(_portable(error), self._suspects(documents))
        entries = self.collected.entries
        unchanged = [
            document.id
            for document in documents
            if document.id not in entries and document.id in task.fingerprints
        ]
        counts = self.retriever.usage.as_dict()
        usage = {name: counts[name] - self.before[name] for name in COUNTS}
        self.before = counts
        return TaskResult(
            task.number,
            [entries[document.id] for document in documents if document.id in entries],
            self.chunks,
            [doc_id for doc_id in unchanged if doc_id not in errors],
            errors,
            dict(self.collected.shared),
            self._is_settled(),
            usage,
        )

    def _is_settled(self) -> bool:
        retriever = self.retriever
        if (
            isinstance(retriever, EvidenceRetriever)
            and retriever.token_encoder is not None
        ):
            return retriever.level.quantiser is not None
        return True

    def _read(self, paths: Sequence[str]) -> tuple[list[Document], dict[str, str]]:
        documents: list[Document] = []
        errors: dict[str, str] = {}
        for path in paths:
            try:
                documents.append(read_file(path, **self.reading))
            except Exception as error:  # noqa: BLE001 - one bad file does not stop the others
                errors[path] = _sentence(error)
        return documents, errors

    def _add(self, documents: Sequence[Document]) -> dict[str, str]:
        """Prepare documents together; where that fails, each by itself. Gives errors by id."""
        try:
            report = self.retriever.add(documents)
            self.chunks += (
                report.paragraphs if isinstance(report, D3AddReport) else report.chunks
            )
        except _OF_ALL_FILES:
            raise
        except Exception as error:  # noqa: BLE001 - one bad file does not stop the others
            if len(documents) == 1:
                return {documents[0].id: self._of_file(documents[0].id, error)}
            errors: dict[str, str] = {}
            for document in documents:  # those that were finished are not made again
                errors |= self._add([document])
            return errors
        return {}

    def _of_file(self, path: str, error: Exception) -> str:
        """Why one file is left out. Raises the error of a model that is down."""
        if not isinstance(error, _OF_A_MODEL):
            return _sentence(error)
        if not self._models_answer():
            self.at_fault = path
            raise error
        return refusal(path, error)

    def _suspects(self, documents: Sequence[Document]) -> tuple[str, ...]:
        """The files that may have stopped it. The one tried alone, if others were before it."""
        ids = tuple(document.id for document in documents)
        return ids if self.at_fault in {"", ids[0]} else (self.at_fault,)

    def _models_answer(self) -> bool:
        """Whether those that embed take a short text. No cache can know it."""
        text = (f"probe {uuid4().hex}",)
        requests: list[Request] = []
        embedder = self.retriever.embedder
        if embedder is not None and not hasattr(embedder, "fit"):
            requests.append(Embed(text))
        encoder = getattr(self.retriever, "token_encoder", None)
        if encoder is not None:
            requests.append(EmbedTokens(text, encoder))
        try:
            self.retriever.runner.run(_asking(requests))
        except _OF_A_MODEL:
            return False
        return bool(requests)


def _asking(requests: list[Request]) -> Flow[None]:
    """Steps that make requests and end."""
    yield requests


def _sentence(error: Exception) -> str:
    if isinstance(error, StructragError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _portable(error: StructragError) -> StructragError:
    """An error that can be sent to the driver. It is of its own class if possible."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - a model's own class may want other arguments
        return ModelFailed(str(error))
    return error


def started(
    setup: Callable[[], Setup], ask: Callable[[ModelRequest], ModelReply] | None
) -> tuple[Preparer | None, Ready | Stopped]:
    """A worker's preparer and first words; None where it cannot begin."""
    try:
        preparer = Preparer(setup(), ask)
        # What was imported and loaded stays. Chunks are many objects without circles: looking for
        # these is a tenth of the work.
        gc.freeze()
        gc.set_threshold(GARBAGE)
        return preparer, preparer.ready()
    except StructragError as error:
        return None, Stopped(_portable(error))
    except Exception as error:  # noqa: BLE001 - whatever `make` raises
        sentence = f"make must return a retriever; it raised {_sentence(error)}"
        return None, Stopped(InvalidParameter(sentence))


def main() -> None:
    """Answer tasks until standard input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints must not be taken for a reply
    requests = sys.stdin.buffer

    def ask(asked: ModelRequest) -> ModelReply:
        _send(replies, asked)
        try:
            answer: ModelReply = pickle.load(requests)
        except EOFError:
            os._exit(1)  # the driver is gone
        return answer

    preparer, first_words = started(partial(pickle.load, requests), ask)
    _send(replies, first_words)
    while preparer is not None:
        try:
            task: Task = pickle.load(requests)
        except EOFError:
            return None  # the driver is done, or gone
        _send(replies, preparer.done(task))


def _send(replies: BinaryIO, reply: Any) -> None:
    try:
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()
    except BrokenPipeError:
        os._exit(1)  # the driver is gone
