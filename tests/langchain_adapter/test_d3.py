"""D3Retriever as a LangChain retriever: with and without a chat model, costs, settings."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.documents import Document
from langchain_fakes import Scripted, facts

from langchain_structrag import D3Retriever

PAPER = (
    "# Pumps\n\nAll about pumps.\n\n## Data\n\nWe measured forty pumps in nine plants.\n\nEach ran "
    "for a year.\n\n"
    "## Results\n\nThe blue pump leaks least.\n\nThe red pump costs less.\n\n## Outlook\n\nMore "
    "pumps will be measured.\n"
)
OTHER = "# Valves\n\n## Data\n\nTen valves were opened and closed.\n"
DOCUMENTS = [
    Document(page_content=PAPER, metadata={"source": "pumps.md", "year": 2020}),
    Document(page_content=OTHER, metadata={"source": "valves.md", "year": 2021}),
]
QUESTION = "Which pump leaks least?"


def names_what_it_is_told(prompt: str) -> str:
    """The ids of the sections named Results, then of the paragraph on leaks; of a text without ids
    a summary."""
    shown = prompt.partition(QUESTION)[0]
    named = re.findall(r"\[(\d+)\][^\[]*?(?:Results|leaks least)", shown)
    return ", ".join(dict.fromkeys(named)) if "[1]" in shown else "A summary."


MODEL = Scripted(script=names_what_it_is_told)


def made(**options: Any) -> D3Retriever:
    return D3Retriever.from_documents(DOCUMENTS, **options)


async def test_two_calls_and_their_cost() -> None:
    retriever = made(llm=MODEL, summariser=None)
    assert retriever.index.usage.calls == 0
    assert retriever.usage.calls == 0
    result = retriever.result(QUESTION)
    assert [d.page_content for d in retriever.documents(result)] == [
        "The blue pump leaks least."
    ]
    assert result.total.calls == retriever.usage.calls == 2
    assert {stage: cost.calls for stage, cost in result.cost.items()} == {
        "route": 1,
        "select": 1,
    }
    assert (await retriever.aresult(QUESTION)).hits == result.hits
    assert [r.hits for r in retriever.results([QUESTION, QUESTION])] == [
        result.hits
    ] * 2
    assert [r.hits for r in await retriever.aresults([QUESTION])] == [result.hits]
    assert facts(retriever.documents(result)) == facts(retriever.invoke(QUESTION))
