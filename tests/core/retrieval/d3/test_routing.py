"""Routing: what the model is shown, how its answers are read, and how long outlines are split."""

from __future__ import annotations

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
from structrag.errors import NoModel
from structrag.model_calls.runner import Runner
from structrag.retrieval.d3.layout import OutlineSection
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.routing import (
    Routed,
    RouteTally,
    SearchedPart,
    is_direct,
    route_flow,
    routed_flow,
    stand_in,
    with_children,
)
from structrag.retrieval.d3.selection import Selection


def routed(
    answer: object, sections: list[OutlineSection] = OUTLINE, **changes: object
) -> tuple[RouteTally, ScriptedModel]:
    model = ScriptedModel(answer)
    read_options = Runner(llm=model).run(
        route_flow("What?", sections, Routing(**changes))
    )  # type: ignore[arg-type]
    return read_options, model


@given(answer=st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_answer_gives_a_subset_of_what_was_shown(answer: str) -> None:
    for form in ("ids", "names"):
        read_options, _ = routed(answer, answer_format=form)
        assert read_options.chosen <= set(range(len(OUTLINE)))
        assert read_options.answers == [answer]


PARTS = [
    section(0, "Paper"),
    *(
        replace(section(i, "Paper", "Long"), section_id="d#1", part=i, parts=3)
        for i in (1, 2, 3)
    ),
    section(4, "Paper", "Long", "Deep"),
    section(5, "Paper", "Short"),
]


def test_a_heading_without_paragraphs_brings_its_descendants() -> None:
    assert with_children(OUTLINE, {2}) == [3, 4]
    assert with_children(OUTLINE, {5}) == [5]


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


TEXT = "# Pump\n\nIt leaks oil.\n\n# Valve\n\nIt is brass.\n\n# Fan\n\nIt hums.\n"


def index_of(text: str = TEXT, **options: Any) -> D3Index:
    index = D3Index(**options)
    index.add([read_text(text, id="d", format="markdown")])
    return index


def route_of(
    question: str,
    router: str,
    text: str = TEXT,
    sentences: Mapping[int, float] | None = None,
    llm: Any = None,
    **routing: Any,
) -> Routed:
    flow = routed_flow(
        question,
        SearchedPart(index_of(text), None),
        router,
        Routing(**routing),
        Selection(),
        sentences,
    )
    return Runner(llm=llm).run(flow)


def titles(result: Routed) -> list[str]:
    return [section.path[-1] for section in result.route.sections]


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


def test_no_model_is_an_error_here() -> None:
    with pytest.raises(NoModel):
        Runner().run(route_flow("What?", OUTLINE))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({1: 0.5}, [1]),
        ({0: 0.5, 1: 1.0, 2: 0.49}, [0, 1]),
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
