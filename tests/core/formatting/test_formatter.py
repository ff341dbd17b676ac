"""The formatter with a language model: windows, guards, retry, fallback, joining; whatever the
model does, no word is lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from doubles import Reluctant, ScriptedModel
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from window_making import PLAIN, W, around, core_of, lost, numbered, small

from structrag import Cache, read_text
from structrag.errors import InvalidParameter
from structrag.formatting.formatter import HiQAFormatter
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.pages import Line, Page
from structrag.reading.sections import parse
from structrag.records import Document


@examples
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


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_model_loses_words_of_the_source(data: st.DataObject) -> None:
    """Whatever the answers are: half of the core, nothing, other text, repetitions."""
    text = data.draw(
        st.lists(
            st.sampled_from([*WORDS, "alpha", "beta.", "gamma"]), max_size=100
        ).map(" ".join)
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
            core + data.draw(st.text(max_size=20))
            if kind == 5
            else data.draw(st.text(max_size=60))
        )

    formatted = small(answer, window_words=data.draw(st.integers(1, 25))).format(text)
    assert not lost(text, formatted)


async def test_async_gives_the_same() -> None:
    def answer(prompt: str) -> str:
        core = core_of(prompt)
        return core if len(core) % 3 else core[: len(core) // 2]

    text = PLAIN * 3
    sources = [text, numbered(50), "", PLAIN]
    expected = [small(answer).format(source) for source in sources]
    assert await small(answer).aformat(text) == expected[0]
    assert [
        formatted async for formatted in small(answer).aformat_all(sources)
    ] == expected
    assert list(small(answer).format_all(sources)) == expected


def test_progress_is_told_by_window() -> None:
    seen: list[tuple[str, int, int]] = []
    small(core_of, progress=lambda *step: seen.append(step)).format(numbered(2 * W + 1))
    assert seen == [("formatting", number, 3) for number in range(4)]


def test_markdown_is_kept_and_html_written_by_its_layout() -> None:
    never = ScriptedModel(AssertionError("not to be asked"))
    markdown = read_text(
        "# A\r\n\r\ntext  \n", format="markdown", id="m", meta={"year": 1}
    )
    kept = HiQAFormatter(never).format(markdown)
    assert kept.report.mode == "kept"
    assert (kept.document.text, kept.document.id, kept.document.title) == (
        markdown.text,
        "m",
        "A",
    )
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
        PLAIN,
        format="text",
        id="nova.txt",
        title="Nova manual",
        meta={"source": "x/nova.txt"},
    )
    formatted = HiQAFormatter().format(original)
    assert formatted.report.mode == "rules"
    assert (formatted.document.id, formatted.document.title) == (
        "nova.txt",
        "Nova manual",
    )
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
    assert [h.title for h in markdown_headings(by_layout.document.text)] == [
        "Battery",
        "Camera",
    ]
    assert small(core_of).format(pages).document.text == by_layout.document.text
    fallen = small("nothing").format(pages)
    assert fallen.document.text == by_layout.document.text
    assert fallen.report.fallbacks == fallen.report.windows == 2
    assert HiQAFormatter().format([]).document.text == ""


def test_where_pages_begin_is_known_as_long_as_the_text_is_theirs() -> None:
    pages = [page_of(("Battery", 20.0), ("It lasts for nineteen hours of talk.", 10.0))]
    by_layout = HiQAFormatter().format(pages).document
    assert by_layout.meta["page_starts"] == "0:1"
    assert small(core_of).format(pages).document.meta == by_layout.meta
    changed = small(lambda prompt: core_of(prompt).replace("talk", "**talk**"))
    document = changed.format(pages).document
    assert "**talk**" in document.text and document.meta == {}


def test_running_heads_are_gone_before_the_model_is_asked() -> None:
    text = "\f".join(f"ACME Manual\n\n{numbered(8 + i)}\n\n{i + 1}\n" for i in range(4))
    model = ScriptedModel(core_of)
    formatted = HiQAFormatter(model).format(text)
    assert model.prompts[0].count("ACME Manual") == 1
    assert formatted.report.removed.count("ACME Manual") == 3
    assert formatted.document.text.count("ACME Manual") == 1


def test_equation_1_shows_the_whole_window_before_and_its_markdown() -> None:
    words = [f"w{i}" for i in range(300)]
    model = ScriptedModel(lambda prompt: core_of(prompt).replace("w0 ", "**w0** "))
    small = {"window_words": 100, "padding_words": 2}
    HiQAFormatter.paper(model, **small).format(" ".join(words))
    first, second, third = model.prompts
    assert "as it was" not in first
    before = " ".join(words[:100])
    assert f"before, as it was:\n{before}\n\nThe end" in second
    assert f"Markdown so far:\n**w0**{before[2:]}\n\nThe text:" in second
    before = " ".join(words[100:200])
    assert f"as it was:\n{before}\n\n" in third and f"so far:\n{before}\n\n" in third
    model = ScriptedModel(core_of)
    HiQAFormatter(model, **small).format(" ".join(words))
    assert "as it was:\nw96 w97 w98 w99\n\n" in model.prompts[1]


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


@examples
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        HiQAFormatter(**options)


@examples
def test_a_source_of_another_kind_is_named(source: Any, kind: str) -> None:
    with pytest.raises(InvalidParameter, match=f"; got {kind}. Read a file with"):
        HiQAFormatter().format(source)


@examples
def test_how_markdown_is_read(
    text: str, with_model: bool, mode: str, notes: int
) -> None:
    formatter = small(core_of) if with_model else HiQAFormatter()
    report = formatter.format(read_text(text, format="markdown")).report
    assert (report.mode, len(report.uncertain)) == (mode, notes)


@examples
def test_how_html_is_read(page: str, with_model: bool, mode: str) -> None:
    formatter = small(core_of) if with_model else HiQAFormatter()
    report = formatter.format(read_text(page, format="html")).report
    assert report.mode == mode


def test_windows_are_shown_their_padding_and_what_went_before() -> None:
    model = ScriptedModel(core_of)
    sizes = {"window_words": 500, "padding_words": 50}
    HiQAFormatter(model, **sizes).format(numbered(1000))
    first, second = model.prompts
    assert core_of(first).split() == numbered(500).split()
    assert around(second)[0].split() == numbered(500).split()[450:]
    # The end of what went before alone, twice the padding.
    assert "as it was:\nw400 w401" in second
    # As published all of it, without its own padding.
    published = ScriptedModel(core_of)
    HiQAFormatter.paper(published, **sizes).format(numbered(1500))
    assert "as it was:\nw500 w501" in published.prompts[2]


def test_a_contract_by_a_model_that_forgets(data_dir: Path) -> None:
    with gzip.open(
        data_dir / "cuad" / "documents.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        row = min(
            (json.loads(line) for line in lines),
            key=lambda row: abs(len(row["text"]) - 40_000),
        )

    def forgetting(prompt: str) -> str:
        sentences = core_of(prompt).split(". ")
        return ". ".join(sentences[:5] + sentences[6:])

    formatted = HiQAFormatter(ScriptedModel(forgetting)).format(
        Document(row["text"], id=row["id"])
    )
    assert formatted.report.windows > 3
    assert formatted.report.restored > 10
    assert not lost(row["text"], formatted)


@pytest.mark.parametrize("refuses", [True, False])
def test_formatter_asks_again_for_failed_calls_only(
    refuses: bool, tmp_path: Path
) -> None:
    text = "Engines\n\n" + "The red engine pulls the long train over the bridge.\n" * 12
    llm = Reluctant(
        lambda prompt: (
            "# Engines\n\n"
            + "The red engine pulls the long train over the bridge.\n" * 12
        ),
        times=2,
        refuses=refuses,
    )
    calls = []
    for _ in range(3):
        before = llm.calls
        HiQAFormatter(llm=llm.model, cache=Cache(tmp_path / "c")).format(text)
        calls.append(llm.calls - before)
    assert calls == ([2, 0, 0] if refuses else [2, 1, 0])
