"""Views: what is asked of a language model, what its answers become, and what happens when they
cannot be used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from doubles import ScriptedModel, by_words
from fixture_cases import examples

from structrag import (
    ContentAwareSplitter,
    Document,
    FixedSplitter,
    Index,
    read_text,
)
from structrag.errors import InvalidParameter
from structrag.index import Prompts
from structrag.index.views import ViewSettings, ViewTexts, view_flow
from structrag.model_calls.runner import Runner

PAPER = ViewSettings(
    with_context=False, merged=False, use_llm=True, invented_keywords=True
)
IN_TEXT = ViewSettings(use_llm=True)
# Most tests are of other things than where keywords come from.
DEFAULT = replace(IN_TEXT, invented_keywords=True)


def words(n: int, stem: str = "word") -> str:
    return " ".join(f"{stem}{i}" for i in range(n))


def markdown(*bodies: str, title: str = "") -> Document:
    text = "".join(f"# Part {i}\n\n{body}\n\n" for i, body in enumerate(bodies))
    return Document(text, id="d", title=title, format="markdown")


def made(
    document: Document,
    llm: Any = None,
    settings: ViewSettings = DEFAULT,
    **splitting: Any,
) -> ViewTexts:
    splitting = {"max_tokens": 2000, "counter": by_words, **splitting}
    chunks = ContentAwareSplitter(context=settings.with_context, **splitting).split(
        document
    )
    return Runner(llm=llm).run(
        view_flow(document, chunks, settings, counter=lambda text: len(text.split()))
    )


# -- presets


@examples
def test_strictly_more_than_200_tokens_are_summarised(length: int, calls: int) -> None:
    llm = ScriptedModel("A short summary.")
    settings = ViewSettings(names=("raw", "summary"), merged=False, use_llm=True)
    views = made(markdown(words(length)), llm, settings)
    assert len(llm.prompts) == calls
    assert (views.texts["summary"] == views.texts["raw"]) is (calls == 0)


# -- prompts


@pytest.mark.parametrize("name", ["merged", "summary", "keywords"])
@examples
def test_a_prompt_that_is_no_template_is_refused(
    name: str, template: Any, sentence: str
) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Prompts(**{name: template})
    assert sentence in str(caught.value) and repr(name) in str(caught.value)


@examples
def test_unknown_views_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(
        InvalidParameter,
        match="views must be some of 'raw', 'summary', 'keywords', each",
    ):
        ViewSettings(names=names)


# -- keywords


@pytest.mark.parametrize("settings", [DEFAULT, PAPER])
@examples
def test_a_summary_longer_than_its_text_is_not_used(
    settings: ViewSettings, length: int, is_used: bool
) -> None:
    summary = words(length, "summary")
    # Long words: as long as the caller counts, not by characters.
    body = words(210, "word" * 10)
    llm = ScriptedModel(
        lambda prompt: (
            '["pump"]'
            if prompt.endswith("Keywords:")
            else json.dumps({"summary": summary, "keywords": ["pump"]})
        )
    )
    views = made(markdown(body), llm, settings)
    assert views.fallbacks == ({} if is_used else {"summary": 1})
    assert ("summary0" in str(views.texts["summary"][0])) is is_used
    assert views.texts["keywords"] == ("pump",)


def test_the_papers_sections_have_a_name_and_no_path() -> None:
    text = "# Guide\n\n## Cleaning\n\nRinse the filter."
    for preset, name in (
        ("paper", "Name: Cleaning\n"),
        ("default", "Title: Guide > Cleaning\n"),
    ):
        llm = ScriptedModel('["filter"]')
        Index(preset=preset, llm=llm).add([read_text(text, format="markdown")])
        assert [name in prompt for prompt in llm.prompts] == [True]


def test_the_papers_summaries_are_what_the_model_answered() -> None:
    body = " ".join(f"Sentence {i} says {i * i}." for i in range(120))
    answer = " ".join(f"Point {i} is that {i * 7}." for i in range(60))
    for preset, is_whole in (("paper", True), ("default", False)):
        index = Index(preset=preset, llm=lambda _: answer, views=["summary"])
        index.add([read_text(f"# Pump\n\n{body}", format="markdown")])
        summary = index.own_store.reader().view_text(0, "summary")
        assert (summary == answer.strip()) is is_whole


@pytest.mark.parametrize(
    ("answer", "is_text"),
    [
        ("Sorry, no.", True),
        ("Sorry! is a board game.", True),
        ("I am unable to read this. " * 3, True),
        ("Lo siento es una canción.", True),
        ("Sorry. " * 90, False),  # a loop
        ('{"summ', False),
    ],
)
def test_under_paper_a_summary_may_begin_like_a_refusal(
    answer: str, is_text: bool
) -> None:
    body = " ".join(f"Sentence {i} says {i * i}." for i in range(120))
    for preset, stays in (("paper", True), ("default", False)):
        index = Index(preset=preset, llm=lambda _: answer, views=["summary"])
        report = index.add([read_text(f"# Pump\n\n{body}", format="markdown")])
        summary = index.own_store.reader().view_text(0, "summary")
        is_used = stays and is_text
        assert (summary == answer.strip()) is is_used
        assert bool(report.usage["fallbacks"]) is not is_used


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("# A\n\nPumps.\n\n# B\n\n# C\n", ["Pumps."]),
        ("# A\n\nPumps.\n\n## B\n\n# C\n\nValves.\n", ["Pumps.", "Valves."]),
        ("Intro.\n\n# A\n\n# B\n\nPumps.\n\n# C\n", ["Intro.", "Pumps."]),
        ("# A\n\nPumps.\n\n# Contents\n\n[TOC]\n", ["Pumps."]),
        ("# A\n\n# B\n", ["# A\n\n# B"]),  # there is nothing else
    ],
)
def test_headings_without_a_text_are_in_no_view_of_the_paper(
    text: str, raw: list[str]
) -> None:
    document = Document(text, format="markdown")
    for splitter in (None, FixedSplitter(within_sections=True)):
        index = Index(preset="paper", splitter=splitter, views=["raw"])
        index.add([document])
        reader = index.own_store.reader()
        views = [reader.view_text(row, "raw") or "" for row in range(len(index))]
        assert [view.strip() for view in views] == raw
        assert "".join(chunk.text for chunk in index.chunks()) == text
    flat = Index(preset="paper", splitter=FixedSplitter(), views=["raw"])
    flat.add([document])
    assert flat.own_store.reader().view_text(0, "raw") == text


def test_models_that_take_schemas_are_given_those_of_our_own_prompts() -> None:
    class Held(ScriptedModel):
        def __init__(self) -> None:
            super().__init__('["pump"]')
            self.asked: list[list[str]] = []

        def complete_json(self, prompt: str, schema: Any) -> str:
            self.asked.append(schema["required"])
            return '{"summary": "Of pumps.", "keywords": ["pump"]}'

    document = read_text("# Pump\n\n" + "The pump moves water. " * 56, id="pump")
    asked = {}
    for name, options in {
        "merged": {},
        "keywords": {"views": ("keywords",)},
        "paper": {"preset": "paper"},
        "own": {"prompts": Prompts(merged="Summary and keywords as JSON: {text}")},
    }.items():
        model = Held()
        assert not Index(llm=model, **options).add([document]).usage["failed"]
        asked[name] = model.asked
    assert {tuple(required) for required in asked["merged"]} == {
        ("summary", "keywords")
    }
    assert {tuple(required) for required in asked["keywords"]} == {("keywords",)}
    assert asked["paper"] == asked["own"] == []
