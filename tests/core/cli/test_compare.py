"""`structrag compare`: what it prints for a folder of several formats, and what it says about
mistakes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pdf_making
import pytest
from cli_running import run
from fixture_cases import examples
from samples import TOPICS, manual

from structrag.cli.compare import _parts
from structrag.cli.tables import Table
from structrag.evaluation.comparing import Comparison, MethodReport, SelfTestReport
from structrag.evaluation.estimates import Estimate

HTML = (
    "<html><body><h1>Tanks</h1><p>A tank is filled slowly. Nobody "
    "hurries.</p><table><tr><th>a</th></tr><tr><td>1</td></tr></table>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "manual.md").write_text(manual().text, encoding="utf-8")
    (tmp_path / "tanks.html").write_text(HTML, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("Rinse it. Dry it.\n", encoding="utf-8")
    (tmp_path / "broken.md").write_bytes(b"\0\1\2")
    return tmp_path


def test_a_folder_of_several_formats(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    (folder / "meters.pdf").write_bytes(pdf_making.made(pdf_making.manual))
    code, out, err = run(capsys, "compare", folder, "--json")
    assert code == 0 and "broken.md" in err
    found = json.loads(out)
    assert found["documents"] == 4 and found["units"]["table"] >= 1
    assert [method["name"] for method in found["methods"]] == [
        "content_aware",
        "fixed",
        "pic",
        "idms",
        "hiqa",
    ]
    assert found["selftest"]["recall"]["pic"]["heading"]["n"] >= len(TOPICS)
    assert found["selftest"]["recall"]["evidence"]["heading"]["mean"] > 0.5
    assert found["selftest"]["difference"]["content_aware"]["heading"]["mean"] == 0


def test_the_report_says_what_it_can_and_cannot_tell(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(
        capsys, "compare", folder, "--method", "content_aware,fixed", "--max-tokens", 60
    )
    said = " ".join(out.split())
    assert code == 0
    for sentence in (
        "3 documents",
        "At most 60 tokens a chunk.",
        "22 headings against content_aware 20 references",
        "Searched by LSA (no --embedder was given) and BM25",
        "kept out of the index",
        "headings are not what users ask",
        "It favours methods that cut at section borders",
        "With questions of your users: structrag eval.",
    ):
        assert sentence in said
    assert all(len(line) <= 120 for line in out.splitlines())


def test_evidence_is_in_the_selftest_alone(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(
        capsys, "compare", folder / "manual.md", "--method", "evidence,fixed"
    )
    assert (
        code == 0
        and "evidence by EvidenceRetriever, which makes no chunks"
        in " ".join(out.split())
    )
    assert "against evidence" in out
    code, out, _ = run(capsys, "compare", folder / "manual.md", "--method", "evidence")
    assert code == 0 and "Self-test" in out and "embedded to split" not in out


def test_markdown_has_the_same_tables(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(
        capsys, "compare", folder / "manual.md", "--markdown", "--method", "fixed,hiqa"
    )
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("## ")] == [
        "## Chunks",
        "## Cost",
        "## Self-test: finding sections without labels",
    ]
    assert out.count("| fixed ") == out.count("| hiqa ") == 3


def test_few_headings_have_no_selftest(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(capsys, "compare", folder / "notes.txt", "--method", "fixed")
    assert code == 0 and "No self-test: it needs at least 10 headings" in out


@examples
def test_mistakes_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    arguments: list[str],
    sentence: str,
) -> None:
    code, out, err = run(capsys, "compare", folder / "notes.txt", *arguments)
    assert code == 2 and sentence in err and not out and "Traceback" not in err


def test_a_folder_without_documents_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run(capsys, "compare", tmp_path)
    assert (
        code == 2
        and f"No Markdown, HTML, text or PDF file in {str(tmp_path)!r}." in err
    )


def comparison_of(*names: str, left_out: dict[str, int] | None = None) -> Comparison:
    """A comparison of methods with a self-test of 12 headings."""
    half = {"heading": Estimate(0.5, 0.4, 0.6, 12)}
    better = {"heading": Estimate(0.1, 0.05, 0.2, 12)}
    reports = tuple(
        MethodReport(
            name,
            1_000,
            (5, 60, 290, 300),
            {"sentence": 1, "table": 2, "code": 3},
            1.254,
            40,
            1_000,
            7,
        )
        for name in names
        if name != "evidence"
    )
    test = SelfTestReport(
        1000,
        20,
        left_out or {},
        dict.fromkeys(names, half),
        dict.fromkeys(names, better),
    )
    units = {"sentence": 1, "table": 2, "code": 1}
    return Comparison(2, 3_000, units, "some/model|v1", reports, test, "")


def test_a_comparison_is_tables_of_chunks_costs_and_a_selftest() -> None:
    head, chunks, cost, test = _parts(comparison_of("pic", "evidence"), 300)
    assert head.notes == [
        "2 documents, 3,000 characters: 1 sentence, 2 tables, 1 block of code. "
        "At most 300 tokens a chunk."
    ]
    assert chunks.table is not None and cost.table is not None
    row = ["pic", "1,000", "5", "60", "290", "300", "1", "2", "3"]
    assert chunks.table.rows == [row]
    assert cost.table.rows == [["pic", "1.25", "40", "1,000", "7"]]
    assert test.table == Table(
        ["method", "12 headings", "against pic"],
        [
            ["pic", "50.0 [40.0, 60.0]", ""],
            ["evidence", "50.0 [40.0, 60.0]", "+10.0 [+5.0, +20.0]"],
        ],
    )
    assert "evidence by EvidenceRetriever" in test.notes[0]
    assert test.notes[1] == "Asked were 12 of 20 headings."


def test_what_was_not_asked_is_said_and_evidence_where_it_is() -> None:
    left_out = {"not drawn": 7, "too short": 1}
    *_, test = _parts(comparison_of("pic", left_out=left_out), 300)
    assert test.notes[1].endswith("headings. Not asked: 7 not drawn; 1 too short.")
    assert "EvidenceRetriever" not in test.notes[0]
    parts = _parts(comparison_of("evidence"), 300)
    assert [part.title for part in parts] == [
        "",
        "Self-test: finding sections without labels",
    ]


def test_without_a_selftest_the_reason_is_given() -> None:
    without = replace(comparison_of("pic"), selftest=None, no_selftest="No self-test.")
    *_, test = _parts(without, 300)
    assert (test.title, test.table, test.notes) == (
        "Self-test",
        None,
        ["No self-test."],
    )
