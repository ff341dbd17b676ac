"""Routing: what the model is shown, how its answers are read, and how long outlines are split."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from d3_making import OUTLINE, section
from doubles import ScriptedModel
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import D3Index, D3Retriever, read_text
from structrag.asking.runner import Runner
from structrag.errors import NoModel
from structrag.retrieval.d3.layout import OutlineSection
from structrag.retrieval.d3.outlines import Routing, windows
from structrag.retrieval.d3.routing import (
    Routed,
    RouteTally,
    SearchedPart,
    first_levels,
    is_direct,
    route_steps,
    routed_steps,
    stand_in,
    subtrees_of,
    with_children,
)
from structrag.retrieval.d3.selection import Selection
from structrag.text.tokens import count_tokens


def routed(
    answer: object, sections: list[OutlineSection] = OUTLINE, **changes: object
) -> tuple[RouteTally, ScriptedModel]:
    model = ScriptedModel(answer)
    reading = Runner(llm=model).run(route_steps("What?", sections, Routing(**changes)))  # type: ignore[arg-type]
    return reading, model


@given(answer=st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_answer_gives_a_subset_of_what_was_shown(answer: str) -> None:
    for form in ("ids", "names"):
        reading, _ = routed(answer, answer_format=form)
        assert reading.chosen <= set(range(len(OUTLINE)))
        assert reading.answers == [answer]


def test_ids_are_checked_and_counted() -> None:
    reading, model = routed("2, 4, 4, 99")
    assert (reading.chosen, reading.dropped, reading.windows) == ({1, 3}, 1, 1)
    prompt = model.prompts[0]
    assert all(prompt.count(f"[{i + 1}] ") == 1 for i in range(len(OUTLINE)))
    assert prompt.index("[7] Results > Data\nSummary 6.") < prompt.index(
        "Question: What?"
    )
    assert reading.cost.prompt_tokens == count_tokens(prompt)


def test_an_id_of_another_window_is_dropped() -> None:
    sections = [section(i, f"Title {i}") for i in range(40)]
    reading, model = routed("1", sections, context_tokens=400, answer_tokens=50)
    assert len(model.prompts) == reading.windows > 1
    assert reading.chosen == {0}
    assert reading.dropped == reading.windows - 1


def test_several_documents_are_told_apart() -> None:
    outline = [
        section(0, doc="a"),
        section(1, "Intro", doc="a"),
        section(2, "Intro", doc="b"),
    ]
    _, model = routed("none", outline)
    beginning = (
        "Document: A > Intro\n\n[1] Beginning\nSummary 0.\n\n[2] Intro\nSummary 1."
    )
    assert f"{beginning}\n\n[3] Document: B > Intro\nSummary 2.\n" in model.prompts[0]


PARTS = [
    section(0, "Paper"),
    *(
        replace(section(i, "Paper", "Long"), section_id="d#1", part=i, parts=3)
        for i in (1, 2, 3)
    ),
    section(4, "Paper", "Long", "Deep"),
    section(5, "Paper", "Short"),
]


def test_the_documents_title_is_said_once_in_a_call_and_parts_are_entries() -> None:
    reading, model = routed("3", PARTS)
    assert (
        "[1] Document: Paper\nSummary 0.\n\n[2] Long (part 1 of 3)\nSummary 1."
        in model.prompts[0]
    )
    assert model.prompts[0].count("Paper") == 1
    assert reading.chosen == {2}
    for call in windows(
        "What?",
        PARTS * 30,
        range(len(PARTS) * 30),
        Routing(context_tokens=300, answer_tokens=50),
    ):
        assert call.prompt.count("Document: Paper") == 1 or 0 in (
            i % 6 for i in call.positions
        )


def test_a_name_stands_for_all_parts() -> None:
    assert routed("Paper > Long", PARTS, answer_format="names")[0].chosen == {1, 2, 3}


def test_what_is_below_a_section_is_below_each_of_its_parts() -> None:
    assert with_children(PARTS, {2}, always=True) == [2, 4]
    assert with_children(PARTS, {2}, always=False) == [2]
    model = ScriptedModel(lambda prompt: "2, 4, 6" if "Short" in prompt else "5")
    reading = Runner(llm=model).run(
        route_steps("What?", PARTS, Routing(drill="levels"))
    )
    assert len(model.prompts) == 2
    assert "[2] Long (part 1 of 3)" in model.prompts[1]
    assert "[3]" not in model.prompts[1]
    assert reading.chosen == {4, 5}


def test_levels_show_the_first_level_then_what_is_below_the_choice() -> None:
    model = ScriptedModel(lambda prompt: "3, 2" if "Intro" in prompt else "4")
    reading = Runner(llm=model).run(
        route_steps("What?", OUTLINE, Routing(drill="levels"))
    )
    assert len(model.prompts) == 2
    assert "Data" not in model.prompts[0].replace("data and code", "")
    assert "Intro" not in model.prompts[1]
    assert reading.chosen == {1, 3}


def test_a_heading_without_paragraphs_brings_its_descendants() -> None:
    assert with_children(OUTLINE, {2}, always=False) == [3, 4]
    assert with_children(OUTLINE, {5}, always=False) == [5]
    assert with_children(OUTLINE, {5}, always=True) == [5, 6]
    assert with_children(OUTLINE, {0}, always=True) == [0]


def test_a_failed_call_is_counted_and_others_stand() -> None:
    sections = [section(i, f"Title {i}") for i in range(40)]

    def script(prompt: str) -> str:
        if "[1] " in prompt:
            raise OSError("down")
        return "40"

    reading, _ = routed(script, sections, context_tokens=400, answer_tokens=50)
    assert reading.chosen == {39}
    assert len(reading.failed) == 1
    assert reading.failures == ["OSError: down"]
    assert stand_in(reading.failed[0].positions, {0: 1.0, 1: 0.6, 2: 0.2, 39: 5.0}) == [
        0,
        1,
    ]
    assert stand_in(reading.failed[0].positions, {}) == []


def test_no_model_is_an_error_here() -> None:
    with pytest.raises(NoModel):
        Runner().run(route_steps("What?", OUTLINE))


def test_5000_sections_and_an_answer_of_10_000_tokens() -> None:
    sections = [
        section(i, f"Chapter {i // 50}", f"Topic {i}, and more") for i in range(5000)
    ]
    started = time.process_time()
    for form in ("ids", "names"):
        reading, _ = routed(
            "prose about nothing, " * 3300, sections, answer_format=form
        )
        assert reading.windows > 1
        assert reading.chosen == set()
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({1: 0.5}, [1]),
        ({0: 0.5, 1: 1.0, 2: 0.49}, [1, 0]),
        ({0: 0.3, 1: 0.1 + 0.2}, [0, 1]),  # ties but for rounding: the earlier
        (dict.fromkeys(range(7), 1.0), [0, 1, 2, 3, 4]),
        ({0: 0.0, 1: 0.0}, []),
        ({9: 1.0}, []),
    ],
)
def test_sections_that_stand_in_for_a_failed_call(
    scores: dict[int, float], expected: list[int]
) -> None:
    assert stand_in(range(7), scores) == expected


def test_the_papers_router_reads_its_prompt() -> None:
    index = D3Index(preset="paper")
    index.add(
        [
            read_text(
                "# Pump\n\nIt leaks.\n\n# Valve\n\nIt is brass.\n", format="markdown"
            )
        ]
    )
    llm = ScriptedModel("Valve")
    D3Retriever(index, llm=llm, preset="paper").search("What is the valve made of?")
    assert llm.prompts[0] == (
        "Document section structure:\n* Section: Pump\nIt leaks.\n* Section: Valve\nIt is "
        "brass.\nQuestion:\nWhat is the valve made of?\nList all section names that may be "
        "relevant for answering the question. Respond with comma-separated section name list. "
        "Provide an empty response if none of the sections are relevant."
    )
    assert llm.prompts[1].startswith("[1] It is brass.")
    for answer in ("* Section: Valve", "Section: Valve", "Valve, Pump"):
        retriever = D3Retriever(index, llm=ScriptedModel(answer), preset="paper")
        route = retriever.result("What is the valve made of?").route
        assert ("Valve",) in [
            section.path for section in route.sections
        ] and not route.dropped


@examples
def test_an_answer_that_names_nothing_routes_to_all_or_nothing(
    on_empty: str, how: str
) -> None:
    index = D3Index()
    index.add(
        [
            read_text(
                "# Pump\n\nIt leaks.\n\n# Valve\n\nIt is brass.\n", format="markdown"
            )
        ]
    )
    retriever = D3Retriever(
        index, llm=ScriptedModel("none"), routing=Routing(on_empty=on_empty)
    )
    route = retriever.result("Why?").route
    assert (route.how, len(route.sections)) == (how, 2 if how == "all" else 0)


@examples
def test_text_without_headings_that_just_fits_a_call_is_not_routed(
    room: int, expected: bool
) -> None:
    """Two paragraphs of ten tokens, and four for the label of each; characters are tokens."""
    prompt = "{paragraphs}{question}"
    selection = Selection(
        "base",
        context_tokens=room + len(prompt) + 7,
        answer_tokens=7,
        prompt=prompt,
        counter=len,
    )
    runs = [replace(section(i, "made up"), pseudo=True) for i in (1, 2)]
    assert is_direct(runs, selection) is expected
    assert is_direct([section(0), section(1)], selection) is expected
    assert not is_direct([section(0), section(1, "Heading")], selection)


@pytest.mark.parametrize(
    ("sections", "top", "expandable"),
    [
        # Two of the first level.
        (OUTLINE, [0, 1, 2, 5], {1, 2, 5}),
        # One title above all: the level below it.
        (
            [
                section(0, "T"),
                section(1, "T", "A"),
                section(2, "T", "A", "B"),
                section(3, "T", "C"),
            ],
            [0, 1, 3],
            {1, 3},
        ),
        # The parts of a section are one.
        (PARTS, [0, 1, 2, 3, 5], {1, 2, 3, 5}),
        (PARTS[:5], [0, 1, 2, 3, 4], {4}),
        # No level has two: all is shown.
        ([section(0, "T"), section(1, "T", "A")], [0, 1], {1}),
        # Each document by itself.
        (
            [
                section(0, "A", doc="a"),
                section(1, "B", doc="a"),
                section(2, "B", "C", doc="a"),
                section(3, "T", doc="b"),
                section(4, "T", "U", doc="b"),
                section(5, "T", "V", doc="b"),
            ],
            [0, 1, 3, 4, 5],
            {0, 1, 4, 5},
        ),
    ],
)
def test_the_first_level_with_several_sections(
    sections: list[OutlineSection], top: list[int], expandable: set[int]
) -> None:
    assert first_levels(sections) == (top, expandable)


def test_what_is_shown_again_by_levels() -> None:
    assert subtrees_of(OUTLINE, [0, 1, 2, 5], {1, 2, 5}) == [[2, 3, 4], [5, 6]]
    assert subtrees_of(OUTLINE, [2, 5], {5}) == [[5, 6]]
    assert subtrees_of(PARTS, [0, 1, 3, 5], {1, 2, 3, 5}) == [[1, 3, 4]]


def test_a_section_that_was_brought_along_brings_nothing_by_itself() -> None:
    outline = [
        section(0, "A", tokens=0),
        section(1, "A", "B", tokens=0),
        section(2, "A", "B", "C"),
        section(3, "D", tokens=0),
        section(4, "D", "E"),
        section(5, "F"),
    ]
    assert with_children(outline, {0, 1}, always=False) == [2]
    assert with_children(outline, {0, 3}, always=False) == [2, 4]
    assert with_children(outline, {1, 5}, always=False) == [2, 5]
    assert with_children(outline, {2, 3, 4, 5}, always=True) == [2, 4, 5]
    assert with_children(outline, set(), always=True) == []


def test_the_last_id_is_an_answer() -> None:
    reading, _ = routed("7")
    assert (reading.chosen, reading.dropped, reading.failures) == ({6}, 0, [])


TEXT = "# Pump\n\nIt leaks oil.\n\n# Valve\n\nIt is brass.\n\n# Fan\n\nIt hums.\n"


def index_of(text: str = TEXT, **options: Any) -> D3Index:
    index = D3Index(**options)
    index.add([read_text(text, id="d", format="markdown")])
    return index


def route_of(
    question: str,
    router: str,
    text: str = TEXT,
    cross_encoder: Any = None,
    sentences: Mapping[int, float] | None = None,
    llm: Any = None,
    **routing: Any,
) -> Routed:
    steps = routed_steps(
        question,
        SearchedPart(index_of(text), None),
        router,
        Routing(**routing),
        Selection(),
        cross_encoder,
        sentences,
    )
    return Runner(llm=llm).run(steps)


def titles(result: Routed) -> list[str]:
    return [section.path[-1] for section in result.route.sections]


def test_by_scores_the_best_parts_are_taken() -> None:
    result = route_of("What leaks?", "scores", share=0, least_tokens=0, on_empty="all")
    assert (result.route.how, titles(result), result.rows) == ("scores", ["Pump"], [0])
    assert result.scores == {0: 1.0} and result.route.scores == (1.0,)
    assert result.route.cost.scored == 3


@examples
def test_where_no_word_of_the_question_occurs(
    on_empty: str, how: str, rows: list[int]
) -> None:
    result = route_of("zebra", "scores", on_empty=on_empty)
    assert (result.route.how, result.rows) == (how, rows)
    assert len(result.route.sections) == len(rows)
    assert result.route.cost.scored == 3


def test_text_without_headings_is_read_directly_unless_it_is_scored() -> None:
    model = ScriptedModel("1")
    flat = "It leaks oil.\n\nIt is brass.\n"
    direct = route_of("What leaks?", "llm", flat, llm=model)
    assert (direct.route.how, direct.rows, model.prompts) == ("direct", [0, 1], [])
    assert route_of("What leaks?", "scores", flat).route.how == "scores"


def test_by_the_scores_of_sentences() -> None:
    result = route_of(
        "What?", "evidence", sentences={0: 0.2, 1: 0.9}, share=0, least_tokens=0
    )
    assert (result.route.how, titles(result)) == ("evidence", ["Valve"])
    assert result.scores == {1: 0.9} and result.route.cost.scored == 2


class Scored:
    """A cross-encoder with a score for each section."""

    scores = (0.45, 0.9, 0.01)

    def score(self, query: str, texts: list[str]) -> list[float]:
        self.texts = texts
        return list(self.scores)


@examples
def test_by_a_cross_encoder(options: dict[str, Any], expected: list[str]) -> None:
    encoder = Scored()
    result = route_of("What?", "cross_encoder", cross_encoder=encoder, **options)
    assert (result.route.how, titles(result)) == ("cross_encoder", expected)
    scores = dict(zip(("Pump", "Valve", "Fan"), Scored.scores, strict=True))
    assert result.route.scores == tuple(scores[title] for title in expected)
    assert encoder.texts[0] == "Pump\nIt leaks oil."
    assert result.route.cost.scored == 3


def test_an_answer_that_names_nothing_leaves_the_route_to_scores() -> None:
    result = route_of(
        "What leaks?", "llm", llm=ScriptedModel("none"), share=0, least_tokens=0
    )
    assert (result.route.how, titles(result), result.rows) == ("scores", ["Pump"], [0])
    assert result.route.answers == ("none",) and result.route.cost.scored == 3
    failed = route_of("What leaks?", "llm", llm=ScriptedModel(OSError("down")))
    assert (failed.route.how, titles(failed)) == ("llm", ["Pump"])
    assert (failed.route.degraded, failed.route.cost.scored) == (1, 3)
    assert route_of("What leaks?", "llm", llm=ScriptedModel("2, 3")).rows == [1, 2]


def test_a_section_has_the_score_of_its_best_part() -> None:
    """Four paragraphs of five words: parts of three and one, entries of two and two."""
    body = "\n\n".join(f"one two three four p{i}" for i in range(4))
    index = index_of(
        f"# A\n\n{body}\n\n# Empty\n\n# B\n\nlast\n",
        counter=lambda text: len(text.split()),
        section_tokens=10,
        part_tokens=15,
    )
    scope = SearchedPart(index, None)
    assert scope.layout.parts.tolist() == [[0, 3], [3, 4], [4, 5]]
    assert [section.rows for section in scope.outline] == [
        range(2),
        range(2, 4),
        range(4, 4),
        range(4, 5),
    ]
    # The first part reaches into both entries.
    assert scope.section_scores({0: 0.5, 1: 0.9}) == {0: 0.5, 1: 0.9}
    assert scope.section_scores({0: 0.9, 1: 0.5}) == {0: 0.9, 1: 0.9}
    assert scope.section_scores({1: 0.5}) == {1: 0.5}
    assert scope.section_scores({2: 0.5}) == {3: 0.5}
    assert scope.part_rows([0, 2]) == [0, 1, 2, 4]
    assert scope.rows([0, 3]) == [0, 1, 4]
    assert scope.all_rows == [0, 1, 2, 3, 4]
