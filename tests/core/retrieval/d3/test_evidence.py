"""Selecting evidence: every strategy and chain on scripted models, whatever they answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from d3_making import Overlap
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import D3Index, D3Retriever, read_text
from structrag.asking.runner import Runner
from structrag.asking.steps import together
from structrag.errors import NoModel
from structrag.records import Chunk
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.estimating import selection_cost
from structrag.retrieval.d3.evidence import (
    packed,
    rendered,
    select_steps,
    short_forms,
    summarised_steps,
)
from structrag.retrieval.d3.selection import PAPER_PROMPT, Evidence, Selection, Tally
from structrag.text.tokens import count_tokens

QUESTION = "what do cats eat"
TEXTS = [
    "Cats eat fish every day.",
    "The pump moves water.",
    "Dogs eat meat, and cats eat fish too.",
    "Nothing is said here.",
    "What people eat is told below.",
    "Water is wet.",
]
SHOWN = re.compile(r"^\[(\d+)\] (.*)", re.MULTILINE)


def chunks(
    texts: Sequence[str],
    context: str = "Guide > Animals",
    kind: str = "paragraph",
    **extras: Any,
) -> list[Chunk]:
    made = []
    start = 0
    for text in texts:
        made.append(
            Chunk(
                f"d:{start}",
                "d",
                "d#1",
                start,
                start + len(text),
                text,
                context,
                kind=kind,
                extras=extras,
            )
        )
        start += len(text)
    return made


def selected(
    strategy: str, script: Any = None, texts: Sequence[str] = TEXTS, **changes: Any
) -> Evidence:
    runner = Runner(
        llm=None if script is None else ScriptedModel(script), embedder=HashEmbedder()
    )
    return runner.run(
        select_steps(QUESTION, chunks(texts), models(strategy, **changes))
    )


def models(strategy: str, **changes: Any) -> Selection:
    given = {
        "monot5": Overlap(lambda share: share - 1),
        "cross_encoder": Overlap(),
        **changes,
    }
    return Selection(strategy=strategy, **given)


def reader(word: str) -> Callable[[str], str]:
    """Names the ids of the texts shown that hold a word."""
    return lambda prompt: ", ".join(
        i for i, text in SHOWN.findall(prompt) if word in text.casefold()
    )


# -- base


def test_base_shows_every_paragraph_once_and_the_question_last() -> None:
    model = ScriptedModel("[1], [3]")
    evidence = Runner(llm=model).run(
        select_steps(QUESTION, chunks(TEXTS), Selection(strategy="base"))
    )
    assert evidence.positions == (0, 2)
    assert evidence.scores is None
    assert evidence.answers == ("[1], [3]",)
    (prompt,) = model.prompts
    assert SHOWN.findall(prompt) == [
        (str(i), text) for i, text in enumerate(TEXTS, start=1)
    ]
    assert prompt.index(TEXTS[-1]) < prompt.index(QUESTION)
    assert evidence.cost == StageCost(1, count_tokens(prompt), count_tokens("[1], [3]"))


def test_calls_keep_to_the_context_and_ids_go_on() -> None:
    texts = [f"Paragraph {i} " + "word " * 100 for i in range(20)]
    model = ScriptedModel(reader("paragraph"))
    settings = Selection(strategy="base", context_tokens=800, answer_tokens=100)
    evidence = Runner(llm=model).run(select_steps(QUESTION, chunks(texts), settings))
    assert evidence.positions == tuple(range(20))
    assert len(model.prompts) == evidence.cost.calls > 3
    assert all(count_tokens(prompt) <= 700 for prompt in model.prompts)
    ids = [int(i) for prompt in model.prompts for i, _ in SHOWN.findall(prompt)]
    assert sorted(ids) == list(range(1, 21))


def test_an_id_of_another_call_is_dropped_and_counted() -> None:
    texts = [f"Paragraph {i} " + "word " * 100 for i in range(6)]
    evidence = selected("base", "1, 6, 99", texts, context_tokens=770)  # 600 of them
    assert evidence.cost.calls == 3
    assert evidence.positions == (0, 5)
    assert evidence.dropped == 7  # 6 and 99; all three; 1 and 99


@pytest.mark.parametrize("answer", ["7", "7, 9", "[99]"])
def test_ids_that_were_never_shown_are_no_answer(answer: str) -> None:
    evidence = selected("base", answer, ["Cats eat fish.", "Pumps move water."])
    assert evidence.positions == (0,)  # by BM25; the question is of cats
    assert evidence.dropped and evidence.degraded == 1
    assert "not shown" in evidence.failures[0]


def test_pieces_of_a_long_paragraph_share_its_id() -> None:
    texts = [
        "Short one.",
        "".join(f"Sentence {i} has six words. " for i in range(240)),
        "Short two.",
    ]
    model = ScriptedModel("2")
    settings = Selection(strategy="base", context_tokens=1026)  # 800 of them
    evidence = Runner(llm=model).run(select_steps(QUESTION, chunks(texts), settings))
    assert evidence.positions == (1,)
    # calls are made at once, so their prompts come in any order
    shown = sorted([i for i, _ in SHOWN.findall(prompt)] for prompt in model.prompts)
    assert shown == [["1"], ["2"], ["2"], ["2"], ["2", "3"]]
    assert evidence.dropped == 1  # the first call did not show it


def test_a_failed_call_selects_its_paragraphs_lexically() -> None:
    texts = [
        "Cats eat fish. " + "word " * 100,
        "pump " * 100,
        "cats eat birds " + "word " * 100,
        "valve " * 100,
    ]

    def script(prompt: str) -> str:
        if "fish" in prompt:
            raise TimeoutError("too slow")
        return "4"

    evidence = selected("base", script, texts, context_tokens=898)  # 700 of them
    assert evidence.cost.calls == 2
    assert evidence.positions == (0, 3)
    assert evidence.degraded == 1
    assert evidence.answers == ("", "4")
    assert evidence.failures == ("TimeoutError: too slow",)
    assert evidence.cost.scored == 2


def test_a_question_that_fills_the_context_takes_no_call() -> None:
    runner = Runner(llm=ScriptedModel("1"))
    steps = select_steps("cats " * 4000, chunks(TEXTS), Selection(strategy="base"))
    evidence = runner.run(steps)
    assert runner.usage.calls == 0
    assert evidence.positions == (0, 2)
    assert evidence.degraded == 1


def test_without_a_language_model() -> None:
    assert selected("auto").positions == selected("lexical").positions == (0, 2)
    assert selected("auto").degraded == 0
    assert selected("auto", "2").positions == (1,)
    for strategy in ("base", "hierbase", "lexical+base"):
        with pytest.raises(NoModel):
            selected(strategy)


# -- hierbase


def test_hierbase_reads_summaries_and_then_what_it_named() -> None:
    long = (
        "Cats are animals. " + "They sleep a lot, and much has been said of that. " * 20
    )
    model = ScriptedModel(lambda prompt: "1, 3" if "[4]" in prompt else "2")
    paragraphs = chunks([long, *TEXTS[1:4]], summary="A summary of it.")
    evidence = Runner(llm=model).run(
        select_steps(QUESTION, paragraphs, Selection(strategy="hierbase"))
    )
    first, second = (SHOWN.findall(prompt) for prompt in model.prompts)
    assert first[0] == ("1", "A summary of it.")
    # Short ones stand for themselves.
    assert [text for _, text in first[1:]] == TEXTS[1:4]
    assert second[0][0] == "1"
    assert long.strip() in model.prompts[1]
    assert second[1] == ("2", TEXTS[2])
    assert evidence.positions == (2,)


def test_hierbase_without_candidates() -> None:
    assert selected("hierbase", "none", hier_fallback=False) == Evidence(
        (), cost=selected("base", "none").cost, answers=("none",)
    )
    both = selected("hierbase", "none", hier_fallback=True)
    assert both.positions == ()
    assert both.cost.calls == 2
    script = iter(["none", "1"])
    assert selected("hierbase", lambda _: next(script)).positions == (0,)


def test_short_forms_of_prose_and_tables() -> None:
    model = ScriptedModel("none")
    table = "| Name | Size |\n|---|---|\n" + "".join(
        f"| pump {i} | {i} metres and more |\n" for i in range(40)
    )
    prose = "Cats eat fish, as everybody knows who has one. " + "".join(
        f"Pump {i} is another thing again. " for i in range(30)
    )
    for texts, kind in (([prose], "paragraph"), ([table], "table")):
        settings = Selection(strategy="hierbase", hier_fallback=False)
        Runner(llm=model).run(
            select_steps(QUESTION, chunks(texts, kind=kind), settings)
        )
    (_, extract), *_ = SHOWN.findall(model.prompts[0])
    assert all(sentence in prose for sentence in extract.split(". "))
    assert 20 < count_tokens(extract) <= 60
    assert "[1] Name | Size\npump 0, pump 1, pump 2," in model.prompts[1]
    assert "pump 39" not in model.prompts[1]


# -- chains


def test_chains_narrow_stage_by_stage() -> None:
    reranker = Overlap(lambda share: share - 1)
    both = selected("base+monot5", "2-5", monot5=reranker, k=2)
    assert len(reranker.texts) == 4
    assert both.positions == (2, 4)
    assert both.scores == (-0.5, -0.5)
    assert both.cost.calls == 1
    assert both.cost.scored == 4
    reverse = selected("monot5+base", "1, 2", chain_k=2)
    assert reverse.positions == (0, 2)
    assert reverse.scores == (-0.5, -0.5)
    assert selected("base+base", "1, 2").positions == (0, 1)
    assert selected("base+lexical", "none").cost == selected("base", "none").cost


# -- invariants

GARBAGE = st.sampled_from(
    ["", "none", "1, 2, 2, 99", "[3]-[900]", '{"ids": [1, "4"]}', "I am sorry.", "Paragraph 2 in "
                                                                                 "section 3.2 "
        "(45%)", "第2段", "x" * 9999]
) | st.text(max_size=20)  # fmt: skip
STRATEGIES = ["base", "hierbase", "monot5", "cross_encoder", "lexical", "dense"]
CHAINS = [
    *STRATEGIES,
    "base+monot5",
    "monot5+base",
    "dense+hierbase",
    "lexical+base+cross_encoder",
]
LONG = [
    *TEXTS,
    *(f"{text} " + "More is said of it in these words. " * 20 for text in TEXTS),
]


@settings(max_examples=60, deadline=None)
@given(
    answers=st.lists(GARBAGE, min_size=1, max_size=6),
    strategy=st.sampled_from(CHAINS),
    n=st.integers(0, 12),
    fails=st.integers(2, 4),
)
def test_any_answers_give_a_valid_subset_and_sync_equals_async(
    answers: list[str], strategy: str, n: int, fails: int
) -> None:
    def scripted() -> Callable[[str], str]:
        # By prompt, as calls of one round may come in any order.
        def script(prompt: str) -> str:
            number = sum(map(ord, prompt))
            if number % fails == 1:
                raise OSError("connection reset")
            return answers[number % len(answers)]

        return script

    setting = models(strategy, context_tokens=500)
    paragraphs = chunks(LONG[:n])
    runner = Runner(llm=ScriptedModel(scripted()), embedder=HashEmbedder())
    evidence = runner.run(select_steps(QUESTION, paragraphs, setting))
    assert list(evidence.positions) == sorted(set(evidence.positions))
    assert set(evidence.positions) <= set(range(n))
    assert evidence.scores is None or len(evidence.scores) == len(evidence.positions)
    assert evidence.degraded == len(evidence.failures)
    assert (
        evidence.cost.calls
        == len(evidence.answers)
        <= selection_cost(QUESTION, paragraphs, setting).calls
    )
    assert (
        asyncio.run(runner.arun(select_steps(QUESTION, paragraphs, setting)))
        == evidence
    )


@settings(max_examples=40, deadline=None)
@given(chosen=st.sets(st.integers(1, 12)), k=st.integers(1, 5))
def test_a_chain_selects_from_what_came_before(chosen: set[int], k: int) -> None:
    answer = ", ".join(map(str, sorted(chosen))) or "none"
    base = selected("base", answer, LONG)
    assert base.positions == tuple(i - 1 for i in sorted(chosen))
    assert set(selected("base+monot5", answer, LONG, k=k).positions) <= set(
        base.positions
    )
    assert set(
        selected("hierbase", answer, LONG, hier_fallback=False).positions
    ) <= set(base.positions)


def test_questions_side_by_side_equal_one_by_one() -> None:
    runner = Runner(llm=ScriptedModel(reader("fish")), embedder=HashEmbedder())
    questions = [QUESTION, "where is the water", "dogs"]
    for strategy in ("base", "dense", "base+lexical"):
        many = runner.run(
            together(
                [select_steps(q, chunks(TEXTS), models(strategy)) for q in questions]
            )
        )
        assert many == [
            runner.run(select_steps(q, chunks(TEXTS), models(strategy)))
            for q in questions
        ]


@examples
def test_the_cost_is_known_before(strategy: str) -> None:
    setting = models(strategy, context_tokens=500, chain_k=3)
    evidence = selected(strategy, "1-12", LONG, context_tokens=500, chain_k=3)
    expected = selection_cost(QUESTION, chunks(LONG), setting)
    assert expected.scored == evidence.cost.scored
    if "+" in strategy:
        assert expected.calls >= evidence.cost.calls
        assert expected.prompt_tokens >= evidence.cost.prompt_tokens
    else:
        answers = setting.answer_tokens * expected.calls
        assert expected == replace(evidence.cost, answer_tokens=answers)
    assert selection_cost(QUESTION, [], setting) == StageCost()


def test_hierbase_reads_summaries_of_the_summariser() -> None:
    def summarise(prompt: str) -> str:
        return "It leaks. " if "pump" in prompt else "Of brass."

    long = " It is said again and again, so that this is a long paragraph." * 3
    text = f"# A\n\nThe pump drips.{long}\n\n# B\n\nThe valve.{long}\n\n# C\n\nShort.\n"
    summariser = ScriptedModel(summarise)
    index = D3Index(preset="paper", llm=summariser)
    index.add([read_text(text, format="markdown")])
    before = len(summariser.prompts)
    model = ScriptedModel(lambda prompt: "A, B, C" if "Section" in prompt else "1")
    retriever = D3Retriever(index, llm=model, preset="paper", strategy="hierbase")
    result = retriever.result("What drips?")
    assert len(summariser.prompts) - before == 3  # whatever their length
    assert "[1] It leaks.\n[2] Of brass.\n" in model.prompts[1]
    assert (
        "The pump drips." not in model.prompts[1]
        and "The pump drips." in model.prompts[2]
    )
    assert [hit.chunk.path for hit in result.hits] == [("A",)]
    assert result.cost["select"].calls == 2


# And no loop, as "x" * 9000 is.
TOO_LONG = " ".join(f"word{number}" for number in range(900))


@pytest.mark.parametrize(
    "answer", [OSError("down"), "", "I cannot help with that.", "x" * 9000, TOO_LONG]
)
def test_a_paragraph_whose_summary_fails_is_extracted(answer: Any) -> None:
    paragraphs = chunks(LONG)
    model = ScriptedModel("1")
    settings = Selection.paper(strategy="hierbase", summariser=ScriptedModel(answer))
    evidence = Runner(llm=model).run(select_steps(QUESTION, paragraphs, settings))
    plain = replace(settings, summariser=None)
    assert (
        evidence.positions
        == Runner(llm=ScriptedModel("1"))
        .run(select_steps(QUESTION, paragraphs, plain))
        .positions
    )
    assert bool(evidence.failures) is (answer != TOO_LONG)


# -- limits; characters or words are tokens


def in_characters(strategy: str, room: int, **changes: Any) -> Selection:
    """`room` characters are left for paragraphs and their labels."""
    return Selection(
        strategy,
        context_tokens=room + len("why?") + 7,
        answer_tokens=7,
        prompt="{paragraphs}{question}",
        counter=len,
        **changes,
    )


@examples
def test_with_room_for_less_than_64_tokens_no_call_is_made(
    room: int, calls: int
) -> None:
    settings = in_characters("base", room)
    assert selection_cost("why?", chunks(["a"]), settings).calls == calls


@examples
def test_a_call_is_filled_to_the_last_token(
    sizes: Sequence[int], calls: list[list[int]]
) -> None:
    """Each text takes five characters more: its label and the blank line."""
    texts = ["x" * size for size in sizes]
    groups = packed("why?", texts, in_characters("base", 80))
    assert [[part.position for part in parts] for parts in groups] == calls


def test_paragraphs_stand_apart_except_in_the_prompt_of_the_paper() -> None:
    texts = ["One. ", "Two."]
    settings = in_characters("base", 100)
    (parts,) = packed("why?", texts, settings)
    assert rendered("why?", texts, parts, settings) == "[1] One.\n\n[2] Two.why?"
    paper = rendered("why?", texts, parts, replace(settings, prompt=PAPER_PROMPT))
    assert paper.startswith("[1] One.\n[2] Two.\nQuestion:\nwhy?\n")


def test_the_longest_paragraphs_are_counted_for_the_next_strategy() -> None:
    paragraphs = chunks(["a" * 10, "b" * 30, "c" * 20, "d" * 20])
    settings = in_characters("lexical+base", 100, chain_k=2)
    shown = f"[1] {'b' * 30}\n\n[2] {'c' * 20}why?"
    assert selection_cost("why?", paragraphs, settings) == StageCost(
        1, len(shown), 7, 4
    )
    first = replace(settings, strategy="base+lexical")
    assert selection_cost("why?", paragraphs, first).scored == 4


def words(text: str) -> int:
    return len(text.split())


def short(text: str, short_tokens: int, kind: str = "paragraph", **extras: Any) -> str:
    settings = Selection("hierbase", short_tokens=short_tokens, counter=words)
    (form,) = short_forms(chunks([text], kind=kind, **extras), settings)
    return form


def test_a_paragraph_of_exactly_the_short_tokens_stands_for_itself() -> None:
    assert short("one two three", 3, summary="Short.") == "one two three"
    assert short("one two three", 2, summary=" Short. ") == "Short."
    assert short("one two three", 0, summary="Short.") == "Short."
    # No string, or a blank one, is no summary.
    text = "Pumps leak. Valves are closed by hand, and that takes its time."
    for summary in (None, 7, " "):
        assert short(text, 3, summary=summary) == short(text, 3)
        assert short(text, 3) in ("Pumps leak.", text)


TABLE = "| a b | c |\n|---|---|\n| p q r | 1 |\n|  | 2 |\n| s t | 3 |\n"


@examples
def test_a_table_is_its_header_and_the_first_cells(
    short_tokens: int, outline: str
) -> None:
    assert short(TABLE, short_tokens, "table") == outline
    assert short(TABLE, short_tokens, "table", summary="Short.") == "Short."


def test_a_table_of_one_row_is_that_row() -> None:
    assert short("| a | b |\n|---|---|\n", 1, "table") == "a"
    assert short("| a b c d |\n|---|\n", 4, "table") == "a b c"


@examples
def test_long_paragraphs_get_summaries_that_are_shorter(
    text: str, answer: str, asked: bool, summary: str | None
) -> None:
    summariser = ScriptedModel(answer)
    settings = Selection(
        "hierbase", summariser=summariser, short_tokens=3, counter=words
    )
    (paragraph,) = chunks([text])
    paragraph = replace(paragraph, path=("Guide", "Animals"))
    tally = Tally()
    (read,) = Runner().run(summarised_steps([paragraph], settings, tally))
    assert read.extras.get("summary") == summary
    assert tally.failures == []
    assert [
        "Title: Guide > Animals\n" in prompt and "at most 46 words" in prompt
        for prompt in summariser.prompts
    ] == [True] * asked
    # One that has a summary is not asked for.
    (again,) = Runner().run(
        summarised_steps([replace(paragraph, extras={"summary": "S"})], settings, tally)
    )
    assert again.extras == {"summary": "S"}
    assert len(summariser.prompts) == asked


def test_ids_never_shown_are_no_answer_where_no_other_call_names_any() -> None:
    """Two calls of one paragraph each."""
    texts = ["cats eat fish " + "x" * 60, "cats eat birds " + "x" * 60]

    def evidence_of(first: Any, second: Any) -> Evidence:
        def script(prompt: str) -> str:
            answer = first if "fish" in prompt else second
            if isinstance(answer, Exception):
                raise answer
            return str(answer)

        settings = in_characters("base", 80, k=1)
        return Runner(llm=ScriptedModel(script)).run(
            select_steps("cats", chunks(texts), replace(settings, context_tokens=91))
        )

    unknown = evidence_of("9", "none")
    assert unknown.positions == (0, 1) and unknown.degraded == 2
    assert unknown.dropped == 1 and len(unknown.failures) == 1
    assert unknown.cost.scored == 2
    # The other call names its own.
    named = evidence_of("9", "2")
    assert (named.positions, named.degraded, named.dropped) == ((1,), 0, 1)
    # The other call failed, and is answered by BM25 alone.
    failed = evidence_of("9", OSError("down"))
    assert (failed.positions, failed.degraded, failed.dropped) == ((1,), 1, 1)
    assert failed.cost.scored == 1
    none = evidence_of("none", "none")
    assert (none.positions, none.degraded, none.failures) == ((), 0, ())


def test_only_the_last_strategy_of_a_chain_keeps_to_k() -> None:
    chain = selected("monot5+lexical", k=1, chain_k=3, threshold=0.1)
    assert chain.cost == StageCost(scored=6 + 3)
    assert len(chain.positions) == 1 and chain.scored_by == "lexical"
    assert chain.shares == (1.0,)
