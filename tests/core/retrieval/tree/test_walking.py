"""The walk down the tree: what a model is shown, how its answers are read, where it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from structrag import Document
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter
from structrag.models.llm import as_language_model
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.shape import Tree
from structrag.retrieval.tree.walking import Walk, check_walk_prompt, walk_steps

TEXT = (
    "# Pump\n\nAbout pumps.\n\n## Filter\n\nRinse it.\n\n### Mesh\n\nFine.\n\n"
    "## Motor\n\nIt hums.\n\n### Oil\n\nBlack.\n"
)


def tree(*names: str) -> Tree:
    index = TreeIndex()
    index.add(
        [
            Document(TEXT, id=name, title=f"Manual {name}", format="markdown")
            for name in names
        ]
    )
    return Tree(*index.readers())


def walked(model: Any, *names: str) -> Walk:
    steps = walk_steps(
        "What colour is the oil?", tree(*names), names, as_language_model(model)
    )
    return Runner().run(steps)


def by_title(*titles: str) -> Callable[[str], str]:
    """A model that names the first of these titles that it is shown."""

    def answer(prompt: str) -> str:
        shown = [line for line in prompt.splitlines() if line.startswith("[")]
        for title in titles:
            for line in shown:
                if line.endswith(f"] {title}"):
                    return line.partition("]")[0] + "]"
        return "none"

    return answer


def test_it_ends_above_chunks_alone() -> None:
    walk = walked(by_title("Manual b", "Motor"), "a", "b")
    assert (
        walk.titles == ("Manual b", "Motor") and walk.doc_id == "b" and not walk.failure
    )
    assert TEXT[walk.start : walk.end].startswith("## Motor")


def test_a_chunk_can_be_chosen_and_one_document_is_no_question() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "1"

    walk = walked(answer, "a")
    assert len(asked) == 1 and "[1] Pump" in asked[0] and "Rinse it." in asked[0]
    assert walk.titles == ("Manual a", "Pump") and TEXT[: walk.end].endswith(
        "About pumps.\n\n"
    )


def test_none_keeps_what_was_chosen_before() -> None:
    walk = walked(by_title("Manual b"), "a", "b")
    assert (walk.titles, walk.failure) == (("Manual b",), "")
    assert (walk.start, walk.end) == (0, len(TEXT))
    assert walked(lambda prompt: "none", "a", "b") == Walk()


@pytest.mark.parametrize(
    "answer", ["", "I am sorry, I cannot do that.", "What is a pump?"]
)
def test_an_answer_that_cannot_be_used_ends_it_and_is_said(answer: str) -> None:
    walk = walked(lambda prompt: answer, "a", "b")
    assert walk.doc_id is None and walk.failure


def test_a_model_that_raises_ends_it() -> None:
    def fail(prompt: str) -> str:
        raise TimeoutError("no answer")

    assert "TimeoutError" in walked(fail, "a", "b").failure


def test_a_model_that_picks_is_given_the_options() -> None:
    class Picks:
        name = "picks"
        given: list[Sequence[str]] = []  # noqa: RUF012

        def complete(self, prompt: str) -> str:
            raise AssertionError("pick is there")

        def pick(self, prompt: str, options: Sequence[str]) -> str:
            self.given.append(options)
            return options[-2]

    walk = walked(Picks(), "a", "b")
    assert Picks.given[0] == ("1", "2", "none")
    assert walk.titles == ("Manual b", "Motor")


def test_an_empty_index_has_nowhere_to_walk() -> None:
    assert walked(by_title()) == Walk()


def test_the_prompt_is_checked() -> None:
    with pytest.raises(InvalidParameter, match="walk_prompt"):
        check_walk_prompt("Where is {question}?")
