"""Margins of the gaps between sentences: by vectors, words, a model or a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from animals import TEXT, same_animal, sides, split, words
from doubles import HashEmbedder, ScriptedModel, Weigher

from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import InvalidAnswer
from structrag.reading.files import read_text


def test_the_similarity_margin_finds_the_change_of_topic() -> None:
    text = (
        "The cat sleeps on the mat. The cat eats on the mat. Rain fell over the hills. Rain "
        "fell over the fields."
    )
    chunks = split(text, margin="similarity", context="adjacent", min_tokens=0)
    assert [chunk.text.split()[0] for chunk in chunks] == ["The", "Rain"]
    assert chunks[1].extras["margin"] < 0 and chunks[0].extras["margin"] is None
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"similarity"}


def test_the_model_is_asked_and_obeyed() -> None:
    model = Weigher(same_animal)
    chunks = split(TEXT, llm=model, context="adjacent", min_tokens=0)
    assert [chunk.text.strip() for chunk in chunks] == [
        "# Cats\n\nCats sleep. Cats eat fish. Cats purr.", "Dogs bark. Dogs run. Dogs dig holes.",
        "# Rain\n\nRain falls. Rain is wet.",
    ]  # fmt: skip
    assert len(model.prompts) == 6
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"log-probabilities"}


def test_contexts_show_what_they_say() -> None:
    seen: dict[str, set[tuple[str, str]]] = {}
    for context in ("adjacent", "window:2", "chunk"):
        model = Weigher(lambda prompt: 0.9 if "bark" not in sides(prompt)[1] else -0.9)
        split(
            "Ann ran. Cats nap. Eels bark. Gnus graze.",
            llm=model,
            context=context,
            min_tokens=0,
            warmup=99,
        )
        seen[context] = set(map(sides, model.prompts))
    assert seen["adjacent"] == {
        ("Ann ran.", "Cats nap."),
        ("Cats nap.", "Eels bark."),
        ("Eels bark.", "Gnus graze."),
    }
    assert seen["window:2"] == {
        ("Ann ran.", "Cats nap. Eels bark."),
        ("Ann ran. Cats nap.", "Eels bark. Gnus graze."),
        ("Cats nap. Eels bark.", "Gnus graze."),
    }
    assert seen["chunk"] == {
        ("Ann ran.", "Cats nap."),
        ("Ann ran. Cats nap.", "Eels bark."),
        ("Eels bark.", "Gnus graze."),
    }


def test_nothing_is_asked_about_a_gap_that_the_limit_cuts() -> None:
    model = Weigher(lambda prompt: 0.9)
    split("One two three. Four five six. Seven eight.", llm=model, context="chunk", min_tokens=0,
    max_tokens=4,
          counter=words, warmup=99)  # fmt: skip
    assert model.prompts == []


def test_any_callable_gives_margins() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [0.5] * len(pairs)

    for context in ("adjacent", "chunk"):
        chunks = split("Ann ran. Cats nap.", margin=Unhashable(), context=context)
        assert [chunk.text for chunk in chunks] == ["Ann ran. Cats nap."]


def test_a_model_that_says_keep_to_everything_leaves_ties_and_the_merge_decides() -> (
    None
):
    text = " ".join(f"Sentence number {i} here." for i in range(40))
    chunks = split(
        text,
        llm=Weigher(lambda prompt: 1.0),
        min_tokens=20,
        max_tokens=40,
        counter=words,
    )
    assert all(words(chunk.text) <= 40 for chunk in chunks)
    assert all(words(chunk.text) >= 20 for chunk in chunks[:-1])


def test_a_model_without_log_probabilities_rates() -> None:
    with pytest.warns(UserWarning, match="ratings"):
        chunks = split("Ann ran. Cats nap.", llm=ScriptedModel("9"), min_tokens=0)
    assert len(chunks) == 1 and chunks[0].extras["margin_source"] == "rating"
    assert "degraded" not in chunks[0].extras


def test_failed_calls_take_the_similarity_of_their_gaps() -> None:
    def weigh(prompt: str) -> float:
        if "dig" in sides(prompt)[1]:
            raise OSError("gone")
        return 0.9

    document = read_text(TEXT, format="markdown")
    for context in ("adjacent", "chunk"):
        splitter = IDMSSplitter(context=context)
        chunks = splitter.split(document, llm=Weigher(weigh), embedder=HashEmbedder())
        assert [chunk.extras.get("margin_fallbacks", 0) for chunk in chunks] == [1, 0]


class Margins(Weigher):
    """A model that weighs many questions at once, and can be called with passages."""

    prompt: str | None = None

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [1.0] * len(pairs)

    def choose_many(
        self, prompts: Sequence[str], options: tuple[str, str]
    ) -> list[Any]:
        return [self.choose(prompt, options) for prompt in prompts]


@pytest.mark.parametrize("given_as", ["margin", "llm"])
def test_published_margins_are_not_divided_by_the_mass_of_the_options(
    given_as: str,
) -> None:
    class Masses(Margins):
        unnormalised = Margins(lambda prompt: 0.1)

    # The other has no such form.
    models = Masses(lambda prompt: 0.5), Margins(lambda prompt: 0.5)
    document = read_text("Cats sleep. Cats purr. Dogs bark.")
    for model, expected in zip(models, (0.1, 0.5), strict=True):
        margin, llm = (model, None) if given_as == "margin" else ("llm", model)
        published = IDMSSplitter.paper(margin=margin).explain(document, llm=llm)
        assert set(published.series[0].values[1:]) == {expected}
        ours = IDMSSplitter(margin=margin).explain(document, llm=llm)
        assert set(ours.series[0].values[1:]) == {0.5}


def test_a_model_given_as_margin_is_asked_what_one_given_as_llm_is() -> None:
    text = "Cats sleep. Cats purr. Dogs bark."
    one, other = Margins(lambda prompt: 0.5), Margins(lambda prompt: 0.5)
    IDMSSplitter.paper(margin=one).split(read_text(text))
    IDMSSplitter.paper().split(read_text(text), llm=other)
    assert one.prompts == other.prompts
    assert one.prompts[0].startswith("This is a text chunking task.")
    mine = Margins(lambda prompt: 0.5)
    mine.prompt = "{left} or {right}?"  # of its own, which it asks when it is called
    IDMSSplitter.paper(margin=mine).split(read_text(text))
    assert not mine.prompts


def margins_of(margin: Any, text: str = TEXT, **choices: Any) -> list[list[float]]:
    """The margins of each scope's gaps."""
    splitter = IDMSSplitter(margin=margin, **choices)
    document = read_text(text, format="markdown")
    found = splitter.explain(document, embedder=HashEmbedder())
    return [list(series.values[1:]) for series in found.series]


@pytest.mark.parametrize("context", ["adjacent", "window:3", "chunk"])
def test_a_gap_without_a_margin_takes_the_similarity_of_its_own_place(
    context: str,
) -> None:
    window = "window:4" if context == "chunk" else context
    (first, second) = margins_of("similarity", context=window)
    assert len(first) == 5 and len(second) == 1

    def nothing(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        return [None] * len(pairs)

    def some(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        return [0.25 if "fish" in after.split(".")[0] else None for _, after in pairs]

    assert margins_of(nothing, context=context) == [first, second]
    assert margins_of(some, context=context) == [[0.25, *first[1:]], second]


def test_chunks_count_the_gaps_inside_them_that_had_no_margin() -> None:
    """Gaps are in front of the second to sixth sentence; two sections, cut in no other place."""

    def margin(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        after = [words.split(".")[0] for _, words in pairs]
        return [None if "fish" in each or "wet" in each else 0.9 for each in after]

    choices = {"margin": margin, "context": "adjacent"}
    chunks = split(TEXT, **choices)
    assert [chunk.extras.get("margin_fallbacks") for chunk in chunks] == [1, 1]
    assert all(chunk.extras["degraded"] for chunk in chunks)
    # What is asked of nobody has no fallback.
    for name in ("similarity", "words"):
        chunks = split(TEXT, **{**choices, "margin": name})
        assert not any("degraded" in chunk.extras for chunk in chunks)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([-1.0, 1.0], ""),
        ([None, 1], ""),
        ([1.01, 0.5], "got 2, among them 1.01"),
        ([0.5, -1.01], "got 2, among them -1.01"),
        ([0.5], "got 1"),
        ([0.5] * 3, "got 3"),
    ],
)
def test_a_function_must_give_a_margin_from_minus_1_to_1_for_each_pair(
    values: list[float | None], fault: str
) -> None:
    if not fault:
        split("Ann ran. Cats nap. Eels swim.", margin=lambda pairs: values)
        return
    with pytest.raises(InvalidAnswer, match=fault):
        split("Ann ran. Cats nap. Eels swim.", margin=lambda pairs: values)


def test_it_is_said_once_a_document_what_margins_are_read_from() -> None:
    with pytest.warns(UserWarning, match="ratings from 0 to 10") as warned:
        split(TEXT, llm=ScriptedModel("9"), context="chunk", min_tokens=0)
    assert len(warned) == 1
