"""A language model behind an OpenAI-compatible server on the loopback: what it reports is what is
counted, and no trouble of it ends in an exception that the reports do not name. `make test-llm`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import pytest

from structrag import (
    D3Index,
    D3Retriever,
    HiQAFormatter,
    IDMSSplitter,
    Index,
    PICSplitter,
    SelfAsk,
    read_text,
)
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import Usage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.llm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not os.environ.get("STRUCTRAG_LLM"), reason="run by make test-llm"
    ),
]

WINDOW = 1024  # tokens
TEXT = (
    "The pump moves water from the tank to the boiler. Its filter is rinsed every week. The seal "
    "wears out after two years. Herons nest in alders near the water. In spring they come back."
)
SERVER = """
import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port, params.n_ctx, params.n_parallel = int(sys.argv[2]), int(sys.argv[3]), 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
"""
Answer = Callable[["Relay"], bool]  # whether it has answered instead of the server


@contextmanager
def served(file: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server in a process of its own, its address, and the process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(file), str(port), str(WINDOW)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    try:
        while not _listens(port):
            assert process.poll() is None, "the server has not started"
            sleep(0.2)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def address(smollm_file: Path) -> Iterator[str]:
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
    with served(smollm_file) as (where, _):
        yield where


class Relay(BaseHTTPRequestHandler):
    """Passes requests on to the server, unless `answer` has answered already."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        server.requests.append(json.loads(body))
        if server.answer(self):
            return
        request = urllib.request.Request(
            server.target + self.path, body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                self.reply(answer.status, answer.read(), answer.headers["Content-Type"])
        except urllib.error.HTTPError as error:
            self.reply(error.code, error.read())

    def reply(
        self, status: int, body: bytes, kind: str = "application/json", **more: str
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if status == 200 and kind.startswith("application/json"):
            server: Any = self.server
            server.usages.append(json.loads(body)["usage"])
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


@contextmanager
def relayed(target: str, answer: Answer = lambda _: False) -> Iterator[Any]:
    """A relay in front of the server: its `url`, the requests and the usages that it saw."""
    relay: Any = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    relay.target, relay.answer, relay.requests, relay.usages = target, answer, [], []
    relay.url = f"http://127.0.0.1:{relay.server_address[1]}"
    Thread(target=relay.serve_forever, daemon=True).start()
    try:
        yield relay
    finally:
        relay.shutdown()
        relay.server_close()


def chat(url: str, **settings: Any) -> Any:
    """LangChain's client of such a server."""
    package = pytest.importorskip(
        "langchain_openai", reason="the package langchain-openai is not installed"
    )
    defaults = {
        "model": "smollm2",
        "api_key": "none",
        "max_tokens": 16,
        "max_retries": 0,
    }
    return package.ChatOpenAI(base_url=f"{url}/v1", **{**defaults, **settings})


def language_model(url: str, **settings: Any) -> Any:
    from langchain_structrag.models import LangChainModel

    return LangChainModel(chat(url, **settings), name="smollm2 behind a server")


def summaries(llm: Any, **options: Any) -> Any:
    """The report of an index that asks for a summary of every section."""
    index = Index(llm=llm, preset="paper", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be used is warned of, and counted
        report = index.add([read_text(f"# Pump\n\n{TEXT * 3}", id="pump")])
    assert len(index) >= 1  # whatever the model did
    return report


METHODS = ("views", "pic", "idms", "d3", "selfask", "hiqa")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_counts_the_calls_and_tokens_that_the_server_reports(
    address: str, method: str
) -> None:
    """Within 2 %; by our own estimate a prompt without its chat template is far below."""
    document = read_text(f"# Pump\n\n{TEXT}\n\n# Boiler\n\n{TEXT * 2}", id="pump")
    with relayed(address) as relay, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be used is warned of, and counted
        llm = language_model(relay.url)
        usage = used_by(method, llm, document)
        assert usage.calls == len(relay.usages) > 0
        for ours, theirs in (
            (usage.prompt_tokens, "prompt_tokens"),
            (usage.answer_tokens, "completion_tokens"),
        ):
            reported = sum(each[theirs] for each in relay.usages)
            assert abs(ours - reported) <= 0.02 * reported, (theirs, ours, reported)


def test_a_model_that_takes_a_schema_answers_in_json(address: str) -> None:
    document = read_text(f"# Pump\n\n{TEXT * 8}", id="pump")
    with relayed(address) as relay:
        index = Index(llm=language_model(relay.url, max_tokens=400, temperature=0))
        report = index.add([document])
        assert all(request["response_format"] for request in relay.requests)
        assert report.usage["calls"] and not report.usage["failed"]
        assert not report.usage["fallbacks"].get("summary")


def used_by(method: str, llm: Any, document: Any) -> Any:
    """What a method counted, of all its calls."""
    if method in {"pic", "idms"}:
        runner = Runner(llm=llm)
        make = PICSplitter if method == "pic" else IDMSSplitter
        make(min_tokens=8, max_tokens=60).split(document, runner=runner)
        return runner.usage
    if method == "hiqa":
        formatter = HiQAFormatter(llm)
        formatter.format(TEXT)
        return formatter.usage
    if method == "views":
        index = Index(llm=llm)
        index.add([document])
        return index.usage
    index = D3Index(llm=llm, whole_tokens=10)
    index.add([document])
    retriever = D3Retriever(index, llm=llm)
    if method == "d3":
        total = retriever.result("How often is the filter rinsed?").total
    else:
        total = SelfAsk(retriever, llm).answer("How often is the filter rinsed?").total
    return index.usage + Usage(
        calls=total.calls,
        prompt_tokens=total.prompt_tokens,
        answer_tokens=total.answer_tokens,
    )


def test_streamed_answers_are_whole(address: str) -> None:
    with relayed(address) as relay:
        whole = language_model(relay.url, temperature=0).complete("What is a pump?")
        streamed = language_model(relay.url, temperature=0, streaming=True)
        assert streamed.complete("What is a pump?") == whole
        assert relay.requests[-1]["stream"] is True


def test_log_probabilities_give_margins(address: str) -> None:
    with relayed(address) as relay:
        margin = language_model(relay.url).choose("Answer 1 or 2.\nAnswer:", ("1", "2"))
        assert margin is None or -1 <= margin <= 1
        assert relay.requests[0]["logprobs"] is True
        chunks = IDMSSplitter(min_tokens=8, max_tokens=60).split(
            read_text(TEXT), llm=language_model(relay.url)
        )
        assert "".join(chunk.text for chunk in chunks) == TEXT
        sources = {chunk.extras["margin_source"] for chunk in chunks}
        assert sources <= {"log-probabilities", "rating", "similarity"}


def test_a_prompt_above_the_window_is_an_answer_that_failed(address: str) -> None:
    model = language_model(address)
    with pytest.raises(Exception, match="context size"):
        model.complete("word " * 2 * WINDOW)
    report = summaries(model)
    assert report.usage["calls"] > 0
    index = Index(llm=model, preset="paper")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        long = index.add(
            [read_text("# Pump\n\n" + "Pumps move water. " * 800, id="long")]
        )
    assert len(index) >= 1 and sum(long.usage["fallbacks"].values()) > 0


def test_too_many_requests_are_asked_again(address: str) -> None:
    refused: list[float] = []

    def refuse_twice(request: Relay) -> bool:
        if len(refused) >= 2:
            return False
        refused.append(perf_counter())
        error = b'{"error": {"message": "slow down", "code": 429}}'
        request.reply(429, error, Retry_After="1")
        return True

    with relayed(address, refuse_twice) as relay:
        answer = language_model(relay.url, max_retries=3).complete("Say yes.")
        assert answer and len(relay.requests) == 3
        assert refused[1] - refused[0] >= 1  # as long as the server asked for


def test_a_slow_server_is_not_waited_for(address: str) -> None:
    def sleeps(_: Relay) -> bool:
        sleep(3)
        return False

    with relayed(address, sleeps) as relay:
        report = summaries(language_model(relay.url), timeout=0.5)
        assert sum(report.usage["fallbacks"].values()) > 0
        assert "0.5" in json.dumps(report.usage["reasons"])


def test_a_dead_server_costs_no_text(smollm_file: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
    with served(smollm_file) as (where, process):
        model = language_model(where)
        assert isinstance(model.complete("Say yes."), str)
        process.kill()
        process.wait()
        report = summaries(model)
        assert sum(report.usage["fallbacks"].values()) > 0
        with pytest.warns(UserWarning, match="the similarity of the sentences instead"):
            chunks = IDMSSplitter(min_tokens=8, max_tokens=60).split(
                read_text(TEXT), llm=model
            )
        assert "".join(chunk.text for chunk in chunks) == TEXT
