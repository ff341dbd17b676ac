"""What `structrag mcp` serves, by the SDK's own client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, write

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
from mcp import Client, StdioServerParameters

from structrag.cli import mcp_server, options
from structrag.cli.index_folder import Changes, IndexFolder
from structrag.cli.mcp_server import Library, server_of
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.text.tokens import count_tokens

PUMP = (
    "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n\n## Storage\n\nKeep it dry.\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files" / "more").mkdir(parents=True)
    (tmp_path / "files" / "pump.md").write_text(PUMP)
    (tmp_path / "files" / "more" / "tap.md").write_text("# Tap\n\nThe tap drips.\n")
    (tmp_path / "secret.md").write_text("# Secret\n\nNobody reads this.\n")
    return tmp_path / "files"


def connected(folder: Path) -> Client:
    return Client(server_of(Library(IndexFolder(None), [folder])))


async def called(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    content = result.structured_content or {}
    return content.get("result", content)


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content[0])


async def test_an_agent_is_told_the_tools(folder: Path) -> None:
    async with connected(folder) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            "evidence",
            "search",
            "outline",
            "read_section",
            "resolve",
            "show_page",
        }
        assert tools["evidence"].input_schema["required"] == ["query"]
        assert tools["search"].input_schema["required"] == ["query"]
        assert "answer a question" in (tools["evidence"].description or "")


@examples
async def test_passages_are_cited_exactly(
    folder: Path, tool: str, argument: str
) -> None:
    async with connected(folder) as client:
        first = (
            await called(client, tool, **{argument: "When is the filter rinsed?"})
        )[0]
        assert first["document"] == "pump.md" and "Rinse the filter" in first["text"]
        assert (
            PUMP[first["start"] : first["end"]] == first["text"]
            and first["context"] == ""
        )
        assert first["path"][0] == first["title"] == "Pump"
        section = await called(
            client, "read_section", document=first["document"], section=first["section"]
        )
        assert "Rinse the filter" in section["text"]


async def test_a_citation_is_resolved_in_the_file_as_it_is_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "FRESH", 0.0)
    async with connected(folder) as client:
        (first, *_) = await called(client, "search", query="filter", k=1)
        citation = first["citation"]
        assert str(folder) not in citation
        there = await called(client, "resolve", citation=citation)
        assert there == {
            "state": "there",
            **{name: first[name] for name in ("start", "end", "text")},
        }
        (folder / "pump.md").write_text(PUMP.replace("monthly", "every week"))
        changed = await called(client, "resolve", citation=citation)
        assert changed["state"] == "changed" and "every week" in changed["text"]
        assert "whole and unchanged" in await refused(
            client, "resolve", citation=citation[:-1]
        )
        (folder / "pump.md").unlink()
        assert "must be the name of a document served here" in await refused(
            client, "resolve", citation=citation
        )


@pytest.mark.parametrize(
    "name", [b"valve.pdf", b"\xff\xe9.pdf", b"\xe9/ \xed\xa0\xbd.pdf"]
)
async def test_the_page_of_a_citation_is_shown(folder: Path, name: bytes) -> None:
    lines = ["The valve opens at 30 bar.", "It closes at 20 bar."]
    path = folder / os.fsdecode(name)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(made(lambda canvas: write(canvas, lines, 60, 700)))
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    async with connected(folder) as client:
        (found,) = await called(client, "search", query="valve opens at", k=1)
        shown = await client.call_tool("show_page", {"citation": found["citation"]})
        *where, picture = shown.content
        assert {json.loads(box.text)["page"] for box in where} == {1}
        assert picture.type == "image" and picture.mime_type == "image/png"
        (other,) = await called(client, "search", query="filter", k=1)
        message = await refused(client, "show_page", citation=other["citation"])
        assert "pump.md" in message and "is not a PDF" in message
        path.write_bytes(b"no PDF")
        message = await refused(client, "show_page", citation=found["citation"])
        assert ".pdf" in message and "is not a PDF" in message


async def test_numbers_limit_what_comes(folder: Path) -> None:
    async with connected(folder) as client:
        assert len(await called(client, "search", query="filter dry tap", k=2)) == 2
        passages = await called(client, "evidence", query="filter", max_tokens=8)
        assert len(passages) == 1 and "Rinse the filter" in passages[0]["text"]


async def test_outlines_lead_to_sections(folder: Path) -> None:
    async with connected(folder) as client:
        documents = await called(client, "outline")
        assert documents["total"] == 2
        assert [entry["document"] for entry in documents["entries"]] == [
            "more/tap.md",
            "pump.md",
        ]
        sections = await called(client, "outline", document="pump.md")
        assert [entry["path"] for entry in sections["entries"]] == [
            ["Pump"],
            ["Pump", "Cleaning"],
            ["Pump", "Storage"],
        ]
        storage = await called(client, "read_section", document="pump.md", section=3)
        assert storage["text"] == "## Storage\n\nKeep it dry.\n" and not storage["more"]
        assert PUMP[storage["start"] : storage["end"]] == storage["text"]
        for title in ("3", "storage", "Pump > Storage"):
            arguments = {"document": "pump.md", "section": title}
            assert await called(client, "read_section", **arguments) == storage
        wrong = {"document": "pump.md", "section": "Seals"}
        assert "a title in 'pump.md'; got 'Seals'" in await refused(
            client, "read_section", **wrong
        )
        whole = await called(client, "read_section", document="pump.md", max_tokens=8)
        assert (
            whole["more"]
            and PUMP.startswith(whole["text"])
            and whole["text"].endswith("\n")
        )


@pytest.mark.parametrize("line", ["entry of the log\n", "word " * 90, "x" * 400])
async def test_a_long_text_is_read_in_parts(folder: Path, line: str) -> None:
    text = line * 30
    (folder / "log.txt").write_text(text)
    async with connected(folder) as client:
        parts, end, more = [], 0, True
        while more:
            part = await called(
                client, "read_section", document="log.txt", start=end, max_tokens=100
            )
            assert part["start"] == end < part["end"]
            parts.append(part["text"])
            end, more = part["end"], part["more"]
        assert "".join(parts) == text and len(parts) > 1
        assert max(map(count_tokens, parts)) <= 100


async def test_long_lists_come_in_parts(folder: Path) -> None:
    async with connected(folder) as client:
        inside = await called(client, "outline", document="more/")
        assert [entry["document"] for entry in inside["entries"]] == ["more/tap.md"]
        assert await called(client, "outline", document="more") == inside
        for document, total in (("", 2), ("pump.md", 3)):
            whole = await called(client, "outline", document=document)
            parts = [
                await called(client, "outline", document=document, first=i, most=1)
                for i in range(total)
            ]
            assert [part["entries"][0] for part in parts] == whole["entries"]
            assert {part["total"] for part in (*parts, whole)} == {total}
            assert [part["first"] for part in parts] == list(range(total))
        beyond = await called(client, "outline", first=9)
        assert beyond == {"entries": [], "first": 9, "total": 2}
        assert "most must be" in await refused(client, "outline", most=0)
        assert "first must be" in await refused(client, "outline", first=-1)


async def test_mistakes_are_said_and_nothing_else_is_read(folder: Path) -> None:
    async with connected(folder) as client:
        for name in ("../secret.md", str(folder.parent / "secret.md"), "none.md"):
            assert "document must be the name of" in await refused(
                client, "read_section", document=name
            )
        assert "0 to 3" in await refused(
            client, "read_section", document="pump.md", section=9
        )
        for tool in ("evidence", "search"):
            assert "got only blanks" in await refused(client, tool, query=" ")
            assert "got only blanks" in await refused(client, tool, question=" ")
        assert "max_tokens" in await refused(
            client, "evidence", query="x", max_tokens=0
        )
        for wrong in ({"start": 1}, {"start": 10_000}, {"start": -1}):
            assert "start must be 0 or from" in await refused(
                client, "read_section", document="pump.md", section=3, **wrong
            )
        assert "max_tokens must be" in await refused(
            client, "read_section", document="pump.md", max_tokens=0
        )


@pytest.mark.parametrize("left_out", [None, "", "null"])
async def test_what_a_model_fills_in_for_left_out_is_left_out(
    folder: Path, left_out: Any
) -> None:
    calls: dict[str, tuple[dict[str, Any], list[str]]] = {
        "evidence": ({"query": "filter"}, ["max_tokens"]),
        "search": ({"question": "filter"}, ["k"]),
        "outline": ({}, ["document", "first", "most"]),
        "read_section": ({"document": "pump.md"}, ["section", "start", "max_tokens"]),
    }
    async with connected(folder) as client:
        for tool, (needed, optional) in calls.items():
            plain = await called(client, tool, **needed)
            filled = dict.fromkeys(optional, left_out)
            assert await called(client, tool, **needed, **filled) == plain
        (found, *_) = await called(client, "search", query="filter", k="1")
        assert found["document"] == "pump.md"


async def test_other_arguments_are_refused_in_a_sentence(folder: Path) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("evidence", {"query": "x", "max_tokens": "many"}, "max_tokens: Input should"),
        ("search", {"query": "x", "k": [1]}, "k: Input should be"),
        ("evidence", {}, "query: Field required."),
        ("search", {"query": None}, "query: Input should be a valid string"),
        ("read_section", {"document": None}, "document: Field required."),
        ("resolve", {"citation": 3}, "citation: "),
        ("read_section", {"document": "pump.md", "section": 1.5}, "section: "),
    ]
    async with connected(folder) as client:
        for tool, arguments, sentence in wrong:
            text = await refused(client, tool, **arguments)
            assert sentence in text and "http" not in text and "\\n" not in text
        assert await called(client, "search", query="null") is not None


async def test_names_and_texts_that_are_not_utf_8_are_shown_with_marks(
    folder: Path,
) -> None:
    name = os.fsdecode(b"caf\xe9.ipynb")
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["A zebra \ud835 runs."]}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    try:
        (folder / name).write_text(json.dumps(notebook))
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    async with connected(folder) as client:
        (found, *_) = await called(client, "search", query="zebra")
        assert found["document"] == "caf\ufffd.ipynb"
        assert "zebra" in found["text"]
        listed = await called(client, "outline")
        assert "caf\ufffd.ipynb" in {one["document"] for one in listed["entries"]}
        section = await called(client, "read_section", document=found["document"])
        assert section["text"][found["start"] : found["end"]] == found["text"]
        resolved = await called(client, "resolve", citation=found["citation"])
        assert resolved["state"] == "there"
        assert "caf\ufffd" in await refused(
            client, "read_section", document=found["document"], section=99
        )


async def test_files_that_change_are_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "FRESH", 0.0)
    async with connected(folder) as client:
        await called(client, "outline")
        (folder / "pump.md").write_text("# Pump\n\nThe rotor hums.\n")
        os.utime(folder / "pump.md", ns=(1, 1))
        (folder / "more" / "tap.md").unlink()
        (first, *_) = await called(client, "search", query="rotor hums")
        assert first["text"] == "The rotor hums."
        left = (await called(client, "outline"))["entries"]
        assert [entry["document"] for entry in left] == ["pump.md"]


@pytest.mark.slow
async def test_the_command_serves_on_standard_input_and_output(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [
        "-m",
        "structrag",
        "mcp",
        str(folder),
        "--index",
        str(folder.parent / "index"),
    ]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, env=environment
    )
    async with Client(parameters) as client:
        passages = await called(client, "search", query="filter", k=1)
        assert passages[0]["document"] == "pump.md"
    assert (folder.parent / "index" / "evidence.json").is_file()


def library_of(*paths: Path) -> Library:
    return Library(IndexFolder(None), paths)


def test_files_are_looked_at_again_after_two_seconds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(mcp_server, "monotonic", lambda: now[-1])
    library, looks = library_of(folder), 0

    def update(paths: Sequence[Path], **how: Any) -> Changes:
        nonlocal looks
        looks += 1
        return Changes(added=looks)

    monkeypatch.setattr(library.kept, "update", update)
    changes = []
    for seconds in (100.0, 101.9, 102.0, 103.5, 104.1):
        now.append(seconds)
        changes.append(library.refresh().added)
    assert changes == [1, 0, 2, 0, 3]


def test_a_text_of_exactly_the_limit_is_whole(folder: Path) -> None:
    library, size = library_of(folder), count_tokens(PUMP)
    whole = library.read("pump.md", 0, size)
    assert (whole["text"], whole["end"], whole["more"]) == (PUMP, len(PUMP), False)
    cut = library.read("pump.md", 0, size - 1)
    assert cut["more"] and cut["text"] == PUMP[: cut["end"]]
    assert cut["text"] == PUMP[: PUMP.rindex("\n", 0, -1) + 1]  # at a line's end


def test_a_document_is_read_once_until_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = library_of(folder)
    library.refresh()
    names: list[str] = []
    really = options.read_file

    def noted(path: Path, **how: Any) -> Any:
        names.append(path.name)
        return really(path, **how)

    monkeypatch.setattr(options, "read_file", noted)
    for _ in range(2):
        library.read("pump.md", 1, 100)
    assert names == ["pump.md"]
    os.utime(folder / "pump.md", ns=(1, 1))
    library.read("pump.md", 1, 100)
    assert names == ["pump.md"] * 2


def test_names_are_told_from_the_folder_that_all_have_in_common(folder: Path) -> None:
    entries = library_of(folder / "pump.md").contents()["entries"]
    assert [entry["document"] for entry in entries] == ["pump.md"]
    both = library_of(folder / "more", folder.parent / "secret.md").contents()
    assert sorted(entry["document"] for entry in both["entries"]) == [
        "files/more/tap.md",
        "secret.md",
    ]


SECRET = "# Secret\n\nNobody reads this.\n"
WORDS = "filter tap secret nobody rotor"


def everything(library: Library) -> str:
    """All that a library says of its documents, errors left out."""
    said = [f"{library.find(WORDS, 50, None)}"]
    names = [entry["document"] for entry in library.contents()["entries"]]
    for name in (*names, "pump.md", "more/tap.md", "../secret.md", "secret.md"):
        for ask in (
            lambda name=name: library.read(name, 0, 999),
            lambda name=name: library.contents(name),
        ):
            try:
                said.append(str(ask()))
            except InvalidParameter as error:
                assert "document must be the name of a document served here" in str(
                    error
                )
    return "".join(said)


def replace_file(folder: Path) -> None:
    (folder / "more" / "tap.md").unlink()
    (folder / "more" / "tap.md").symlink_to(folder.parent / "secret.md")


def replace_folder(folder: Path) -> None:
    (folder / "more").rename(folder.parent / "away")
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "tap.md").write_text(SECRET)
    (folder / "more").symlink_to(folder.parent / "other")


def replace_by_chain(folder: Path) -> None:
    (folder / "more" / "tap.md").unlink()
    (folder / "more" / "tap.md").symlink_to("link.txt")
    (folder / "more" / "link.txt").symlink_to(
        os.path.relpath(folder.parent / "secret.md", folder / "more")
    )


def replace_by_a_pipe(folder: Path) -> None:
    (folder / "more" / "tap.md").unlink()
    os.mkfifo(folder / "more" / "tap.md")


def replace_by_a_folder(folder: Path) -> None:
    (folder / "more" / "tap.md").unlink()
    (folder / "more" / "tap.md").mkdir()


def remove(folder: Path) -> None:
    (folder / "more" / "tap.md").unlink()


SWAPS = (
    replace_file,
    replace_folder,
    replace_by_chain,
    replace_by_a_pipe,
    replace_by_a_folder,
    remove,
)


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no pipes and links"
)
@pytest.mark.parametrize("fresh", [0.0, 2.0])
@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.filterwarnings("ignore:.*link to a file outside")
def test_what_takes_the_place_of_a_file_is_not_served(
    folder: Path,
    swap: Callable[[Path], None],
    fresh: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_server, "FRESH", fresh)
    library = library_of(folder)
    assert "drips" in everything(library) and library.contents()["total"] == 2
    library.read("more/tap.md", 0, 99)  # which is remembered
    swap(folder)
    for ask in (
        lambda: library.read("more/tap.md", 0, 99),
        lambda: library.contents("more/tap.md"),
    ):
        with pytest.raises(InvalidParameter, match="document must be the name of"):
            ask()
    assert [entry["document"] for entry in library.contents()["entries"]] == ["pump.md"]
    said = everything(library)
    assert "Nobody" not in said and "drips" not in said and "Rinse" in said
    assert list(library.kept.index.document_ids) == [str(folder / "pump.md")]


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no pipes and links"
)
@pytest.mark.filterwarnings("ignore:.*link to a file outside")
def test_a_search_looks_again_for_what_has_left(
    folder: Path, swap: Callable[[Path], None]
) -> None:
    library = library_of(folder)
    assert "drips" in str(library.find("tap drips", 1, None))
    swap(folder)
    (passage,) = library.find("tap drips filter", 1, None)
    assert passage["document"] == "pump.md"


@pytest.mark.skipif(os.name == "nt", reason="links need a permission")
@pytest.mark.parametrize("fresh", [0.0, 2.0])
@pytest.mark.parametrize("name", ["pump.md", "more"])
def test_a_named_path_leads_where_it_led_at_first(
    folder: Path, name: str, fresh: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "FRESH", fresh)
    other = folder.parent / "other"
    other.mkdir()
    for file in ("tap.md", "tax.md"):
        (other / file).write_text(SECRET)
    library = Library(IndexFolder(None), [folder / name, folder.parent / "secret.md"])
    assert library.contents()["total"] == 2
    (folder / name).rename(folder.parent / "away")
    (folder / name).symlink_to(other if name == "more" else other / "tap.md")
    with pytest.raises(InvalidParameter, match="document must be the name of"):
        library.read("files/more/tap.md" if name == "more" else "files/pump.md", 0, 99)
    assert [entry["document"] for entry in library.contents()["entries"]] == [
        "secret.md"
    ]
    assert library.kept.index.document_ids == [str(folder.parent / "secret.md")]


@pytest.mark.skipif(os.name == "nt", reason="links need a permission")
def test_links_that_were_there_are_served(folder: Path) -> None:
    named, inside = folder.parent / "named.md", folder / "inside.md"
    named.symlink_to(folder.parent / "secret.md")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("# X\n\nThe rotor hums.\n")
    inside.symlink_to(folder / ".hidden" / "x.md")
    library = library_of(folder, named)
    assert "rotor hums" in library.read("files/inside.md", 0, 99)["text"]
    assert "Nobody reads" in library.read("named.md", 0, 99)["text"]
    (passage,) = library.find("rotor hums", 1, None)
    assert passage["document"] == "files/inside.md"


@pytest.mark.skipif(os.name == "nt", reason="links need a permission")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.filterwarnings("ignore:.*link to a file outside")
def test_a_link_that_comes_while_a_file_is_read_gives_nothing(
    folder: Path, when: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = library_of(folder)
    if is_known:
        library.refresh()
    really = options.read_file

    def swapped(path: Path, **how: Any) -> Any:
        if path.name != "tap.md" or path.is_symlink():
            return really(path, **how)
        before = None if when == "before" else really(path, **how)
        replace_file(folder)
        return before or really(path, **how)

    monkeypatch.setattr(options, "read_file", swapped)
    with pytest.raises(InvalidParameter, match="document must be the name of"):
        library.read("more/tap.md", 0, 99)
    assert "Nobody" not in everything(library)


def test_of_a_kept_index_only_what_is_named_now_is_served(folder: Path) -> None:
    place, private = folder.parent / "index", folder.parent / "private"
    private.mkdir()
    (folder / ".hidden").mkdir()
    for number in range(20):
        text = f"# Secret {number}\n\nNobody reads the filter.\n"
        (private / f"{number}.md").write_text(text)
        (folder / ".hidden" / f"{number}.md").write_text(text)
    (folder.parent / "files2").mkdir()
    (folder.parent / "files2" / "pump.md").write_text(SECRET)
    earlier = [
        private,
        folder / ".hidden",
        folder.parent / "files2",
        folder.parent / "secret.md",
    ]
    kept = IndexFolder(place)
    kept.update(earlier)
    for index in (IndexFolder(place), kept):
        library = Library(index, [folder])
        assert library.contents()["total"] == 2
        assert "Nobody" not in everything(library)
        for name in (
            "../private/1.md",
            str(private / "1.md"),
            ".hidden/1.md",
            "../files2/pump.md",
        ):
            with pytest.raises(InvalidParameter, match="document must be the name of"):
                library.read(name, 0, 99)
        for folders in ("../private/", str(private), ".hidden", "../files2"):
            with pytest.raises(InvalidParameter, match="document must be the name of"):
                library.contents(folders)
        passages = library.find("filter", 3, None)
        assert len(passages) == 3 and {one["document"] for one in passages} <= {
            "pump.md",
            "more/tap.md",
        }
        assert "Rinse" in str(library.find("nobody reads the filter", None, 60))
    assert len(IndexFolder(place).index.document_ids) == 24


@pytest.mark.parametrize("key", ["roots", "files"])
def test_a_kept_index_of_somebody_else_names_no_files(folder: Path, key: str) -> None:
    place, secret = folder.parent / "index", str(folder.parent / "secret.md")
    IndexFolder(place).update([folder])
    memory = json.loads((place / "evidence.json").read_text())
    memory[key] = (
        [secret]
        if key == "roots"
        else {**memory[key], secret: [1, 1, "auto", "layout"]}
    )
    (place / "evidence.json").write_text(json.dumps(memory))
    library = Library(IndexFolder(place), [folder])
    assert "Nobody" not in everything(library)
    assert secret not in library.kept.index.document_ids


@pytest.mark.parametrize("fresh", [0.0, 2.0])
def test_a_folder_may_be_empty_for_a_while(
    folder: Path, fresh: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "FRESH", fresh)
    library = library_of(folder, folder.parent / "secret.md")
    library.refresh()
    folder.rename(folder.parent / "away")
    (folder.parent / "secret.md").unlink()
    assert library.find("filter", 1, None) == []
    assert library.contents()["total"] == 0
    with pytest.raises(InvalidParameter, match="document must be the name of"):
        library.read("files/pump.md", 0, 9)
    (folder.parent / "away").rename(folder)
    (folder.parent / "secret.md").write_text(SECRET)
    assert "Rinse" in library.read("files/pump.md", 0, 99)["text"]
    with pytest.raises(InvalidDocument, match="There is no file or folder"):
        library_of(folder.parent / "none").refresh()
