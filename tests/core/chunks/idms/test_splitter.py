"""IDMS chunks: the threshold's worked trace, merging, contexts, models that fail, limits, tiling."""

from __future__ import annotations

import itertools
import math
import pickle
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.asking.cache import Cache
from structrag.asking.runner import Runner
from structrag.chunks.bounds import Limits, runs_of
from structrag.chunks.idms.gaps import AdaptiveThreshold, decide, merge_runs
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import BudgetExceeded, InvalidAnswer, InvalidParameter, NoModel
from structrag.reading.files import read_text
from structrag.records import Chunk

TRACE = [0.4, -0.1, 0.3, 0.2, -0.2, 0.05, 0.3, -0.4, 0.1]
THETAS = [0, 0, 0, 0, 0, 0.12, 0.05, 0.13, -0.01]

PARTS = [
    "# What is it? Really.\n\n", "## Deep\n\n", "### Deeper\n", "# Next\n", "\n", "   \n   \n\n", "\r\n",
    "One sentence. Two sentences here! A third? Yes.\n\n", "Cats sleep all day. Cats eat fish. "
                                                           "Dogs bark at night.\n\n",
    "many words and no end in sight " * 6 + "\n\n", "天气很好。我们去公园散步。今天。\n\n", "👩‍👩‍👧‍👦 family 🇩🇪🇫🇷 "
                                                                            "e\u0301\n\n",
    "| a | b |\n|---|---|\n" + "".join(f"| row {i} | v {i} |\n" for i in range(8)) + "\n",
    "```py\n" + "".join(f"x{i} = {i}\n" for i in range(10)) + "```\n\n", "- one\n- two\n  - sub\n- "
                                                                         "three\n\n",
    "x" * 90 + "\n\n", "nul \x00\n", "<|endoftext|>\n", "<div>\n\nunclosed\n\n", "---\n",
]  # fmt: skip
markdown = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)

TEXT = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n# "
    "Rain\n\nRain falls. Rain is wet."
)


def words(text: str) -> int:
    return len(text.split())


def split(text: str, *, embedder: Any = None, llm: Any = None, **choices: Any) -> list[Chunk]:
    return IDMSSplitter(**choices).split(
        read_text(text, format="markdown"), embedder=embedder or HashEmbedder(), llm=llm
    )


class Weigher(ScriptedModel):
    """Weighs two options by a function of the prompt; what it returns is for "2", keep."""

    def __init__(self, weigh: Callable[[str], float | None], script: Any = "no idea") -> None:
        super().__init__(script)
        self.weigh = weigh

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        self.prompts.append(prompt)
        margin = self.weigh(prompt)
        return margin if margin is None or options == ("2", "1") else -margin

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return self.choose(prompt, options)


def sides(prompt: str) -> tuple[str, str]:
    match = re.search(r"Passage A:\n(.*)\n\nPassage B:\n(.*)\n\nAnswer with", prompt, re.DOTALL)
    assert match is not None
    return match.group(1), match.group(2)


def same_animal(prompt: str) -> float:
    left, right = sides(prompt)
    return (
        0.8
        if left.split()[-2:-1] and left.rsplit(". ", 1)[-1].split()[0] == right.split()[0]
        else -0.8
    )


# -- the threshold


def test_worked_trace_of_the_threshold() -> None:
    threshold = AdaptiveThreshold()
    cuts, thetas = decide(TRACE, threshold)
    assert "".join("S" if i in cuts else "M" for i in range(1, 10)) == "MSMMSSMSM"
    assert thetas == pytest.approx(THETAS)
    assert threshold.value == pytest.approx(-0.03)
    assert runs_of(cuts, 10) == [(0, 2), (2, 5), (5, 6), (6, 8), (8, 10)]


def test_worked_trace_over_the_full_history_without_warm_up() -> None:
    cuts, _ = decide(TRACE, AdaptiveThreshold(0.0, 0, None))
    assert "".join("S" if i in cuts else "M" for i in range(1, 10)) == "MSMSSSMSM"


def test_fewer_gaps_than_the_warm_up_leave_the_threshold() -> None:
    assert decide([0.5, -0.5, 0.1, -0.1], AdaptiveThreshold())[1] == [0, 0, 0, 0]


def test_equal_margins_are_ties_and_ties_are_cuts() -> None:
    for value in (0.1, 0.7, -0.3):
        assert decide([value] * 9, AdaptiveThreshold(value, 0, None))[0] == list(range(1, 10))


def test_infinite_thresholds() -> None:
    never = 10**9
    assert decide(TRACE, AdaptiveThreshold(math.inf, never))[0] == list(range(1, 10))
    assert decide(TRACE, AdaptiveThreshold(-math.inf, never))[0] == []


margins = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=1, max_size=30)


@given(margins, st.floats(-0.5, 0.5).map(lambda x: round(x, 3)))
def test_a_constant_changes_no_decision_after_the_warm_up(
    values: list[float], constant: float
) -> None:
    plain, _ = decide(values, AdaptiveThreshold())
    moved, _ = decide([value + constant for value in values], AdaptiveThreshold())
    assert [cut for cut in plain if cut > 5] == [cut for cut in moved if cut > 5]


@given(margins, st.sampled_from([0.5, 2.0, 4.0]))
def test_a_positive_factor_changes_no_decision(values: list[float], factor: float) -> None:
    assert (
        decide(values, AdaptiveThreshold())[0]
        == decide([v * factor for v in values], AdaptiveThreshold())[0]
    )


def test_a_cut_is_forced_where_the_next_unit_would_pass_the_limit() -> None:
    cuts, thetas = decide([0.5] * 5, AdaptiveThreshold(), [2] * 6, 5)
    assert cuts == [2, 4]
    assert thetas == [0] * 5


# -- merging


def merged(least: int, most: int, **choices: Any) -> list[tuple[int, int]]:
    cuts, _ = decide(TRACE, AdaptiveThreshold())
    runs = merge_runs(cuts, TRACE, [1] * 10, Limits(least, most), **choices)
    return [(first + 1, last) for first, last in runs]


def test_worked_merges() -> None:
    by_weakest = [(1, 2), (3, 5), (6, 8), (9, 10)]
    assert merged(2, 4) == merged(3, 4) == by_weakest
    assert merged(3, 5) == [(1, 5), (6, 10)]
    assert merged(3, 5, merge="none") == [(1, 2), (3, 5), (6, 6), (7, 8), (9, 10)]


def test_greedy_fills_up_to_the_target_and_makes_no_empty_segment() -> None:
    runs = merge_runs([1, 2, 3, 4], [0.0] * 4, [9, 2, 2, 2, 9], Limits(0), merge="greedy", target=5)
    assert runs == [(0, 1), (1, 3), (3, 4), (4, 5)]


sized = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 9), min_size=n, max_size=n),
        st.lists(st.floats(-1, 1), min_size=n - 1, max_size=n - 1),
        st.integers(1, 12),
        st.integers(0, 12),
    )
)


@given(sized)
def test_weakest_only_joins(
    case: tuple[list[int], list[float], int, int],
) -> None:
    sizes, values, least, more = case
    limits = Limits(least, least + more)
    cuts, _ = decide(values, AdaptiveThreshold(), sizes, limits.most)
    before = runs_of(cuts, len(sizes))
    after = merge_runs(cuts, values, sizes, limits)
    assert {first for first, _ in after} <= {first for first, _ in before}
    assert merge_runs([first for first, _ in after if first], values, sizes, limits) == after
    totals = [sum(sizes[first:last]) for first, last in after]
    for i, total in enumerate(totals):
        assert total <= least + more or after[i][1] - after[i][0] == 1
        if total < least:
            neighbours = [totals[j] for j in (i - 1, i + 1) if 0 <= j < len(totals)]
            assert all(total + other > least + more for other in neighbours)


# -- splitting


@settings(max_examples=60, deadline=None)
@given(
    markdown,
    st.sampled_from([(0, 1), (2, 5), (5, 20), (10, 60), (100, 400)]),
    st.sampled_from(["weakest", "greedy", "none"]),
    st.booleans(),
)
def test_chunks_tile_the_document_within_the_limit(
    text: str, sizes: tuple[int, int], merge: str, respect_sections: bool
) -> None:
    chunks = split(text, min_tokens=sizes[0], max_tokens=sizes[1], merge=merge, respect_sections=respect_sections,
                   counter=words)  # fmt: skip
    document = read_text(text, format="markdown")
    assert "".join(chunk.text for chunk in chunks) == (
        document.text if document.text.strip() else ""
    )
    for chunk in chunks:
        assert chunk.text == document.text[chunk.start : chunk.end] and chunk.text.strip()
        assert words(chunk.index_text) <= sizes[1] or chunk.extras.get("oversize")
    assert chunks == split(text, min_tokens=sizes[0], max_tokens=sizes[1], merge=merge,
                           respect_sections=respect_sections, counter=words)  # fmt: skip


def test_the_similarity_margin_finds_the_change_of_topic() -> None:
    text = (
        "The cat sleeps on the mat. The cat eats on the mat. Rain fell over the hills. Rain "
        "fell over the fields."
    )
    chunks = split(text, margin="similarity", context="adjacent", min_tokens=0)
    assert [chunk.text.split()[0] for chunk in chunks] == ["The", "Rain"]
    assert chunks[1].extras["margin"] < 0 and chunks[0].extras["margin"] is None
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"similarity"}


def test_words_alone_find_it_too_and_need_no_embedder() -> None:
    text = (
        "The cat sleeps on the mat. The cat eats on the mat. Rain fell over the hills. Rain "
        "fell over the fields."
    )
    chunks = IDMSSplitter(margin="words", context="adjacent", min_tokens=0).split(
        read_text(text), runner=Runner()
    )
    assert [chunk.text.split()[0] for chunk in chunks] == ["The", "Rain"]
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"words"}
    assert len(split("? ! . ?! ...", margin="words", min_tokens=0)) >= 1


def test_the_model_is_asked_and_obeyed() -> None:
    model = Weigher(same_animal)
    chunks = split(TEXT, llm=model, context="adjacent", min_tokens=0)
    assert [chunk.text.strip() for chunk in chunks] == [
        "# Cats\n\nCats sleep. Cats eat fish. Cats purr.", "Dogs bark. Dogs run. Dogs dig holes.", "# Rain\n\nRain falls. Rain is wet.",
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
    split("One two three. Four five six. Seven eight.", llm=model, context="chunk", min_tokens=0, max_tokens=4,
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


def test_a_function_gives_margins() -> None:
    def margin(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        return [None if "Cats" in left else 0.5 for left, _ in pairs]

    chunks = split("Ann ran. Cats nap. Eels swim.", margin=margin, context="adjacent", min_tokens=0)
    assert {chunk.extras["margin_source"] for chunk in chunks} == {"function"}
    assert sum(chunk.extras.get("margin_fallbacks", 0) for chunk in chunks) <= 1
    with pytest.raises(InvalidAnswer, match="margins from -1 to 1"):
        split("Ann ran. Cats nap.", margin=lambda pairs: [7.0])
    with pytest.raises(InvalidAnswer, match="got 0"):
        split("Ann ran. Cats nap.", margin=lambda pairs: [])


# -- models that are not what one hopes for


def test_a_model_that_says_keep_to_everything_leaves_ties_and_the_merge_decides() -> None:
    text = " ".join(f"Sentence number {i} here." for i in range(40))
    chunks = split(
        text, llm=Weigher(lambda prompt: 1.0), min_tokens=20, max_tokens=40, counter=words
    )
    assert all(words(chunk.text) <= 40 for chunk in chunks)
    assert all(words(chunk.text) >= 20 for chunk in chunks[:-1])


def test_a_model_without_log_probabilities_rates() -> None:
    with pytest.warns(UserWarning, match="ratings"):
        chunks = split("Ann ran. Cats nap.", llm=ScriptedModel("9"), min_tokens=0)
    assert len(chunks) == 1 and chunks[0].extras["margin_source"] == "rating"
    assert "degraded" not in chunks[0].extras


def test_a_model_that_can_do_neither_is_replaced_and_counted() -> None:
    runner = Runner(llm=ScriptedModel("Yes!"), embedder=HashEmbedder())
    document = read_text(TEXT, format="markdown")
    with pytest.warns(UserWarning, match="similarities"):
        chunks = IDMSSplitter(theta0=-9, warmup=99).split(document, runner=runner)
    plain = split(TEXT, theta0=-9, warmup=99)
    assert [(c.start, c.end) for c in chunks] == [(c.start, c.end) for c in plain]
    assert [chunk.extras["margin_fallbacks"] for chunk in chunks] == [5, 1]
    assert all(chunk.extras["degraded"] for chunk in chunks)
    assert runner.usage.fallbacks["chunks"] == 2
    assert not any("degraded" in chunk.extras for chunk in plain)


def test_failed_calls_take_the_similarity_of_their_gaps() -> None:
    def weigh(prompt: str) -> float:
        if "dig" in sides(prompt)[1]:
            raise OSError("gone")
        return 0.9

    document = read_text(TEXT, format="markdown")
    for context in ("adjacent", "chunk"):
        splitter = IDMSSplitter(context=context, theta0=-1, warmup=99)
        chunks = splitter.split(document, llm=Weigher(weigh), embedder=HashEmbedder())
        assert [chunk.extras.get("margin_fallbacks", 0) for chunk in chunks] == [1, 0]


@pytest.mark.parametrize("context", ["window:2", "chunk"])
def test_a_run_that_dies_half_way_resumes(tmp_path: Path, context: str) -> None:
    document = read_text(TEXT, format="markdown")
    splitter = IDMSSplitter(context=context, min_tokens=0)
    cache = Cache(tmp_path / "cache.sqlite")
    first, second, whole = (Weigher(lambda prompt: 0.3) for _ in range(3))
    with pytest.raises(BudgetExceeded):
        splitter.split(
            document, runner=Runner(llm=first, embedder=HashEmbedder(), cache=cache, max_calls=4)
        )
    resumed = splitter.split(
        document, runner=Runner(llm=second, embedder=HashEmbedder(), cache=cache)
    )
    assert resumed == splitter.split(document, llm=whole, embedder=HashEmbedder())
    assert len(first.prompts) == 4
    assert len(second.prompts) == len(whole.prompts) - 4


def test_a_model_that_must_be_there() -> None:
    with pytest.raises(NoModel):
        split(TEXT, margin="llm")
    assert split("One sentence.", margin="llm")[0].text == "One sentence."


def test_unusable_vectors() -> None:
    class Zero(HashEmbedder):
        def vector(self, text: str) -> Any:
            return super().vector(text) * 0

    class Bad(HashEmbedder):
        def vector(self, text: str) -> Any:
            return super().vector(text) * math.nan

    chunks = split(TEXT, embedder=Zero(), min_tokens=0)
    assert "".join(chunk.text for chunk in chunks) == TEXT
    with pytest.raises(InvalidAnswer, match="NaN"):
        split(TEXT, embedder=Bad())


# -- edges


@pytest.mark.parametrize("text", ["", "  \n\n"])
def test_blank_documents_have_no_chunk(text: str) -> None:
    assert split(text) == []


def test_one_sentence_needs_no_model() -> None:
    model, embedder = Weigher(lambda prompt: 1.0), HashEmbedder()
    assert [chunk.text for chunk in split("Just one.", llm=model, embedder=embedder)] == [
        "Just one."
    ]
    assert model.prompts == embedder.texts == []


def test_every_sentence_is_embedded_once() -> None:
    embedder = HashEmbedder()
    split(TEXT, embedder=embedder)
    assert sorted(embedder.texts) == sorted(set(embedder.texts))
    assert len(embedder.texts) == 8
    assert "Cats sleep." in embedder.texts  # without its heading


def test_sections_are_kept_or_not() -> None:
    kept = split(TEXT, theta0=-9, warmup=99)
    assert [chunk.path for chunk in kept] == [("Cats",), ("Rain",)]
    assert len(split(TEXT, theta0=-9, warmup=99, respect_sections=False)) == 1
    assert len(split(TEXT, theta0=9, warmup=99, merge="none")) == 8


def test_excluded_sections_are_left_out_and_never_bridged() -> None:
    text = "# A\n\nOne here.\n\n# Out\n\nGone now.\n\n# B\n\nTwo here.\n"
    chunks = split(text, exclude_titles=["out"], respect_sections=False, theta0=-9, warmup=99)
    assert [chunk.text for chunk in chunks] == ["# A\n\nOne here.\n\n", "# B\n\nTwo here.\n"]


async def test_sync_and_async_are_equal() -> None:
    document = read_text(TEXT, format="markdown")
    for context in ("adjacent", "window:4", "chunk"):
        splitter = IDMSSplitter(context=context, min_tokens=0)
        models = [Weigher(same_animal), Weigher(same_animal)]
        sync = splitter.split(document, llm=models[0], embedder=HashEmbedder())
        assert sync == await splitter.asplit(document, llm=models[1], embedder=HashEmbedder())


def test_settings_pickle() -> None:
    splitter = pickle.loads(pickle.dumps(IDMSSplitter(min_tokens=3)))
    document = read_text(TEXT, format="markdown")
    assert splitter.split(document) == IDMSSplitter(min_tokens=3).split(document)


def test_explain_shows_the_series() -> None:
    explanation = IDMSSplitter(min_tokens=0).explain(
        read_text(TEXT, format="markdown"), embedder=HashEmbedder()
    )
    assert [len(series.units) for series in explanation.series] == [6, 2]
    for series in explanation.series:
        assert math.isnan(series.values[0]) and math.isnan(series.thresholds[0])
        assert len(series.values) == len(series.thresholds) == len(series.units)
        cuts = {first for first, _ in series.runs if first}
        decided = {
            i
            for i in range(1, len(series.units))
            if not series.values[i] > series.thresholds[i] + 1e-9
        }
        assert cuts == decided
    assert len(explanation.chunks) == sum(len(series.runs) for series in explanation.series)


def test_the_paper_preset() -> None:
    model = Weigher(lambda prompt: 0.5 if "unsplit in its original form" in prompt else -0.5)
    text = " ".join(f"Sentence number {i} here." for i in range(100))
    chunks = IDMSSplitter.paper(counter=words, target_tokens=200).split(read_text(text), llm=model)
    assert [words(chunk.text) for chunk in chunks] == [200, 200]
    assert IDMSSplitter.paper(context="adjacent").context == "adjacent"


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"margin": "embedding"}, "margin must be one of"),
        ({"context": "window:0"}, "context must be"),
        ({"context": "all"}, "context must be"),
        ({"margin": "similarity", "context": "chunk"}, "margin='similarity'"),
        ({"margin": "words", "context": "chunk"}, "margin='words'"),
        ({"merge": "best"}, "merge must be one of"),
        ({"history": 0}, "history must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"theta0": math.nan}, "theta0 must be"),
        ({"min_tokens": 500}, "min_tokens must be at most"),
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"target_tokens": 0}, "target_tokens must be"),
        ({"prompt": "Split {left}?"}, "prompt must contain {left} and {right}"),
        ({"prompt": "{left} {right} {"}, "prompt must be a template"),
        ({"exclude_titles": "References"}, "exclude_titles"),
    ],
)
def test_wrong_settings_are_named(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        IDMSSplitter(**choices)


def test_time_is_linear() -> None:
    sentence = "The {0} of clause {0} binds party {1} to pay. "
    counts = [1500, 6000]
    took = []
    for n in counts:
        document = read_text("".join(sentence.format(i, i % 7) for i in range(n)), format="text")
        start = time.process_time()
        IDMSSplitter(margin="similarity").split(document, embedder=HashEmbedder())
        took.append(time.process_time() - start)
    assert took[1] < 10 * took[0] + 0.5  # 4 where linear, 16 where quadratic


def test_overlapping_pairs_never_repeat_text() -> None:
    chunks = split(TEXT, min_tokens=0)
    assert all(a.end == b.start for a, b in itertools.pairwise(chunks))
