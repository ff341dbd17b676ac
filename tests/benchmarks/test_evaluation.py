"""The page of conclusions, the list of results, and their pictures."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import evaluation, freshness, pictures

ADDED = """# Evidence

- samples: qasper: 1 of 1 documents, 2 of 2 questions; nq: 1 of 1 documents, 1,000 questions

## Mean over the sets

|  | 500 | 500: difference |
| --- | ---: | ---: |
| fixed 200, vectors and BM25 | 1.0 [0.5, 1.5] |  |
| **EvidenceRetriever** | 3.0 [2.5, 3.5] | **+2.0 [+1.0, +3.0]** |
| EvidenceRetriever, tokens not matched | 1.1 [0.5, 1.5] | +0.1 [-1.0, +1.0] |
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the results, none of which counts as stale."""
    shutil.copytree(freshness.RESULTS, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(freshness, "RESULTS", tmp_path)
    monkeypatch.setattr(evaluation, "_changed", lambda text: [])
    return tmp_path


@pytest.mark.slow
def test_the_pages_are_those_of_the_results_and_of_the_code() -> None:
    """`python benchmarks/evaluation.py` writes them anew, with what has become stale."""
    assert evaluation.PAGE.read_text(encoding="utf-8") == evaluation.page()
    assert evaluation.LIST.read_text(encoding="utf-8") == evaluation.all_results()


def test_the_page_has_its_figures_and_is_read_in_three_minutes(results: Path) -> None:
    sys.path.insert(0, str(freshness.ROOT / "scripts"))
    from words import prose, words

    text = evaluation.page()
    for name in ("evidence", "fixed", "recursive", "llama_index"):
        cells = evaluation.row(*evaluation.ROWS[name])
        assert cells and all(cells[head] in text for head in pictures.BUDGETS), name
    assert "{" not in text and "Older than" not in text
    assert len(words(prose(text))) <= 900


def test_the_pictures_in_the_documentation_are_drawn_from_the_results(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    for drawn in pictures.draw(tmp_path):
        shown = (pictures.PICTURES / drawn.name).read_text(encoding="utf-8")
        words = [
            re.findall(r"<text[^>]*>([^<]*)</text>", page)
            for page in (shown, drawn.read_text(encoding="utf-8"))
        ]
        assert words[0] == words[1] and len(words[0]) > 20, drawn.name


def test_the_cost_of_a_method_is_what_the_encoder_reads(results: Path) -> None:
    cost = pictures.costs()
    assert cost["fixed 200"] == 1 and "D3 (D3Retriever)" not in cost
    again = cost["PICSplitter(reuse_vectors=False)"] - cost["PICSplitter"]
    assert again == pytest.approx(1, abs=0.1)
    assert cost["LangChain SemanticChunker"] > 2
    (results / "splitters.md").unlink()
    assert {*cost} - {*pictures.costs()} > {"PICSplitter", "LangChain SemanticChunker"}


def test_every_result_is_named_with_its_command() -> None:
    files = {path.name for path in freshness.RESULTS.glob("*.md")}
    assert files - {*evaluation.COMMANDS} <= {"torture.md"}  # by `make torture`
    assert {*evaluation.MAIN} < {*evaluation.COMMANDS}


@pytest.mark.parametrize(
    ("rooms", "why"), [(["text"], "older than the code"), (None, "code not recorded")]
)
def test_a_stale_result_says_so_wherever_it_is_shown(
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    rooms: list[str] | None,
    why: str,
) -> None:
    stale = (results / "boundaries.md").read_text(encoding="utf-8")
    monkeypatch.setattr(
        evaluation, "_changed", lambda text: rooms if text == stale else []
    )
    text = evaluation.page()
    (note,) = re.findall(r"^\*Older than .*", text, re.MULTILINE)
    assert note == "*Older than the code, or of code not recorded: boundaries.md.*"
    begin = text.index("## Text without headings")
    assert begin < text.index(note) < text.index("\n## ", begin)
    (line,) = [
        each for each in evaluation.all_results().splitlines() if why in each[-25:]
    ]
    assert "[boundaries.md](results/boundaries.md)" in line


def test_figures_without_a_link_make_a_section_stale_too(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = (results / "stems.md").read_text(encoding="utf-8")
    monkeypatch.setattr(
        evaluation, "_changed", lambda text: ["index"] if text == stale else []
    )
    (note,) = re.findall(r"^\*Older than .*", evaluation.all_results(), re.MULTILINE)
    assert note.endswith(": stems.md.*")


@pytest.mark.slow
def test_any_result_may_be_missing(results: Path) -> None:
    """Its lines are left out, and the page is whole."""
    for file in sorted(path.name for path in results.glob("*.md")):
        moved = (results / file).rename(results / "away")
        text, table = evaluation.page(), evaluation.all_results()
        assert f"({file})" not in text and f"/{file})" not in text + table, file
        assert "{" not in text and not re.search(r"\n#+ [^\n]*\n+(?=#)", text), file
        assert not re.search(r"(?<!\|)\n\|[^\n]*\n\|[-:| ]+\n(?!\|)", text), file
        pictures.gain(), pictures.methods(), pictures.costs()
        moved.rename(results / file)


def test_the_whole_sample_counts_where_it_is_there(results: Path) -> None:
    (results / "evidence_e5.md").unlink(missing_ok=True)
    (results / "evidence_small_e5.md").write_text(ADDED, encoding="utf-8")
    whole = ADDED.replace("1,000 questions", "5,000 questions")
    for count in ("1,002", "5,002"):
        e5 = evaluation.row(*evaluation.ROWS["e5"])
        assert e5 and e5.n == count
        line = f"- E5, {count} questions: {e5.command} ([{e5.file}]("
        assert line in evaluation.page() and e5.file in evaluation.all_results()
        (results / "evidence_e5.md").write_text(whole, encoding="utf-8")


def test_a_figure_is_a_cell_and_a_word_for_its_interval(results: Path) -> None:
    (results / "evidence.md").write_text(ADDED, encoding="utf-8")
    ours, base, level = (
        evaluation.row(*evaluation.ROWS[name])
        for name in ("evidence", "fixed", "untokened")
    )
    assert ours and base and level
    assert (ours.n, ours.sets) == ("1,002", {"qasper": 2, "nq": 1000})
    words = "{0[500: difference]:more|no more|less} {0[500]}"
    assert words.format(ours) == "more 3.0 [2.5, 3.5]"
    assert words.format(level) == "no more 1.1 [0.5, 1.5]"
    with pytest.raises(KeyError):
        words.format(base)
    assert evaluation.Figure("-2.0 [-3.0, -1.0]").__format__("a|b|c") == "c"
    text = evaluation.page()
    assert "| 3.0 [2.5, 3.5] |" not in text  # a row lacks two budgets
