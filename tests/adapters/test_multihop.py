"""Self-ask over the retrievers of both frameworks, and retrievers as tools."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from multihop_making import FILMS, QUESTION, two_hops
from ticking import ticking

from structrag.retrieval.multihop.agents import SelfAsk

TEXTS = {"films": FILMS, "other": "# Other\n\nSomething else is here.\n"}
HOPS = [
    ("Who directed The Lantern?", "Ada Holm"),
    ("Where was Ada Holm born?", "Bergen"),
]


def retriever(framework: Any, kind: str) -> Any:
    documents = framework.documents(TEXTS)
    if kind == "other":
        parts = [
            part for part in FILMS.split("\n") if part and not part.startswith("#")
        ]
        return framework.engine([framework.piece(part, id=part[:12]) for part in parts])
    return framework.index(kind, documents, **({} if kind == "D3" else {"k": 3}))


@pytest.mark.parametrize("kind", ["D3", "MultiView", "HiQA", "other"])
async def test_two_follow_ups_lead_to_the_answer(framework: Any, kind: str) -> None:
    chain = framework.self_ask(retriever(framework, kind), framework.model(two_hops))
    output = framework.answer(chain, QUESTION)
    assert (output["answer"], output["stopped"]) == ("Bergen", "final_answer")
    assert [(hop["follow_up"], hop["answer"]) for hop in output["trace"]] == HOPS
    assert output["evidence"] and output["failures"] == 0
    calls = [output["cost"][stage]["calls"] for stage in ("ask", "answer")]
    assert calls == [3, 2] and output["trace"][0]["cost"]["prompt_tokens"] > 0
    assert await framework.aanswer(chain, QUESTION) == output


def test_it_is_the_cores_self_ask(framework: Any) -> None:
    made = retriever(framework, "MultiView")
    settings: dict[str, Any] = {"max_followups": 1, "evidence_tokens": 50}
    core = SelfAsk(framework.core(made), two_hops, **settings).answer(QUESTION)
    model = framework.model(two_hops)
    output = framework.answer(framework.self_ask(made, model, **settings), QUESTION)
    assert (output["answer"], output["stopped"]) == (core.answer, "max_followups")
    assert [one.text for one in output["evidence"]] == [
        hit.chunk.text.strip() for hit in core.evidence
    ]
    stopped = framework.answer(
        framework.self_ask(made, model, token_budget=0), QUESTION
    )
    assert stopped["stopped"] == "token_budget"
    with pytest.raises(TypeError, match="max_followup"):
        framework.self_ask(made, model, max_followup=3)


def test_a_condition_holds_for_all_searches(framework: Any) -> None:
    made = retriever(framework, "MultiView")
    chain = framework.self_ask(made, framework.model(two_hops))
    output = framework.answer(chain, QUESTION, where={"doc_id": "other"})
    assert output["answer"] == "Unanswerable"
    assert {one.doc_id for one in output["evidence"]} == {"other"}


async def test_a_blocking_retriever_leaves_the_loop_free(framework: Any) -> None:
    other = framework.blocking(retriever(framework, "other"), seconds=0.1)
    chain = framework.self_ask(other, framework.model(two_hops))
    async with ticking() as ticks:
        await framework.aanswer(chain, QUESTION)
    assert ticks() > 10


# -- tools


TEXT = "# Pump\n\n## Seal\n\nThe seal of the X100 wears after a year. Acme makes it.\n"


def pump(framework: Any, kind: str = "MultiView") -> Any:
    return framework.index(
        kind, [framework.document(TEXT, **{framework.path_key: "pump.md"})]
    )


@pytest.mark.parametrize("kind", ["Evidence", "MultiView"])
async def test_a_retriever_is_a_tool_that_cites(framework: Any, kind: str) -> None:
    tool = pump(framework, kind).as_tool(
        name=f"pumps_{kind}", description="About pumps."
    )
    assert framework.about(tool) == (f"pumps_{kind}", "About pumps.", ["query"])
    output = framework.call(tool, query="When does the seal wear?")
    assert output.startswith("[1] pump.md, Pump") and "wears after a year" in output
    assert "characters 0 to " in output or "characters 8 to " in output
    assert await framework.acall(tool, query="When does the seal wear?") == output


def test_the_second_tool_of_a_name_is_told_and_numbered(framework: Any) -> None:
    def made(text: str) -> Any:
        twins = framework.document(f"# Twins of {framework}\n\n{text}", text)
        return framework.index("MultiView", [twins])

    def name(one: Any, **options: Any) -> str:
        return str(framework.about(one.as_tool(**options))[0])

    first, second, same = made("One."), made("Two."), made("One.")
    of_first = name(first)
    assert of_first == name(first) == name(same) != name(second)
    assert of_first.startswith("search_documents")
    with pytest.warns(
        UserWarning, match="already named 'search_documents', so this one is"
    ) as told:
        assert re.fullmatch(r"search_documents_\d+", name(second))
    assert told[0].filename == __file__
    assert name(second, name="other") == "other"


def test_tools_of_self_ask_and_one_that_finds_nothing(
    framework: Any,
) -> None:
    hops = pump(framework).as_tool(name=f"hops_{framework}")
    assert "[1] pump.md" in framework.call(hops, query="Who makes the X100?")
    empty = framework.index("Evidence", [framework.document("")]).as_tool()
    assert framework.call(empty, query="anything") == "Nothing was found."
    replies = ["Follow up: Who makes the X100?", "Acme", "So the final answer is: Acme"]
    chain = framework.self_ask(
        pump(framework), framework.model(lambda prompt: replies.pop(0))
    )
    tool = chain.as_tool()
    name, _, arguments = framework.about(tool)
    assert name.startswith("answer_from_documents") and arguments == ["question"]
    output = framework.call(tool, question="Who made the X100?")
    assert output.startswith("Acme\n\n[1] pump.md, Pump")


def test_results_of_self_ask_are_json(framework: Any) -> None:
    chain = framework.self_ask(retriever(framework, "D3"), framework.model(two_hops))
    output = framework.answer(chain, QUESTION)
    json.dumps({key: output[key] for key in ("answer", "stopped", "cost", "failures")})
