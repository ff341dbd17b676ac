"""The walk down the tree: what a model is shown, how its answers are read, where it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from structrag import Document
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter
from structrag.models.llm import as_language_model
from structrag.records import Chunk
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


def test_of_several_numbers_the_least_counts() -> None:
    def answer(prompt: str) -> str:
        return "[3], [2]" if "Manual" in prompt else "none"

    assert walked(answer, "a", "b", "c", "d").titles == ("Manual b",)


def test_the_first_twenty_documents_are_shown() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "none"

    names = [f"d{number}" for number in range(1, 22)]
    index = TreeIndex()
    index.add([Document(f"Text of {name}.", id=name) for name in names])
    steps = walk_steps(
        "Where?", Tree(*index.readers()), names, as_language_model(answer)
    )
    assert Runner().run(steps) == Walk()
    assert "[20] d20\nText of d20." in asked[0] and "d21" not in asked[0]


def test_of_a_chunk_400_characters_are_shown() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "none"

    bodies = ["x" * 400, "y" * 401]
    index = TreeIndex()
    index.add([Document(body, id=body[0]) for body in bodies])
    steps = walk_steps(
        "Where?", Tree(*index.readers()), ["x", "y"], as_language_model(answer)
    )
    Runner().run(steps)
    assert (asked[0].count("x" * 400), asked[0].count("y" * 400)) == (1, 1)
    assert "y" * 401 not in asked[0]


@pytest.mark.parametrize(
    ("start", "is_held"), [(9, False), (10, True), (19, True), (20, False)]
)
def test_a_walk_holds_what_begins_in_its_part(start: int, is_held: bool) -> None:
    walk = Walk("d", 10, 20)
    chunk = Chunk("id", "d", "d#0", start, 30, "x" * (30 - start))
    assert walk.holds(chunk) == is_held
    assert not walk.holds(replace(chunk, doc_id="other")) and not Walk().holds(chunk)


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
