"""How well a slow model server is kept busy: the time of many questions against the ideal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.d3_oracle import SlowServer, oracle_for
from benchmarks.d3_systems import document_of
from benchmarks.datasets import Dataset
from benchmarks.machine import machine_line
from structrag import __version__
from structrag.model_calls.flow import gather
from structrag.model_calls.requests import Flow
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.multihop.selfask import SelfAsk

DELAY, LIMIT, QUESTIONS, MOST = 0.2, 8, 100, 1.2


def server_lines(dataset: Dataset, repeat: int = 3) -> list[str]:
    """One line for each way of running 100 different questions, each run so many times."""
    lines = [
        f"structrag {__version__}; {machine_line()}; load of the machine at the start "
        f"{os.getloadavg()[0]:.1f}\n",
        f"{QUESTIONS} questions, {DELAY} s for an answer, at most {LIMIT} calls at once; target "
        f"{MOST} times the ideal; {repeat} runs.\n",
    ]
    for name, agent in (("D3-BASE", False), ("self-ask over D3-BASE", True)):
        for way in ("sync", "async"):
            runs = [
                timed(dataset, agent=agent, asynchronous=way == "async")
                for _ in range(repeat)
            ]
            seconds, busy, server = sorted(runs, key=lambda run: run[0])[repeat // 2]
            ideal = server.calls * DELAY / LIMIT
            times = ", ".join(f"{run[0] / ideal:.2f}" for run in runs)
            lines.append(
                f"- {name}, {way}: {server.calls} calls, at most {server.most} at once, median "
                f"{seconds:.2f} s, ideal {ideal:.2f} s, "
                f"{seconds / ideal:.2f} times (runs: {times}); {busy:.2f} s at work on a processor"
            )
    return lines


def timed(
    dataset: Dataset, *, agent: bool, asynchronous: bool, delay: float = DELAY
) -> tuple[float, float, SlowServer]:
    """Seconds for all questions, those of them on the processor, and the server with its counts."""
    server = SlowServer(oracle_for(dataset), 0.0)
    index = D3Index()
    index.add(dataset.documents)
    retriever = D3Retriever(index, llm=server, max_concurrency=LIMIT)
    questions = [
        (f"{question.question} ({number})", document_of(question))
        for number, question in enumerate(
            dataset.questions * (QUESTIONS // len(dataset.questions) + 1)
        )
    ][:QUESTIONS]

    def all_steps() -> Flow[list[Any]]:
        steps_of: Callable[..., Any] = (
            SelfAsk(retriever).flow if agent else retriever.flow
        )
        return gather(
            [
                steps_of(question, where={"doc_id": doc_id})
                for question, doc_id in questions
            ]
        )

    expected = retriever.runner.run(all_steps())
    server.delay, server.calls, server.most = delay, 0, 0
    began, busy = time.perf_counter(), time.process_time()
    found = (
        asyncio.run(retriever.runner.arun(all_steps()))
        if asynchronous
        else retriever.runner.run(all_steps())
    )
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    if found != expected:
        raise RuntimeError("The slow server led to other results than the quick one.")
    return seconds, busy, server
