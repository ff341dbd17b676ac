"""The command search."""

from __future__ import annotations

import json
import os
from pathlib import Path

import format_making
import pytest
from cli_running import MANUAL, run
from fixture_cases import examples
from pdf_making import made, write

from structrag.cli import options
from structrag.errors import InvalidDocument


def test_search_finds_the_section_and_shows_how(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    method = ("--method", "multiview")
    _, out, _ = run(
        capsys,
        "search",
        manual.parent,
        "-q",
        "rinse the filter",
        "-k",
        1,
        "--json",
        *method,
    )
    (hit,) = [json.loads(line) for line in out.splitlines()]
    assert hit["path"] == ["Pump", "Cleaning"]
    assert hit["views_hit"] and hit["routes"]["bm25:raw"] == 1


def test_search_hands_over_evidence(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    arguments = ("search", manual.parent, "-q", "rinse the filter", "-k", 1)
    _, out, _ = run(capsys, *arguments, "--json")
    (hit,) = [json.loads(line) for line in out.splitlines()]
    assert hit["path"] == ["Pump", "Cleaning"] and hit["parts"]["stems"] > 0
    assert MANUAL[hit["start"] : hit["end"]] == "Rinse the filter monthly."
    _, out, _ = run(capsys, *arguments)
    assert out.startswith("1. Pump > Cleaning") and "by " in out and "stems" in out
    _, out, _ = run(capsys, "search", manual.parent, "-q", "the", "-k", 1)
    assert "by nothing: no word of the question was found" in out
    code, _, err = run(capsys, *arguments, "--method", "best")
    assert code and "method must be one of 'evidence', 'multiview'; got 'best'" in err


def test_a_model_that_is_not_there_is_refused_before_files_are_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for arguments in (("search", "-q", "x"), ("compare",), ("view", "-o", "p.html")):
        code, _, err = run(
            capsys, *arguments, tmp_path / "none.md", "--embedder", "nonsense"
        )
        assert code == 2 and "'nonsense' cannot be loaded" in err


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_model_that_finds_more_is_named_where_it_is_installed(
    capsys: pytest.CaptureFixture[str],
    manual: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_installed: bool,
) -> None:
    monkeypatch.setattr(options, "has_minilm", lambda: is_installed)
    _, _, err = run(capsys, "search", manual, "-q", "filter")
    hint = "; --embedder minilm finds more" if is_installed else ""
    assert f"(LSA{hint})" in err


@pytest.mark.parametrize("file", [b"valve.pdf", b"\xff\xe9.pdf"])
def test_pages_are_drawn_with_their_passages(
    capsys: pytest.CaptureFixture[str], manual: Path, tmp_path: Path, file: bytes
) -> None:
    lines = ["The valve opens at 30 bar.", "It closes at 20 bar."]
    name = os.fsdecode(file)
    try:
        (tmp_path / name).write_bytes(
            made(lambda canvas: write(canvas, lines, 60, 700))
        )
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    pictures = tmp_path / "pictures"
    arguments = ("search", tmp_path, "-q", "valve opens; rinse the filter", "--json")
    _, out, _ = run(capsys, *arguments, "--images", pictures)
    hits = {
        Path(hit["document"]).name: hit for hit in map(json.loads, out.splitlines())
    }
    assert {box["page"] for box in hits[name]["boxes"]} == {1}
    assert "boxes" not in hits["pump.md"]
    (picture,) = pictures.iterdir()
    assert picture.name == f"{hits[name]['rank']}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, _, err = run(capsys, *arguments, "--images", manual)
    assert code and "--images must be a folder that can be written to" in err


def test_a_page_that_cannot_be_drawn_loses_no_passage(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def replaced(source: object) -> None:  # between the search and the picture
        raise InvalidDocument(f"{source!r} is no PDF.")

    lines = ["The valve opens at 30 bar.", "It closes at 20 bar."]
    (tmp_path / "valve.pdf").write_bytes(
        made(lambda canvas: write(canvas, lines, 60, 700))
    )
    monkeypatch.setattr("structrag.cli.search.pdf_document", replaced)
    arguments = ("search", tmp_path, "-q", "valve opens", "--images", tmp_path / "none")
    code, out, err = run(capsys, *arguments)
    assert code == 0 and "The valve opens" in out
    assert "No picture of passage 1" in err and "is no PDF" in err


def test_a_title_that_is_no_heading_leads_the_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = (
        "<title>Pump {0}</title>"
        "<h2>Cleaning</h2><p>Rinse the filter.</p><h2>Parts</h2><p>A rotor.</p>"
    )
    for name in ("A100", "X200"):
        (tmp_path / f"{name}.html").write_text(page.format(name))
    arguments = ("search", tmp_path, "-q", "rinse the filter of the X200", "-k", 1)
    _, out, _ = run(capsys, *arguments)
    assert out.startswith("1. Pump X200 > Cleaning")
    _, out, _ = run(capsys, *arguments, "--json")
    assert json.loads(out)["title"] == "Pump X200" and json.loads(out)["path"] == [
        "Cleaning"
    ]
    (tmp_path / "notes.txt").write_text("Rinse the sieve.")
    _, out, _ = run(capsys, "search", tmp_path, "-q", "sieve", "-k", 1)
    assert out.startswith("1. (no heading)")  # its title is the name of its file


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_question_is_refused(
    capsys: pytest.CaptureFixture[str], manual: Path, query: str
) -> None:
    code, out, err = run(capsys, "search", manual, "-q", query)
    assert code == 2 and "-q must be a question" in err and not out


def test_something_to_search_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "search", "-q", "dry")
    assert code == 2 and "Name files or folders" in err


def test_that_nothing_was_found_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.md").write_text("")
    code, out, err = run(capsys, "search", tmp_path, "-q", "dry")
    assert code == 0 and "Nothing was found." in err and not out


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("method", ["evidence", "multiview"])
def test_hits_in_a_pdf_have_their_pages(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str, kept: bool
) -> None:
    pytest.importorskip("reportlab", reason="PDF files are made with reportlab")
    from pdf_making import made, manual

    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "meter.pdf").write_bytes(made(manual))
    (tmp_path / "files" / "tap.md").write_text(
        "# Tap\n\nThe tap has a chapter on drips.\n"
    )
    arguments = (
        "search",
        tmp_path / "files",
        "--method",
        method,
        "-q",
        "Chapter about item 3",
    )
    arguments += ("--index", tmp_path / "index") if kept else ()
    _, out, _ = run(capsys, *arguments, "-k", 1)
    assert "meter.pdf[" in out and "] page 3\n" in out
    _, out, _ = run(capsys, *arguments, "--json", "-k", 99)
    pages = {
        hit["document"][-3:]: hit["pages"] for hit in map(json.loads, out.splitlines())
    }
    assert pages[".md"] == "" and pages["pdf"]


def test_hits_say_their_place_in_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    slides = "slide\ntitle Pump\nbox Rinse it.\nslide\ntitle Seals\nbox Seals are soft."
    (tmp_path / "deck.pptx").write_bytes(format_making.pptx(slides))
    (tmp_path / "talk.vtt").write_text(
        "WEBVTT\n\n00:12:31.000 --> 00:12:33.000\nThe valve is open.\n"
    )
    for query, place in (("soft seals", "slide 2"), ("the open valve", "00:12:31")):
        _, out, _ = run(capsys, "search", tmp_path, "-q", query, "-k", 1)
        assert f"], {place}\n" in out
        _, out, _ = run(capsys, "search", tmp_path, "-q", query, "-k", 1, "--json")
        assert json.loads(out)["place"] == place


@examples
def test_the_first_200_characters_of_a_hit_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, length: int, cut: bool
) -> None:
    paragraph = ("Rinse the filter " + "very " * 40)[: length - 5] + "well."
    (tmp_path / "pump.md").write_text(f"# Pump\n\n{paragraph}\n")
    _, out, _ = run(capsys, "search", tmp_path, "-q", "rinse the filter", "-k", 1)
    excerpt = out.splitlines()[1].strip()
    assert excerpt == paragraph[:200] + "…" * cut


def test_a_store_of_an_engine_is_searched_without_files(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    store = ("--index", "lancedb:nowhere")
    code, _, err = run(capsys, "search", manual, *store, "-q", "dry")
    assert code == 2 and "Name no files: a store such as lancedb:nowhere" in err


@pytest.mark.parametrize("method", ["evidence", "multiview"])
def test_as_many_hits_come_as_were_asked_for(
    capsys: pytest.CaptureFixture[str], manual: Path, method: str
) -> None:
    arguments = ("search", manual, "-q", "pump filter dry", "--method", method)
    for count in (1, 2):
        code, out, err = run(capsys, *arguments, "-k", count, "--json")
        ranks = [json.loads(line)["rank"] for line in out.splitlines()]
        assert (code, ranks, err) == (0, list(range(1, count + 1)), "")
    _, _, err = run(capsys, *arguments)
    assert "1 document added" in err and "LSA" in err
