"""Routing: what the model is shown, how its answers are read, and how long outlines are split."""

from __future__ import annotations

from d3_making import OUTLINE
from doubles import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import D3Index, D3Retriever, read_text
from structrag.model_calls.runner import Runner
from structrag.retrieval.d3.outlines import OutlineSection, Routing
from structrag.retrieval.d3.routing import (
    RouteTally,
    route_flow,
)


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
