"""Summaries that instruct: windows of a long document, summaries that run on."""

from __future__ import annotations

from doubles import HashEmbedder, ScriptedModel
from samples import numbered, topics

from structrag.chunks.pic.splitter import PICSplitter


def test_a_long_document_is_summarised_in_windows() -> None:
    document = numbered(300)
    llm = ScriptedModel(lambda prompt: f"Summary of {prompt.count('number')} sentences.")
    found = PICSplitter(summary_window=1000, scope="document").explain(
        document, embedder=HashEmbedder(), llm=llm
    )
    assert (
        len(llm.prompts) == 7 and [prompt.count("number") for prompt in llm.prompts[:6]] == [50] * 6
    )
    assert llm.prompts[6].count("Summary of 50 sentences.") == 6
    assert found.series[0].note == "Summary of 0 sentences."


def test_a_summary_that_runs_on_is_shortened_to_its_central_sentences() -> None:
    long = " ".join(f"Cats purr and sleep, and this is sentence {i} about cats." for i in range(60))
    embedder = HashEmbedder()
    PICSplitter.paper().split(topics(), embedder=embedder, llm=lambda prompt: long)
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
    assert found.series[0].note == "A summary." and found.chunks[0].extras["degraded"] is True
