"""What the page is made of: the data, the one file, and the command that writes it. How it behaves
is in test_view_browser.py."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import ContentAwareSplitter, IDMSSplitter, PICSplitter, read_text
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.given import GivenChunks
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.cli import main
from structrag.errors import InvalidParameter
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.show.view import gather, render_page, write_page
from structrag.show.view.page import SCRIPTS, embedded_json

HOSTILE = (
    "# <b>A</b>\n\nText </script><script>alert(1)</script> & <!-- more.\n\n## B "
    "@@DATA@@\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
MANUAL = "# Pump\n\nAbout it.\n\n## Cleaning\n\n" + "".join(
    f"Rinse filter {i} with water. Dry it for {i} hours in the sun.\n\n" for i in range(30)
)


def manual(**options: Any) -> Any:
    return read_text(MANUAL, id="manual", **options)


def splitters(**more: Any) -> dict[str, Any]:
    return {"content_aware": ContentAwareSplitter(max_tokens=60), **more}


def data_of(page: str) -> Any:
    (found,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found)


def test_chunks_are_the_splitters_own_and_in_characters() -> None:
    document = read_text("# \U0001f4a7 Pump\n\nWater \U0001f4a7.\n\n## B\n\nMore.\n", id="d")
    (shown,) = gather([document], splitters())["documents"]
    chunks = ContentAwareSplitter(max_tokens=60).split(document)
    assert [(c["start"], c["end"], c["path"]) for c in shown["splits"][0]["chunks"]] == [
        (c.start, c.end, list(c.path)) for c in chunks
    ]
    assert shown["text"] == document.text and shown["splits"][0]["series"] is None


def test_a_sections_tokens_include_those_below_it() -> None:
    (shown,) = gather([manual()], splitters())["documents"]
    root, pump, cleaning = shown["sections"]
    assert root["tokens"] == pump["tokens"] > cleaning["tokens"] > 300
    assert (pump["parent"], cleaning["parent"]) == (0, 1)
    assert shown["text"][cleaning["start"] : cleaning["body"]] == "## Cleaning\n"


def test_columns_are_tables_and_code() -> None:
    (shown,) = gather([read_text(HOSTILE, id="d")], splitters())["documents"]
    assert [shown["text"][start:end].strip() for start, end in shown["columns"]] == [
        "| a | b |\n|---|---|\n| 1 | 2 |"
    ]


@pytest.mark.parametrize(
    "splitter", [PICSplitter(max_tokens=80, min_tokens=20), IDMSSplitter(max_tokens=80)]
)
def test_series_are_those_of_the_explanation(splitter: Any) -> None:
    document = manual()
    (shown,) = gather([document], {"reads": splitter})["documents"]
    series = shown["splits"][0]["series"]
    explained = splitter.explain(document).series
    assert [value for value in series["values"] if value is not None] == pytest.approx(
        [value for scope in explained for value in scope.values if value == value], abs=1e-6
    )
    assert (
        len(series["starts"])
        == len(series["ends"])
        == len(series["values"])
        == len(series["thresholds"])
    )
    assert series["starts"] == sorted(series["starts"])


@pytest.mark.parametrize("name", ["content_aware", "hiqa"])
def test_shares_of_the_routes_add_up_to_the_score(name: str) -> None:
    splitter = {
        "content_aware": ContentAwareSplitter(max_tokens=60),
        "hiqa": HiQASplitter(max_tokens=60),
    }[name]
    data = gather([manual()], {name: splitter}, query="dry filter 7", k=4)
    (search,) = data["searches"]
    assert len(search["hits"]) == 4
    for hit in search["hits"]:
        assert sum(hit["shares"]) == pytest.approx(hit["score"])
        assert all(
            share == 0
            for share, rank in zip(hit["shares"], hit["ranks"], strict=True)
            if rank is None
        )
    retriever = {"content_aware": MultiViewRetriever, "hiqa": HiQARetriever}[name]
    assert search["retriever"] == retriever.__name__


def test_hits_are_those_of_the_retriever() -> None:
    from structrag import Index

    documents = [manual(), read_text("# Tap\n\nThe tap drips.\n", id="tap")]
    (search,) = gather(documents, splitters(), query="the tap drips", k=3)["searches"]
    index = Index(splitter=ContentAwareSplitter(max_tokens=60))
    index.add(documents)
    expected = MultiViewRetriever(index, k=3).search("the tap drips")
    assert [hit["score"] for hit in search["hits"]] == pytest.approx(
        [hit.score for hit in expected]
    )
    assert (search["hits"][0]["document"], search["hits"][0]["chunk"]) == (1, 0)


def test_nothing_is_indexed_without_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GivenChunks, "split", lambda *_: pytest.fail("indexed"))
    assert gather([manual()], splitters(), query="  ")["searches"] == []


def test_an_empty_document_can_be_shown_and_searched() -> None:
    data = gather(
        [read_text("", id="empty")], {"fixed": FixedSplitter(), "pic": PICSplitter()}, query="water"
    )
    assert [split["chunks"] for split in data["documents"][0]["splits"]] == [[], []]
    assert [search["hits"] for search in data["searches"]] == [[], []]


@pytest.mark.parametrize("documents", [[], [read_text("a", id="x"), read_text("b", id="x")]])
def test_gather_says_what_is_wrong(documents: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match=r"nothing to show|same id"):
        gather(documents, splitters())


def test_the_same_input_gives_the_same_page() -> None:
    pages = {
        render_page(gather([manual()], splitters(pic=PICSplitter()), query="dry")) for _ in range(2)
    }
    assert len(pages) == 1


def test_no_markup_of_a_document_is_markup_of_the_page() -> None:
    page = render_page(
        gather(
            [read_text(HOSTILE, id="<img src=x>", title="</title>")], splitters(), query="<script>"
        )
    )
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert (
        "alert(1)" in page
        and "<script>alert" not in page
        and "<img" not in page
        and "</title></title>" not in page
    )
    data = data_of(page)
    assert data["documents"][0]["text"] == HOSTILE and data["query"] == "<script>"


@given(st.text(st.characters(), max_size=60))
def test_any_text_comes_back_from_the_embedded_json(text: str) -> None:
    embedded = embedded_json({"text": text})
    assert json.loads(embedded) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(embedded)
    embedded.encode("utf-8")


def test_only_the_pages_own_script_and_style_may_run() -> None:
    page = render_page(gather([manual()], splitters()))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for text in (style, script):
        assert f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert (
        not re.search(r"https?://(?!www\.w3\.org/)", page)
        and "@import" not in page
        and "@@" not in page
    )


def test_scripts_never_set_markup_from_strings() -> None:
    folder = files("structrag.show.view")
    assert {each.name for each in folder.iterdir() if each.name.endswith(".js")} == set(SCRIPTS)
    for name in SCRIPTS:
        text = folder.joinpath(name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text
        ), name


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    data = gather([manual()], splitters())
    assert write_page(data, path) == path.stat().st_size
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("structrag.show.view.page.os.replace", fail)
    with pytest.raises(InvalidParameter, match=r"cannot be written to .*No space left"):
        write_page(gather([manual(title="Other")], splitters()), path)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == [
        "page.html"
    ]
    with pytest.raises(InvalidParameter, match="cannot be written"):
        write_page(data, tmp_path / "missing" / "page.html")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_the_command_writes_a_page_of_files_and_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pump.md").write_text(MANUAL, encoding="utf-8")
    (tmp_path / "tap.txt").write_text("The tap drips.\n", encoding="utf-8")
    output = tmp_path / "page.html"
    arguments = [
        "view",
        tmp_path,
        "--method",
        "fixed, hiqa",
        "-q",
        "tap",
        "-k",
        "2",
        "--max-tokens",
        "50",
        "-o",
        output,
    ]
    for _ in range(2):  # the second time the page lies in the folder, and is no document
        code, out, err = run(capsys, *arguments)
        assert code == 0, err
        assert out.startswith(f"{output}: 2 documents by fixed, hiqa; ")
    data = data_of(output.read_text(encoding="utf-8"))
    assert [method["name"] for method in data["methods"]] == ["fixed", "hiqa"]
    assert [method["max_tokens"] for method in data["methods"]] == [50, 50]
    assert [Path(document["id"]).name for document in data["documents"]] == ["pump.md", "tap.txt"]
    assert [len(search["hits"]) for search in data["searches"]] == [2, 2]


def test_the_page_is_opened_only_when_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.chdir(tmp_path)
    Path("pump.md").write_text(MANUAL, encoding="utf-8")
    assert run(capsys, "view", "pump.md", "--method", "fixed")[0] == 0 and not opened
    assert run(capsys, "view", "pump.md", "--method", "fixed", "--open")[0] == 0
    assert opened == [(tmp_path / "structrag.html").as_uri()]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--method", "magic"],
            "--method must be one of 'content_aware', 'fixed', 'hiqa', 'idms', 'pic'; got 'magic'.",
        ),
        (
            ["--method", "pic,pic"],
            "--method must be different names with commas between; got 'pic,pic'.",
        ),
        (["--method", " , "], "--method must be different names with commas between"),
        (["-o", "page.md"], "--output must end in .html or .htm; got 'page.md'."),
        (["-o", "pump.html"], "--output must not be one of the documents; got 'pump.html'."),
        (["--method", "fixed", "-q", "x", "-k", "0"], "k must be a number of at least 1; got 0."),
    ],
)
def test_mistakes_end_with_one_sentence_and_write_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pump.html").write_text("<h1>Pump</h1><p>Water.</p>", encoding="utf-8")
    code, out, err = run(capsys, "view", "pump.html", *arguments)
    assert code == 2 and sentence in err and "Traceback" not in err and not out
    assert [each.name for each in tmp_path.iterdir()] == ["pump.html"]
