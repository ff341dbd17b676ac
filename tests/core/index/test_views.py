"""Views: what is asked of a language model, what its answers become, and what happens when they
cannot be used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from doubles import ScriptedModel
from fixture_cases import examples

from structrag import ContentAwareSplitter, Document, Index, read_text
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter
from structrag.index import Prompts
from structrag.index.views import SCHEMAS, VIEWS, ViewSettings, ViewTexts, view_steps
from structrag.records import Chunk

MERGED = json.dumps({"summary": "A short summary.", "keywords": ["pump", "valve"]})
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
    splitting = {"max_tokens": 2000, **splitting}
    chunks = ContentAwareSplitter(context=settings.with_context, **splitting).split(
        document
    )
    return Runner(llm=llm).run(
        view_steps(document, chunks, settings, counter=lambda text: len(text.split()))
    )


def two_calls(prompt: str) -> str:
    return '["pump", "valve"]' if prompt.endswith("Keywords:") else "A short summary."


# -- presets


def test_default_asks_once_a_section_and_puts_the_path_in_front() -> None:
    llm = ScriptedModel(MERGED)
    views = made(markdown(words(300), words(201), title="Manual"), llm)
    assert len(llm.prompts) == 2
    assert views.texts["summary"] == (
        "Manual > Part 0\nA short summary.",
        "Manual > Part 1\nA short summary.",
    )
    assert views.texts["keywords"] == ("pump, valve", "pump, valve")
    assert views.texts["raw"][0] == f"Manual\n# Part 0\n\n{words(300)}\n\n"
    assert not views.fallbacks


def test_paper_asks_twice_a_section_and_uses_bodies_alone() -> None:
    llm = ScriptedModel(two_calls)
    views = made(markdown(words(300), title="Manual"), llm, PAPER)
    assert len(llm.prompts) == 2
    assert views.texts["summary"] == ("A short summary.",)
    assert views.texts["keywords"] == ("pump, valve",)
    assert views.texts["raw"][0] is not None and views.texts["raw"][0].strip() == words(
        300
    )
    assert all(
        "Title: Part 0" in prompt and words(300) in prompt for prompt in llm.prompts
    )


@examples
def test_strictly_more_than_200_tokens_are_summarised(length: int, calls: int) -> None:
    llm = ScriptedModel("A short summary.")
    settings = ViewSettings(names=("raw", "summary"), merged=False, use_llm=True)
    views = made(markdown(words(length)), llm, settings)
    assert len(llm.prompts) == calls
    assert (views.texts["summary"] == views.texts["raw"]) is (calls == 0)


def test_a_short_section_asks_for_keywords_only() -> None:
    llm = ScriptedModel('["pump"]')
    made(markdown("A short body."), llm)
    (prompt,) = llm.prompts
    assert prompt.startswith("List the keywords") and prompt.endswith("Keywords:")


@pytest.mark.parametrize(
    "settings", [ViewSettings(), ViewSettings(with_context=False, merged=False)]
)
def test_without_a_model_nothing_is_asked_and_nothing_counts_as_fallback(
    settings: ViewSettings,
) -> None:
    views = made(markdown("Pumps move water. " * 100, "Short."), None, settings)
    assert not views.fallbacks
    assert all(text for view in VIEWS for text in views.texts[view])
    long, short = views.texts["summary"]
    assert short == views.texts["raw"][1]
    assert long is not None and len(long.split()) <= 210


def test_only_the_chosen_views_are_made_and_asked_for() -> None:
    llm = ScriptedModel(MERGED)
    views = made(markdown(words(300)), llm, ViewSettings(names=("raw",), use_llm=True))
    assert list(views.texts) == ["raw"] and llm.prompts == []


def test_a_long_summary_is_cut_to_ten_sentences_and_200_words() -> None:
    llm = ScriptedModel(" ".join(f"Sentence {i} says {words(20)}." for i in range(30)))
    views = made(markdown(words(2000)), llm, PAPER, max_tokens=None)
    summary = views.texts["summary"][0]
    assert (
        summary is not None
        and len(summary.split()) <= 200
        and summary.count("Sentence") <= 10
    )


def test_braces_in_a_document_are_left_alone() -> None:
    text = 'Use {title} and {0} and {{x}} and f"{a!r}" in {text}.'
    llm = ScriptedModel('["pump"]')
    views = made(markdown(text), llm)
    assert text in llm.prompts[0]
    assert views.texts["raw"][0] is not None and text in views.texts["raw"][0]


def test_a_document_without_chunks_has_no_views() -> None:
    assert made(Document("  \n", id="d"), ScriptedModel(MERGED)).texts == {
        "raw": (),
        "summary": (),
        "keywords": (),
    }


# -- prompts


def test_prompts_can_be_replaced() -> None:
    llm = ScriptedModel(MERGED)
    prompts = Prompts(merged="Fasse {text} zusammen, Titel {title}, als {{}}.")
    made(markdown("body " * 201), llm, ViewSettings(use_llm=True, prompts=prompts))
    assert llm.prompts == [
        f"Fasse \n{'body ' * 201}\n\n zusammen, Titel Part 0, als {{}}."
    ]


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


@pytest.mark.parametrize(
    "settings", [IN_TEXT, replace(IN_TEXT, merged=False, with_context=False)]
)
def test_keywords_are_words_of_the_section_or_its_titles(
    settings: ViewSettings,
) -> None:
    llm = ScriptedModel(
        lambda prompt: (
            "A short summary."
            if prompt.endswith("Summary:")
            else json.dumps(
                {
                    "summary": "A short summary.",
                    "keywords": [
                        "Part",
                        "valves",
                        "submarine",
                        "cleaning",
                        "x" * 100_000,
                        "4",
                    ],
                }
            )
        )
    )
    views = made(markdown("The valve is cleaned 4 times."), llm, settings)
    assert views.texts["keywords"] == ("Part, valves, cleaning",)
    invented = replace(settings, invented_keywords=True)
    views = made(markdown("The valve is cleaned 4 times."), llm, invented)
    assert views.texts["keywords"] == ("Part, valves, submarine, cleaning",)


def test_keywords_that_are_all_invented_are_no_answer() -> None:
    llm = ScriptedModel('["submarine", "whale"]')
    views = made(markdown("The valve is cleaned."), llm, IN_TEXT)
    assert views.fallbacks == {"keywords": 1} and "submarine" not in str(
        views.texts["keywords"]
    )
    assert "submarine" in views.reasons["keywords"] and not views.failed


def test_one_bad_part_of_a_merged_answer_does_not_spoil_the_other() -> None:
    llm = ScriptedModel('{"summary": "", "keywords": ["pump"]}')
    views = made(markdown(words(300)), llm)
    assert views.fallbacks == {"summary": 1}
    assert views.texts["keywords"] == ("pump",)
    assert views.texts["summary"][0]


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


def test_a_short_text_is_its_own_summary_whatever_the_model_would_say() -> None:
    llm = ScriptedModel(json.dumps({"summary": words(300), "keywords": ["pump"]}))
    views = made(markdown("A short body."), llm)
    assert views.texts["summary"] == views.texts["raw"] and not views.fallbacks


def test_the_papers_prompts_are_those_of_its_figures() -> None:
    settings = replace(PAPER, prompts=Prompts.paper())
    llm = ScriptedModel(lambda prompt: '["pump"]' if "[...]" in prompt else "Short.")
    views = made(markdown(words(300)), llm, settings)
    keywords, summary = sorted(llm.prompts)  # both are asked at once
    assert summary.startswith(
        "You are a helpful summarization assistant. Please help me summarize"
    )
    assert (
        "no more than 10 sentences or 200 words.\n\nSection Name: Part 0\n\n" in summary
    )
    assert keywords.startswith(
        "You are a helpful keyword extractor. You need to extract keywords"
    )
    assert (
        " **End of text**"
        in keywords.partition("Section Text: **Beginning of text** ")[2]
    )
    assert keywords.endswith("Do not output anything else aside from this list.")
    assert views.texts["summary"] == ("Short.",) and views.texts["keywords"] == (
        "pump",
    )


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
        summary = index.own_store.view_text(0, "summary")
        assert (summary == answer.strip()) is is_whole


def test_the_preset_of_an_index_chooses_its_prompts() -> None:
    for preset, prompts in (("paper", Prompts.paper()), ("default", Prompts())):
        assert Index(preset=preset).view_settings.prompts == prompts
    mine = Prompts(summary="Summarise {text}")
    assert Index(preset="paper", prompts=mine).view_settings.prompts == mine


def test_models_that_take_schemas_are_given_those_of_our_own_prompts() -> None:
    class Held(ScriptedModel):
        def __init__(self) -> None:
            super().__init__('["pump"]')
            self.asked: list[list[str]] = []

        def complete_json(self, prompt: str, schema: Any) -> str:
            self.asked.append(schema["required"])
            return '{"summary": "Of pumps.", "keywords": ["pump"]}'

    document = read_text("# Pump\n\n" + "The pump moves water. " * 80, id="pump")
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


# -- chunks as they come, without a splitter


def chunk(text: str, *path: str, context: str = "", start: int = 0) -> Chunk:
    """A chunk, and where it begins with a heading, its body behind that."""
    heading, blank, _ = text.rpartition("\n\n")
    body_start = start + len(heading + blank)
    end = start + len(text)
    id = f"d:{start}-{end}"
    return Chunk(
        id, "d", "d#1", start, end, text, context, 0, path, body_start=body_start
    )


def of_chunks(
    chunks: Sequence[Chunk], settings: ViewSettings, llm: Any = None, title: str = ""
) -> ViewTexts:
    document = Document("", id="d", title=title)
    steps = view_steps(
        document, chunks, settings, counter=lambda text: len(text.split())
    )
    return Runner(llm=llm).run(steps)


def test_a_body_of_one_token_more_than_none_is_summarised_if_that_is_the_limit() -> (
    None
):
    settings = ViewSettings(names=("raw", "summary"), summary_min_tokens=0)
    views = of_chunks([chunk("# A\n\nIt leaks.", "Pump", "A")], settings)
    assert views.texts["summary"] == ("# A\n\nIt leaks.",)  # its own, so the same text
    llm = ScriptedModel("Leaks.")
    views = of_chunks(
        [chunk("# A\n\nIt leaks.", "Pump", "A", context="Pump")],
        replace(settings, use_llm=True),
        llm,
    )
    assert views.texts["summary"] == ("Pump > A\nLeaks.",)
    with pytest.raises(InvalidParameter, match="summary_min_tokens must be a number"):
        ViewSettings(summary_min_tokens=-1)


def test_a_summary_stands_under_the_path_without_header_rows() -> None:
    body = words(12)
    table = chunk(f"# T\n\n{body}", "Pump", "T", context="Manual > Pump\n| a | b |")
    bare = chunk(body)
    llm = ScriptedModel("Short.")
    settings = ViewSettings(
        names=("raw", "summary"), summary_min_tokens=10, use_llm=True
    )
    views = of_chunks([table, bare], settings, llm)
    assert views.texts["summary"] == ("Manual > Pump > T\nShort.", "Short.")
    assert views.texts["raw"] == (table.index_text, body)
    plain = replace(settings, with_context=False)
    views = of_chunks([table, bare], plain, ScriptedModel("Short."))
    assert views.texts["summary"] == ("Short.", "Short.")
    assert views.texts["raw"] == (body, body)


def test_a_text_without_headings_has_the_documents_title() -> None:
    llm = ScriptedModel('["pump"]')
    settings = ViewSettings(names=("keywords",), use_llm=True)
    chunks = [chunk("The pump leaks."), chunk("It hums.", "A", "B", start=20)]
    of_chunks(chunks, settings, llm, title="Manual")
    assert [
        next(line for line in prompt.splitlines() if line.startswith("Title"))
        for prompt in sorted(llm.prompts, key=len, reverse=True)
    ] == ["Title: Manual", "Title: A > B"]
    llm = ScriptedModel('["pump"]')
    of_chunks(chunks[1:], replace(settings, with_context=False), llm)
    assert "Title: B\n" in llm.prompts[0]


def test_a_text_of_stop_words_has_no_keywords() -> None:
    settings = ViewSettings(names=("keywords",))
    views = of_chunks([chunk("of the and"), chunk("The pump.", start=20)], settings)
    assert views.texts["keywords"] == (None, "pump")


def test_a_word_of_one_section_is_a_keyword_before_a_word_of_all() -> None:
    own = ["valve", "filter", "rotor", "gasket"]
    chunks = [
        chunk(f"Pump and {word}. Pump or {word}.", start=100 * i)
        for i, word in enumerate(own)
    ]
    keywords = of_chunks(chunks, ViewSettings(names=("keywords",))).texts["keywords"]
    assert [text and text.split(", ")[0] for text in keywords] == own
    # The sections that a model answered for count too.
    llm = ScriptedModel(lambda prompt: "" if "gasket" in prompt else '["pump"]')
    settings = ViewSettings(names=("keywords",), use_llm=True)
    answered = of_chunks(chunks, settings, llm).texts["keywords"]
    assert answered == ("pump", "pump", "pump", keywords[3])


def test_the_heading_is_among_the_extracted_keywords_with_the_path_alone() -> None:
    valve = chunk("# Valve\n\nIt leaks daily.", "Manual", "Valve")
    for with_context in (True, False):
        settings = ViewSettings(names=("keywords",), with_context=with_context)
        (keywords,) = of_chunks([valve], settings).texts["keywords"]
        assert keywords is not None and ("Valve" in keywords) is with_context


def test_views_that_fell_back_are_counted_and_the_failed_calls_among_them() -> None:
    def script(prompt: str) -> str:
        if "word1 " in prompt:
            raise TimeoutError("no answer")
        return "I am sorry, I cannot." if "fig" in prompt else MERGED

    chunks = [
        chunk(words(300), "A"),
        chunk("fig " * 300, "B", start=5000),
        chunk("plum " * 300, "C", start=9000),
        chunk("A fig.", "D", start=12_000),
    ]
    views = of_chunks(chunks, DEFAULT, ScriptedModel(script))
    assert views.fallbacks == {"summary": 2, "keywords": 3}
    assert views.failed == 2  # both views of the first
    assert "no answer" in views.reasons["summary"] + views.reasons["keywords"]
    views = of_chunks(chunks[2:3], DEFAULT, ScriptedModel(MERGED))
    assert not views.fallbacks and views.failed == 0 and not views.reasons


def test_schemas_allow_what_is_asked_for_and_nothing_else() -> None:
    assert len(SCHEMAS) == 2
    for schema in SCHEMAS.values():
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
