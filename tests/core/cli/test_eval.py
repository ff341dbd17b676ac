"""`structrag eval`: what it prints and writes, and what it says about mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import MANUAL, run
from fixture_cases import examples

QUESTIONS = [
    {
        "question": "How often is the filter rinsed?",
        "quotes": ["Rinse the filter monthly."],
    },
    {"question": "Where is it kept?", "answers": ["dry", "in a dry place"]},
    {"question": "pump", "docs": ["pump.md"]},
]


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    (tmp_path / "manuals").mkdir()
    path = tmp_path / "manuals" / "pump.md"
    path.write_text(MANUAL, encoding="utf-8")
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_report_is_printed_and_files_are_written(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path, tmp_path: Path
) -> None:
    output = tmp_path / "results" / "first"
    code, out, err = run(
        capsys, "eval", manual.parent, "--questions", questions, "--output", output
    )
    assert code == 0
    assert (
        "3 questions, 1 document" in out
        and "LSA (no --embedder was given) and BM25 (views: raw)" in out
    )
    assert "3 questions are few" in out
    assert (
        "Difference to content_aware\n─" in out
        and "contains 0" in out
        and "| " not in out
    )
    assert "eval.md, eval.json" in err
    written = (output / "eval.md").read_text(encoding="utf-8")
    assert (
        run(capsys, "eval", manual.parent, "--questions", questions, "--markdown")[
            1
        ].strip()
        in written
    )
    assert "## Difference to content_aware" in written
    found = json.loads((output / "eval.json").read_text())
    assert found["questions"] == [question["question"] for question in QUESTIONS]
    assert [method["recall"]["2000 tokens"]["mean"] for method in found["methods"]] == [
        1.0
    ] * 6
    assert set(found["methods"][0]["recall"]) == {
        *("first 1", "first 3", "first 5", "first 10"),
        *("500 tokens", "1000 tokens", "2000 tokens"),
    }


def test_evidence_beside_a_splitter(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path
) -> None:
    arguments = ("--method", "content_aware,evidence", "--budget", "20,200")
    code, out, _ = run(capsys, "eval", manual, "--questions", questions, *arguments)
    assert code == 0 and "evidence by EvidenceRetriever" in " ".join(out.split())
    code, out, _ = run(
        capsys, "eval", manual, "--questions", questions, *arguments, "--json"
    )
    splitter, evidence = json.loads(out)["methods"]
    assert (splitter["name"], evidence["name"]) == ("content_aware", "evidence")
    assert evidence["chunks"] > splitter["chunks"]  # sentences
    assert evidence["recall"]["200 tokens"]["mean"] == 1.0
    assert 0 < evidence["tokens"]["first 1"] <= evidence["tokens"]["first 3"]


def test_json_and_views(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path
) -> None:
    arguments = ("--method", "hiqa", "--views", "raw, keywords", "--json")
    code, out, _ = run(capsys, "eval", manual, "--questions", questions, *arguments)
    found = json.loads(out)
    assert code == 0 and found["views"] == ["raw", "keywords"]
    assert len(found["methods"][0]["scores"]["first 1"]) == 3


def test_budgets_and_numbers_of_chunks(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path
) -> None:
    arguments = (
        "eval",
        manual,
        "--questions",
        questions,
        "--method",
        "fixed",
        "--budget",
        "300, 50",
        "-k",
        "2",
    )
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    assert set(json.loads(out)["methods"][0]["recall"]) == {
        "300 tokens",
        "50 tokens",
        "first 2",
    }


@examples
def test_mistakes_in_the_numbers(
    capsys: pytest.CaptureFixture[str],
    manual: Path,
    questions: Path,
    option: str,
    value: str,
) -> None:
    code, out, err = run(
        capsys, "eval", manual, "--questions", questions, f"{option}={value}"
    )
    assert code == 2 and f"{option} must be whole numbers from 1" in err and not out


def test_json_and_markdown_exclude_each_other(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path
) -> None:
    code, _, err = run(
        capsys, "eval", manual, "--questions", questions, "--json", "--markdown"
    )
    assert code == 2 and "--json and --markdown cannot be combined" in err


@examples
def test_mistakes_in_the_questions(
    capsys: pytest.CaptureFixture[str],
    manual: Path,
    questions: Path,
    line: str,
    sentence: str,
) -> None:
    questions.write_text(line, encoding="utf-8")
    code, out, err = run(capsys, "eval", manual, "--questions", questions)
    assert code == 2 and sentence in err and not out
    assert len(err.strip().splitlines()) == 1


def test_mistakes_in_the_settings(
    capsys: pytest.CaptureFixture[str], manual: Path, questions: Path
) -> None:
    code, _, err = run(
        capsys, "eval", manual, "--questions", questions, "--output", questions
    )
    assert code == 2 and "--output must be a folder" in err
    code, _, err = run(
        capsys, "eval", manual, "--questions", questions, "--views", "title"
    )
    assert code == 2 and "views must be some of 'raw', 'summary', 'keywords'" in err
    code, _, err = run(capsys, "eval", manual.parent / "no", "--questions", questions)
    assert code == 2 and "There is no file or folder" in err
    manual.write_text(" \n")
    code, _, err = run(capsys, "eval", manual, "--questions", questions)
    assert code == 2 and "pass at least one document with text" in err
