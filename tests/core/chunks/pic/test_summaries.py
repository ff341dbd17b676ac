"""Summaries that instruct: windows of a long document, summaries that run on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doubles import HashEmbedder, Reluctant, ScriptedModel, split_twice
from fixture_cases import examples
from samples import guide, numbered, topics

from structrag import Cache
from structrag.asking.runner import Runner
from structrag.chunks.pic.splitter import PICSplitter
from structrag.chunks.pic.summaries import Summary, pack, summary_steps


def test_a_long_document_is_summarised_in_windows() -> None:
    document = numbered(300)
    llm = ScriptedModel(
        lambda prompt: f"Summary of {prompt.count('number')} sentences."
    )
    found = PICSplitter(summary_window=1000, scope="document").explain(
        document, embedder=HashEmbedder(), llm=llm
    )
    assert (
        len(llm.prompts) == 7
        and [prompt.count("number") for prompt in llm.prompts[:6]] == [50] * 6
    )
    assert llm.prompts[6].count("Summary of 50 sentences.") == 6
    assert found.series[0].note == "Summary of 0 sentences."


def test_a_summary_that_runs_on_is_shortened_to_its_central_sentences() -> None:
    long = " ".join(
        f"Cats purr and sleep, and this is sentence {i} about cats." for i in range(60)
    )
    embedder = HashEmbedder()
    PICSplitter.paper(summary_window=6000, as_query=True).split(
        topics(), embedder=embedder, llm=lambda prompt: long
    )
    (query,) = embedder.queries
    assert len(query.split()) <= 200 and all(part in long for part in query.split(". "))


def test_a_summariser_that_takes_the_bare_text() -> None:
    llm = ScriptedModel("Cats.")
    PICSplitter.paper(prompt="{text}").split(topics(), embedder=HashEmbedder(), llm=llm)
    assert llm.prompts == [topics().text.strip()]


def test_a_model_that_fails_half_way_keeps_what_it_said() -> None:
    def script(prompt: str) -> str:
        if "number 60 " in prompt:
            raise RuntimeError("half-way")
        return "A summary."

    found = PICSplitter.paper(summary_window=1000).explain(
        numbered(300), embedder=HashEmbedder(), llm=ScriptedModel(script)
    )
    assert (
        found.series[0].note == "A summary."
        and found.chunks[0].extras["degraded"] is True
    )


def test_pic_summary(tmp_path: Path) -> None:
    document = guide()
    llm = Reluctant("A red machine crosses a bridge near Oslo.")
    splitter = PICSplitter()
    runs = split_twice(
        lambda runner: splitter.split(document, runner=runner),
        llm,
        Cache(tmp_path / "c"),
    )
    assert [calls for calls, _ in runs] == [1, 1, 0]
    assert runs[0][1][0].extras["degraded"] and "degraded" not in runs[1][1][0].extras


def test_as_published_one_call_reads_all_and_its_answer_stays_whole() -> None:
    long = " ".join(
        f"Cats purr and sleep, and this is sentence {i} about cats." for i in range(60)
    )
    llm, embedder = ScriptedModel(long), HashEmbedder()
    explanation = PICSplitter.paper().explain(numbered(900), embedder=embedder, llm=llm)
    (prompt,) = llm.prompts
    assert prompt.startswith("Read this passage:\n") and prompt.count("number") == 900
    assert prompt.endswith(
        "\nWrite a summary for this passage. Your summary should be concise and informative. "
        "Give the summary directly, without any other text."
    )
    assert explanation.series[0].note == long


@examples
def test_pieces_are_put_together_up_to_just_the_window(
    pieces: list[str], window: int | None, least: int, packed: list[str]
) -> None:
    found = pack(pieces, window, least=least)
    assert [" ".join(text.split()) for text in found] == [
        " ".join(text.split()) for text in packed
    ]


def summaries(
    texts: Sequence[Sequence[str]], script: Any, window: int | None = 4
) -> tuple[list[Summary], list[str]]:
    """The summaries of texts named T0, T1, ..., and what was asked."""
    model = None if script is None else ScriptedModel(script)
    titles = [f"T{i}" for i in range(len(texts))]
    prompt = "{title}: {text}"
    steps = summary_steps(titles, texts, prompt, window=window)
    return Runner(llm=model).run(steps), model.prompts if model else []


def test_each_text_has_its_own_summary_and_a_blank_one_none() -> None:
    texts = [["a "], [" "], ["b ", "c "], []]
    found, prompts = summaries(texts, lambda prompt: f"Of {prompt}")
    assert prompts == ["T0: a", "T2: b c"]
    assert found == [
        Summary("Of T0: a"),
        Summary(),
        Summary("Of T2: b c"),
        Summary(),
    ]


def test_a_text_of_several_windows_is_summarised_until_one_is_left() -> None:
    texts = [["a "], ["b ", "c ", "d ", "e ", "f "]]
    found, prompts = summaries(texts, lambda prompt: prompt[-1].upper())
    assert prompts == [
        *("T0: a", "T1: b c", "T1: d e", "T1: f"),
        *("T1: C\nE", "T1: F"),
        "T1: E\nF",
    ]
    assert found == [Summary("A"), Summary("F")]


def test_summaries_longer_than_a_window_are_read_two_at_a_time() -> None:
    long = "These are many more words than a window of four tokens holds."
    found, prompts = summaries([["b ", "c ", "d ", "e ", "f ", "g "]], lambda _: long)
    assert [prompt.count("These") for prompt in prompts] == [0, 0, 0, 2, 1, 2]
    assert found == [Summary(long)]


def test_the_first_failure_of_a_text_is_named() -> None:
    def script(prompt: str) -> str:
        if "b" in prompt:
            raise ValueError("first")
        if "d" in prompt:
            raise ValueError("second")
        return "" if prompt.startswith("T1") else "Said."

    texts = [["b ", "c ", "d ", "e ", "f "], ["x "], ["y "]]
    found, _ = summaries(texts, script)
    assert found == [
        Summary("Said.", "the language model failed with ValueError: first"),
        Summary("", "the language model gave no summary"),
        Summary("Said."),
    ]


def test_without_a_model_no_text_has_a_summary() -> None:
    found, _ = summaries([["a "], [" "]], None)
    assert found == [Summary(no_model=True)] * 2
    assert summaries([[" "]], None)[0] == [Summary()]  # nobody was asked
    assert summaries([], None)[0] == []


def test_a_long_answer_is_shortened_if_windows_are_read() -> None:
    long = " ".join(f"Cats purr and sleep in the year {i}." for i in range(99))
    (whole,), _ = summaries([["a "]], lambda _: long, window=None)
    (short,), _ = summaries([["a "]], lambda _: long, window=4)
    assert whole.text == long and len(short.text.split()) <= 200
