"""Summaries that instruct: windows of a long document, summaries that run on."""

from __future__ import annotations

from pathlib import Path

from doubles import HashEmbedder, Reluctant, ScriptedModel, split_twice
from samples import guide, numbered, topics

from structrag import Cache
from structrag.chunks.pic.splitter import PICSplitter


def test_a_long_document_is_summarised_in_windows() -> None:
    document = numbered(300)
    llm = ScriptedModel(
        lambda prompt: f"Summary of {prompt.count('number')} sentences."
    )
    found = PICSplitter(summary_window=1000, scope="document").explain(
        document, embedder=HashEmbedder(), llm=llm
    )
    assert len(llm.prompts) == 7 and [
        prompt.count("number") for prompt in llm.prompts[:6]
    ] == [58] * 5 + [10]
    assert llm.prompts[6].count("Summary of ") == 6
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
