"""The formatter with a language model: windows, guards, retry, fallback, joining; whatever the
model does, no word is lost."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doubles import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import read_text
from structrag.errors import BudgetExceeded, InvalidParameter
from structrag.formatting.answers import fault_of, forms, restored
from structrag.formatting.formatter import Formatted, HiQAFormatter
from structrag.formatting.joining import (
    separator,
    with_closed_fences,
    without_overlap,
    without_padding,
)
from structrag.formatting.windows import BEGIN, END, windows
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.pages import Line, Page
from structrag.reading.sections import parse
from structrag.records import Document

W, K = 20, 5


def core_of(prompt: str) -> str:
    """The part between the marks of the last window in a message."""
    return prompt.rpartition(f"{BEGIN}\n")[2].partition(f"\n{END}")[0]


def around(prompt: str) -> tuple[str, str]:
    """The padding before and behind the core."""
    before = prompt.rpartition("The text:\n\n")[2].partition(BEGIN)[0]
    return before, prompt.rpartition(END)[2].strip()


def numbered(count: int) -> str:
    """`count` different words; every seventh ends a line, every 21st a paragraph."""
    words = [f"w{i}{chr(10) * (1 + (i % 3 == 0)) if i % 7 == 0 else ' '}" for i in range(count)]
    return "".join(words)


def small(script: Any, **options: Any) -> HiQAFormatter:
    return HiQAFormatter(
        ScriptedModel(script), **{"window_words": W, "padding_words": K, **options}
    )


def lost(source: str, formatted: Formatted) -> Counter[str]:
    return Counter(forms(source)) - Counter(forms(formatted.document.text))


@pytest.mark.parametrize("count", [0, 1, W - 1, W, W + 1, 2 * W, 3 * W + 7])
def test_a_model_that_changes_nothing_gives_every_word_once(count: int) -> None:
    text = numbered(count)
    formatter = small(core_of)
    formatted = formatter.format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.document.text.strip() == text.strip()
    assert formatted.report.windows == formatter.usage.calls == -(-count // W)
    assert formatted.report.retries == formatted.report.fallbacks == 0
    assert formatted.report.uncertain == ()
    assert formatted.document.format == "markdown"


WORDS = [
    "a",
    "the",
    "the",
    "# x",
    "- y",
    "\n",
    "\n\n",
    "3.",
    "1.2 Title\n",
    "|",
    "```\n",
    "章节",
    "e\u0301",
    "**b**",
    "\n\n# H\n\n",
    "--",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join),
    st.integers(1, 30),
    st.integers(0, 10),
)
def test_an_identity_on_any_text_keeps_each_word_as_often(
    text: str, size: int, padding: int
) -> None:
    formatted = small(core_of, window_words=size, padding_words=padding).format(text)
    assert Counter(forms(formatted.document.text)) == Counter(forms(text))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_model_loses_words_of_the_source(data: st.DataObject) -> None:
    """Whatever the answers are: half of the core, nothing, other text, repetitions."""
    text = data.draw(
        st.lists(st.sampled_from([*WORDS, "alpha", "beta.", "gamma"]), max_size=100).map(" ".join)
    )

    def answer(prompt: str) -> str:
        core = core_of(prompt)
        kind = data.draw(st.integers(0, 6))
        if kind == 0:
            return core
        if kind == 1:
            words = core.split(" ")
            gone = data.draw(st.integers(0, len(words)))
            return " ".join(words[:gone] + words[gone + 1 :])
        if kind == 2:
            return f"```markdown\n{core}\n```"
        if kind == 3:
            return "\n".join(filter(None, (around(prompt)[0], core, around(prompt)[1])))
        if kind == 4:
            raise TimeoutError("no answer")
        return (
            core + data.draw(st.text(max_size=20)) if kind == 5 else data.draw(st.text(max_size=60))
        )

    formatted = small(answer, window_words=data.draw(st.integers(1, 25))).format(text)
    assert not lost(text, formatted)


PLAIN = (
    "1. Battery\n\nThe battery of the Nova lasts for nineteen hours of talk, and it is charged by "
    "the cable in the box.\n\n"
    "2. Camera\n\nThe camera of the Nova takes pictures of twelve megapixels, and it needs a "
    "little light to do so.\n\n"
    "3. Warranty\n\nThe warranty of the Nova ends two years after the day on which it was bought "
    "by its first owner.\n\n"
)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda prompt: core_of(prompt)[: len(core_of(prompt)) // 2], "words where the source has"),
        ("", "is empty"),
        ("Nothing that was there.", "words where the source has"),
        ("loop\n" * 10_000, "has 10000 words"),
        (
            lambda prompt: core_of(prompt) + "\n" + "the battery lasts\n" * 10_000,
            "words where the source has",
        ),
        (
            lambda prompt: core_of(prompt) + " It also sings, dances and cooks dinner.",
            "words that the source has not",
        ),
        (lambda prompt: core_of(prompt).replace("a", "o"), "leaves out"),
        (RuntimeError("overloaded"), "RuntimeError: overloaded"),
        (lambda prompt: 7, "InvalidAnswer"),
    ],
)
def test_a_model_that_lies_is_asked_once_more_and_then_not_believed(
    script: Any, reason: str
) -> None:
    formatter = small(script, window_words=60)
    formatted = formatter.format(PLAIN)
    report = formatted.report
    assert not lost(PLAIN, formatted)
    assert report.windows == report.retries == report.fallbacks == 2
    assert formatter.usage.calls == 4
    assert formatter.usage.fallbacks["windows"] == 2
    assert [
        note.startswith(f"Window {i + 1} was formatted by rules")
        for i, note in enumerate(report.uncertain)
    ] == [True] * 2
    assert reason in report.uncertain[0]
    assert [h.title for h in markdown_headings(formatted.document.text)] == [
        "1. Battery",
        "2. Camera",
        "3. Warranty",
    ]


def test_only_the_window_that_failed_falls_back() -> None:
    text = numbered(3 * W)

    def answer(prompt: str) -> str:
        core = core_of(prompt)
        return "" if f"w{W} " in core else f"# Title\n\n{core}" if "w0" in core else core

    report = small(answer).format(text).report
    assert (report.windows, report.retries, report.fallbacks) == (3, 1, 1)
    assert (
        report.uncertain[0]
        == "Window 1: the answer has 1 word that the source has not, such as 'title'."
    )
    assert report.uncertain[1].startswith(
        "Window 2 was formatted by rules: the model's answer is empty"
    )


def test_the_second_answer_counts() -> None:
    formatter = small(
        lambda prompt: core_of(prompt) if "Your last answer cannot be used" in prompt else "no"
    )
    formatted = formatter.format(numbered(W))
    assert formatted.document.text.split() == numbered(W).split()
    assert (formatted.report.retries, formatted.report.fallbacks, formatter.usage.calls) == (
        1,
        0,
        2,
    )


def test_words_left_out_are_put_back_where_they_stood() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    formatted = small(
        lambda prompt: core_of(prompt).replace("w30 w31 ", ""), window_words=60
    ).format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.restored == 2
    assert formatted.report.uncertain == (
        "Window 1: the model left out 2 words, put back: 'w30 w31'.",
    )


@pytest.mark.parametrize(
    ("core", "answer", "expected"),
    [
        ("a b c d", "a d", "a b c d"),
        ("a b c d", "c d", "a b\n\nc d"),
        ("one two three", "# one three", "# one three\n\ntwo"),
        ("x y z w\nrest", "# x z w\n\nrest", "# x z w\n\ny\n\nrest"),
        (
            "h k\n1 2 3\nrest",
            "| h | k |\n| --- | --- |\n| 1 | 3 |\n\nrest",
            "| h | k |\n| --- | --- |\n| 1 | 3 |\n\n2\n\nrest",
        ),
        ("# x\ny", "y", "x\n\ny"),
        ("a a a", "a", "a a a"),
        ("a b", "b a", "b a"),
    ],
)
def test_restoring(core: str, answer: str, expected: str) -> None:
    text, passages = restored(core, answer)
    assert text == expected
    assert bool(passages) == (text != answer)


def test_messages_show_padding_and_the_end_of_what_went_before() -> None:
    model = ScriptedModel(lambda prompt: core_of(prompt).upper())
    HiQAFormatter(model, window_words=W, padding_words=K, prompt="Do it.").format(
        " ".join(f"w{i}" for i in range(3 * W))
    )
    first, second, third = model.prompts
    assert first.startswith("Do it.\n\n")
    assert "so far" not in first
    assert around(second)[0].split() == [f"w{i}" for i in range(W - K, W)]
    assert around(second)[1].split() == [f"w{i}" for i in range(2 * W, 2 * W + K)]
    assert f"as it was:\n{' '.join(f'w{i}' for i in range(W - 2 * K, W))}\n\n" in second
    assert f"so far:\n{' '.join(f'W{i}' for i in range(W - 2 * K, W))}\n\n" in second
    assert core_of(third).split() == [f"w{i}" for i in range(2 * W, 3 * W)]
    assert around(third)[1] == ""


@pytest.mark.parametrize(
    "wrap",
    [
        "```markdown\n{}\n```",
        "```\n{}\n```\n",
        "Here is the Markdown:\n\n```md\n{}\n```",
        "~~~\n{}\n~~~",
        f"{BEGIN}\n{{}}\n{END}",
        f"Sure!\n{BEGIN}\n{{}}\n{END}\nAnything else?",
        f"{{}}\n{END}",
    ],
)
def test_what_a_model_puts_around_its_answer_is_taken_off(wrap: str) -> None:
    formatted = small(lambda prompt: wrap.format(core_of(prompt))).format(numbered(2 * W))
    assert formatted.document.text.strip() == numbered(2 * W).strip()
    assert formatted.report.retries == 0


def test_padding_that_was_converted_too_is_dropped() -> None:
    def everything(prompt: str) -> str:
        before, after = around(prompt)
        return f"{before} {core_of(prompt)} {after}"

    text = " ".join(f"w{i}" for i in range(4 * W + 3))
    formatted = small(everything).format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.fallbacks == formatted.report.retries == 0


def test_lines_that_the_last_answer_ended_with_are_dropped() -> None:
    lines = [f"line {i} of the text has these words" for i in range(12)]

    def repeating(prompt: str) -> str:
        last = re.search(r"so far:\n(.*?)\n\nThe text:", prompt, re.DOTALL)
        tail = last[1].split("\n")[-1] + "\n" if last else ""
        return tail + core_of(prompt)

    formatted = small(repeating, window_words=32, padding_words=8).format("\n".join(lines))
    assert formatted.document.text.split("\n") == [*lines, ""]
    assert formatted.report.retries == 0


@pytest.mark.parametrize(
    ("previous", "answer", "core", "expected"),
    [
        ("a\n\nb", "b\nc", "c", "c"),
        ("a\nb", "a\n b\n\nc", "c", "c"),
        ("a\nb", "b\nc", "b\nc", "b\nc"),  # the source says it twice
        ("a\nb", "c", "c", "c"),
        ("", "c", "c", "c"),
        ("x", "x", "", ""),
    ],
)
def test_overlap(previous: str, answer: str, core: str, expected: str) -> None:
    assert without_overlap(previous, answer, core) == expected


def test_padding_is_only_dropped_where_nothing_of_the_core_goes() -> None:
    assert without_padding("p q # Head\nbody", "o p q", "Head body", "") == "Head\nbody"
    assert (
        without_padding("# p q\n# Head\nbody\n\nnext", "o p q", "Head body", "next")
        == "# Head\nbody"
    )
    assert without_padding("a a a", "a a", "a a a", "a a") == "a a a"
    assert without_padding("p x", "p", "x y", "") == "p x"


@pytest.mark.parametrize(
    ("above", "below", "gap", "core", "expected"),
    [
        ("a", "b", " ", "b", " "),
        ("a", "b", "\n", "b", "\n"),
        ("a", "b", "\n \n\n", "b", "\n\n"),
        ("a", "# B", " ", "B", "\n\n"),
        ("# A", "b", " ", "b", "\n\n"),
        ("a", "# b", " ", "# b", " "),  # the source's own sign, in the middle of a line
        ("| a |", "| b |", " ", "b", "\n"),
        ("a", "| b |", "\n", "b", "\n\n"),
        ("- a", "- b", "\n", "b", "\n"),
        ("手", "机", "", "机", ""),
    ],
)
def test_what_stands_between_two_windows(
    above: str, below: str, gap: str, core: str, expected: str
) -> None:
    assert separator(above, below, gap, core) == expected


def test_an_open_fence_does_not_swallow_the_next_window() -> None:
    assert with_closed_fences(["```py\nx", "# T"]) == (["```py\nx\n```", "# T"], [0])
    assert with_closed_fences(["```py\nx", "y\n```\n# T"]) == (["```py\nx", "y\n```\n# T"], [])
    assert with_closed_fences(["````\n```\nx"]) == (["````\n```\nx\n````"], [0])
    text = "code alpha beta gamma delta\n\nTitle\n\nepsilon zeta eta theta"
    answers = iter(["```\ncode alpha beta gamma delta", "# Title\n\nepsilon zeta eta theta"])
    formatted = small(lambda prompt: next(answers), window_words=5).format(text)
    assert [h.title for h in markdown_headings(formatted.document.text)] == ["Title"]
    assert formatted.report.uncertain == (
        "Window 1: a code block was left open and closed at the window's end.",
    )


@pytest.mark.parametrize(
    ("core", "answer", "fault"),
    [
        ("a b", "# 1. a b", ""),
        ("", "", ""),
        ("---", "***", ""),
        ("---", "word", "has words where the source has none"),
        (" ".join("x" * 20), " ".join("x" * 14), "leaves out 6 of the source's 20 words"),
        (" ".join("x" * 20), " ".join("x" * 13), "has 13 words where the source has 20"),
        (" ".join("x" * 20), " ".join("x" * 31), "has 31 words where the source has 20"),
        (" ".join("x" * 20), " ".join("x" * 19), ""),
        (" ".join("x" * 20), " ".join("x" * 24), ""),
        (" ".join("x" * 20), " ".join("x" * 25), "has 5 words that the source has not"),
        ("Cafe\u0301 ﬁnd Straße", "CAFÉ find strasse", ""),
        ("one two", "# 2 one\n\n# 1 two", "numbers the heading '1 two' after one numbered 2"),
        ("one two", "# 1.9 one\n\n# 1.10 two", ""),
        ("9 one 1 two", "# 9 one\n\n# 1 two", ""),  # as the source has it
        ("今天天气很好", "今天天气很好", ""),
        ("今天天气很好", "今天天气", "has 4 words where the source has 6"),
    ],
)
def test_guards(core: str, answer: str, fault: str) -> None:
    assert fault_of(core, answer) == fault


def test_windows_tile_the_text() -> None:
    text = "  one two\n three\n\nfour five 手机 " + "z" * 450
    found = windows(text, 2, 1)
    assert "".join(text[w.start : w.end] for w in found) == text
    assert [text[w.start : w.end].split() for w in found][:3] == [
        ["one", "two"],
        ["three", "four"],
        ["five", "手"],
    ]
    assert text[found[-1].start : found[-1].end] == "z" * 250
    assert text[found[1].padded_start : found[1].padded_end] == "two\n three\n\nfour five"
    assert windows(" \n", 5, 1) == []


def test_a_run_that_crashed_pays_for_nothing_twice(tmp_path: Path) -> None:
    text, calls = numbered(5 * W), []

    def limited(prompt: str) -> str:
        calls.append(prompt)
        return core_of(prompt) if len(calls) != 2 else "bad"

    with pytest.raises(BudgetExceeded):
        small(limited, cache=tmp_path / "cache.db", max_calls=4).format(text)
    assert len(calls) == 4
    formatted = small(limited, cache=tmp_path / "cache.db").format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.retries == 1
    assert len(calls) == 6
    assert small(limited, cache=tmp_path / "cache.db").format(text) == formatted
    assert len(calls) == 6


async def test_async_gives_the_same() -> None:
    def answer(prompt: str) -> str:
        core = core_of(prompt)
        return core if len(core) % 3 else core[: len(core) // 2]

    text = PLAIN * 3
    sources = [text, numbered(50), "", PLAIN]
    expected = [small(answer).format(source) for source in sources]
    assert await small(answer).aformat(text) == expected[0]
    assert [formatted async for formatted in small(answer).aformat_all(sources)] == expected
    assert list(small(answer).format_all(sources)) == expected


def test_progress_is_told_by_window() -> None:
    seen: list[tuple[str, int, int]] = []
    small(core_of, progress=lambda *step: seen.append(step)).format(numbered(2 * W + 1))
    assert seen == [("formatting", 1, 3), ("formatting", 2, 3), ("formatting", 3, 3)]


def test_markdown_is_kept_and_html_written_by_its_layout() -> None:
    never = ScriptedModel(AssertionError("not to be asked"))
    markdown = read_text("# A\r\n\r\ntext  \n", format="markdown", id="m", meta={"year": 1})
    kept = HiQAFormatter(never).format(markdown)
    assert kept.report.mode == "kept"
    assert (kept.document.text, kept.document.id, kept.document.title) == (markdown.text, "m", "A")
    assert kept.document.meta == {"year": 1, "source": "m"}
    page = HiQAFormatter(never).format(
        read_text("<title>T</title><h1>A</h1><p>b</p>", format="html", id="h")
    )
    assert (page.report.mode, page.document.text, page.document.title) == (
        "layout",
        "# A\n\nb\n",
        "T",
    )
    assert never.prompts == []
    flat = small(core_of).format(read_text("<p>a</p><p>b</p><p>c</p>", format="html"))
    assert (flat.report.mode, flat.document.text) == ("model", "a\n\nb\n\nc\n")
    bare = HiQAFormatter().format(read_text("only text", format="markdown"))
    assert (bare.report.mode, bare.document.text, len(bare.report.uncertain)) == (
        "kept",
        "only text",
        1,
    )


def test_the_new_document_keeps_its_name() -> None:
    original = read_text(
        PLAIN, format="text", id="nova.txt", title="Nova manual", meta={"source": "x/nova.txt"}
    )
    formatted = HiQAFormatter().format(original)
    assert formatted.report.mode == "rules"
    assert (formatted.document.id, formatted.document.title) == ("nova.txt", "Nova manual")
    assert formatted.document.meta["source"] == "nova.txt"
    assert [s.path[-1] for s in parse(formatted.document).sections[1:]] == [
        "1. Battery",
        "2. Camera",
        "3. Warranty",
    ]
    assert HiQAFormatter().format(PLAIN).document.title == ""


def page_of(*lines: tuple[str, float]) -> Page:
    rows = [
        Line(text, size, False, 72, 400, 80 + 30 * i, 80 + 30 * i + size)
        for i, (text, size) in enumerate(lines)
    ]
    return Page(tuple(rows), 612, 792)


def test_pages_by_their_layout_and_by_a_model() -> None:
    body = [
        ("The battery of the Nova lasts for nineteen hours of talk and", 10.0),
        ("it is charged by the cable in the box.", 10.0),
    ]
    pages = [page_of(("Battery", 20.0), *body), page_of(("Camera", 20.0), *body)]
    by_layout = HiQAFormatter().format(pages)
    assert by_layout.report.mode == "layout"
    assert [h.title for h in markdown_headings(by_layout.document.text)] == ["Battery", "Camera"]
    assert small(core_of).format(pages).document.text == by_layout.document.text
    fallen = small("nothing").format(pages)
    assert fallen.document.text == by_layout.document.text
    assert fallen.report.fallbacks == fallen.report.windows == 2
    assert HiQAFormatter().format([]).document.text == ""


def test_running_heads_are_gone_before_the_model_is_asked() -> None:
    text = "\f".join(f"ACME Manual\n\n{numbered(8 + i)}\n\n{i + 1}\n" for i in range(4))
    model = ScriptedModel(core_of)
    formatted = HiQAFormatter(model).format(text)
    assert model.prompts[0].count("ACME Manual") == 1
    assert formatted.report.removed.count("ACME Manual") == 3
    assert formatted.document.text.count("ACME Manual") == 1


def test_presets() -> None:
    model = ScriptedModel(core_of)
    HiQAFormatter.code(model).format(numbered(501))
    assert len(model.prompts) == 2
    assert model.prompts[0].count("Write every heading at the first level") == 2
    model = ScriptedModel(core_of)
    HiQAFormatter.paper(model, window_words=2000).format(numbered(1501))
    assert len(model.prompts) == 1


def test_numbers_at_one_level_become_a_tree() -> None:
    text = "Intro\nsome text here\nBattery\nmore text here\nCharging\nand text here"
    answer = (
        "# 1. Intro\n\nsome text here\n\n# 2. Battery\n\nmore text here\n\n# 2.1. "
        "Charging\n\nand text here"
    )
    formatted = HiQAFormatter.paper(ScriptedModel(answer)).format(text)
    assert formatted.report.fallbacks == 0
    assert [s.path for s in parse(formatted.document).sections[1:]] == [
        ("1. Intro",),
        ("2. Battery",),
        ("2. Battery", "2.1. Charging"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window_words": 0}, "window_words must be a number of at least 1"),
        ({"window_words": 1.5}, "window_words must be a whole number"),
        ({"padding_words": -1}, "padding_words must be a number of at least 0"),
        ({"prompt": " "}, "prompt must be an instruction"),
        ({"llm": 7}, "llm must be None, a function"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        HiQAFormatter(**options)


@pytest.mark.parametrize("source", [None, 7, b"text", ["text"], {"a": 1}])
def test_bad_sources(source: Any) -> None:
    with pytest.raises(
        InvalidParameter, match="source must be a string, a Document or a sequence of Page"
    ):
        HiQAFormatter().format(source)


def test_a_contract_by_a_model_that_forgets(data_dir: Path) -> None:
    with gzip.open(data_dir / "cuad" / "documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        row = min(
            (json.loads(line) for line in lines), key=lambda row: abs(len(row["text"]) - 40_000)
        )

    def forgetting(prompt: str) -> str:
        sentences = core_of(prompt).split(". ")
        return ". ".join(sentences[:5] + sentences[6:])

    formatted = HiQAFormatter(ScriptedModel(forgetting)).format(Document(row["text"], id=row["id"]))
    assert formatted.report.windows > 3
    assert formatted.report.restored > 10
    assert not lost(row["text"], formatted)
