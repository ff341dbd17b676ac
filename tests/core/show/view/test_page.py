"""What the page is made of: the data, the one file, the command that writes it; and the page in a
real Chromium."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser, chromium
from hypothesis import given
from hypothesis import strategies as st
from pdf_making import made, write
from view_making import HOSTILE, data_of, manual, splitters

from structrag import (
    ContentAwareSplitter,
    IDMSSplitter,
    PICSplitter,
    read_file,
    read_text,
)
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.searched import Passages
from structrag.show.view import gather, render_page, write_page
from structrag.show.view.page import SCRIPTS, embedded_json


def test_no_markup_of_a_document_is_markup_of_the_page() -> None:
    page = render_page(
        gather(
            [read_text(HOSTILE, id="<img src=x>", title="</title>")],
            splitters(),
            query="<script>",
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
        assert (
            f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
            in policy
        )
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert (
        not re.search(r"https?://(?!www\.w3\.org/)", page)
        and "@import" not in page
        and "@@" not in page
    )


def test_scripts_never_set_markup_from_strings() -> None:
    folder = files("structrag.show.view")
    assert {each.name for each in folder.iterdir() if each.name.endswith(".js")} == set(
        SCRIPTS
    )
    for name in SCRIPTS:
        text = folder.joinpath(name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function",
            text,
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
    assert path.read_bytes() == before and [
        each.name for each in tmp_path.iterdir()
    ] == ["page.html"]
    with pytest.raises(InvalidParameter, match="cannot be written"):
        write_page(data, tmp_path / "missing" / "page.html")


HOSTILE_ON_SCREEN = (
    "# <script>window.hacked=1</script>\n\n</script><script>window.hacked=2</script><img src=x "
    "onerror='window.hacked=3'>"
    "\n\n<!-- \u2028 ]]> &lt; \U0001f4a7 \U0001f4a7 -->\n\nThe pump \U0001f4a7 leaks.\r\n\r\n## "
    "Sub\n\n```\na  b\n```\nEnd.\n"
)


SECTIONS = "".join(
    f"## Part {i}\n\n"
    + "".join(
        f"Pump {i} moves water through filter {j}. Its seal {j} is dried after use. "
        for j in range(12)
    )
    + "\n\n"
    for i in range(14)
)


LONG_MANUAL = f"# Manual\n\nAbout pumps.\n\n{SECTIONS}## Winter\n\nDrain the boiler before frost.\n"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: install chromium, or set STRUCTRAG_CHROMIUM to one")
    pytest.importorskip(
        "websockets", reason="websockets, which drives Chromium, is not installed"
    )
    with browser(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    documents = [
        read_text(LONG_MANUAL, id="manual"),
        read_text("# Tap\n\nThe tap drips.\n", id="tap"),
    ]
    splitters = {
        "content_aware": ContentAwareSplitter(max_tokens=120),
        "pic": PICSplitter(max_tokens=120, min_tokens=20),
        "idms": IDMSSplitter(max_tokens=120),
    }
    return gather(documents, splitters, query="drain the boiler", k=3)


@pytest.fixture(scope="module")
def file(data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "page.html"
    write_page(data, path)
    return path


@pytest.fixture
def shown(page: Page, file: Path) -> Iterator[Page]:
    page.window(1400, 900)
    page.open(file, "#document=1")  # at its beginning, not at the best hit
    page.until("document.querySelector('.segment')")
    yield page
    assert page.errors() == []


def text_of(page: Page) -> str:
    return str(
        page.run(
            "[...document.querySelectorAll('.body')].map((body) => body.textContent).join('')"
        )
    )


def picked(page: Page) -> str:
    return str(
        page.run(
            "[...document.querySelectorAll('.chunk.picked')].map((run) => run.textContent).join('')"
        )
    )


def in_view(page: Page, selector: str) -> bool:
    return bool(
        page.run(
            "(() => { const b = "
            f"document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "const v = document.getElementById('reader').getBoundingClientRect();"
            "return b.top >= v.top - 1 && b.top < v.bottom; })()"
        )
    )


def chunk_text(
    data: dict[str, Any], method: int, number: int, document: int = 0
) -> str:
    found = data["documents"][document]
    chunk = found["splits"][method]["chunks"][number]
    return str(found["text"][chunk["start"] : chunk["end"]])


def test_markup_in_a_document_is_text(page: Page, tmp_path: Path) -> None:
    document = read_text(
        HOSTILE_ON_SCREEN,
        id="<img src=x onerror='window.hacked=4'>",
        title="</select><script>window.hacked=5</script>",
    )
    data = gather(
        [document, read_text("x", id="x")],
        {
            "fixed": FixedSplitter(max_tokens=12),
            "content_aware": ContentAwareSplitter(max_tokens=20),
        },
        query="<script>window.hacked=6</script>",
    )
    write_page(data, tmp_path / "page.html")
    for number, method in enumerate(("fixed", "content_aware")):
        page.open(tmp_path / "page.html", f"#method={method}&chunk=2")
        page.until("document.querySelector('.segment')")
        assert text_of(page) == HOSTILE_ON_SCREEN
        assert picked(page) == chunk_text(data, number, 1)
        page.hover(".segment")
        page.click("#tab-hits")
    assert page.run(
        "[window.hacked, document.scripts.length, document.images.length]"
    ) == [
        None,
        2,
        0,
    ]
    assert page.errors() == []
    assert [
        address for address in page.addresses() if address.startswith(("http", "//"))
    ] == []


def test_the_text_is_whole_and_cut_where_the_chunks_are(
    shown: Page, data: dict[str, Any]
) -> None:
    assert text_of(shown) == LONG_MANUAL
    for key, method in (("1", 0), ("2", 1), ("3", 2)):
        shown.press(key)
        for number in (0, 7, len(data["documents"][0]["splits"][method]["chunks"]) - 1):
            found = shown.run(
                f"[...document.querySelectorAll('[data-chunk=\"{number}\"].chunk')].map((run) => "
                "run.textContent).join('')"
            )
            assert found == chunk_text(data, method, number)


def test_a_click_on_a_track_selects_the_chunk_and_its_method(
    shown: Page, data: dict[str, Any]
) -> None:
    shown.click('.segment[data-method="2"][data-chunk="1"]')
    assert shown.run(
        "document.querySelector('.chip[aria-pressed=true]').textContent"
    ).startswith("3idms")
    assert picked(shown) == chunk_text(data, 2, 1)
    details = shown.run("document.getElementById('sheet').innerText")
    assert "2 of " in details and "margin" in details and "Part 0" in details
    shown.until("document.activeElement.dataset.chunk === '1'")


def test_pointing_at_a_track_highlights_the_text_and_tells(
    shown: Page, data: dict[str, Any]
) -> None:
    shown.hover('.segment[data-method="1"][data-chunk="1"]')
    shown.until("!document.getElementById('tip').hidden")
    told = shown.run("document.getElementById('tip').innerText")
    assert told.startswith("pic 2 of ") and "token" in told and "null" not in told
    (peeked,) = shown.run("[...CSS.highlights.get('peek')].map(String)")
    assert peeked == chunk_text(data, 1, 1)
    shown.hover(".axis")
    shown.until("document.getElementById('tip').hidden")
    assert not shown.run("CSS.highlights.has('peek')")


def test_keys_go_through_chunks_methods_and_hits(
    shown: Page, data: dict[str, Any]
) -> None:
    for _ in range(4):
        shown.press("j")
    assert picked(shown) == chunk_text(data, 0, 3)
    shown.press("k")
    assert picked(shown) == chunk_text(data, 0, 2)
    assert "content_aware chunk 3 of" in shown.run(
        "document.getElementById('voice').textContent"
    )
    shown.press("2")
    assert chunk_text(data, 0, 2)[:20] in picked(shown)
    shown.press("1")
    shown.press("]")
    hit = data["searches"][0]["hits"][0]
    assert "Drain the boiler" in picked(shown) and picked(shown) == chunk_text(
        data, 0, hit["chunk"]
    )
    shown.until(
        "document.querySelector('.chunk.picked').getBoundingClientRect().top < innerHeight"
    )
    shown.press("Escape")
    assert picked(shown) == ""


def test_arrow_keys_go_along_and_across_the_tracks(
    shown: Page, data: dict[str, Any]
) -> None:
    shown.click('.segment[data-method="0"][data-chunk="1"]')
    shown.until("document.activeElement.dataset.chunk === '1'")
    shown.press("ArrowDown")
    shown.until(
        "document.activeElement.dataset.chunk === '2' && document.activeElement.dataset.method === "
        "'0'"
    )
    shown.press("ArrowRight")
    shown.until("document.activeElement.dataset.method === '1'")
    assert shown.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert shown.run("document.activeElement.getAttribute('aria-label')").startswith(
        "pic chunk "
    )


def test_find_counts_highlights_and_jumps(shown: Page) -> None:
    shown.press("/")
    assert shown.run("document.activeElement.id") == "find-text"
    shown.type("dr\u00e2in  THE\u00a0boil\u00ader")
    shown.until("document.getElementById('find-count').value === '1'")
    shown.press("Enter")
    assert shown.run("document.getElementById('find-count').value") == "1 / 1"
    assert shown.run("[...CSS.highlights.get('match-here')].map(String)") == [
        "Drain the boiler"
    ]
    top = shown.until(
        "[...CSS.highlights.get('match-here')][0].getBoundingClientRect().top"
    )
    assert 0 < top < 900
    shown.press("Escape")
    assert shown.run("document.getElementById('find-count').value") == ""
    shown.press("/")
    shown.type("(a+)+$[")
    shown.until("document.getElementById('find-count').value === '0'")


def test_hits_show_shares_and_jump(shown: Page, data: dict[str, Any]) -> None:
    assert (
        shown.run(
            "document.querySelector('[role=tab][aria-selected=true]').textContent"
        )
        == "Hits"
    )
    widths = shown.run(
        "[...document.querySelectorAll('.hit-line')].map((hit) => [...hit.querySelectorAll('.stack "
        "span')]"
        ".reduce((sum, part) => sum + part.getBoundingClientRect().width, 0))"
    )
    scores = [hit["score"] for hit in data["searches"][0]["hits"]]
    assert [width / widths[0] for width in widths] == pytest.approx(
        [score / scores[0] for score in scores], abs=0.05
    )
    shown.click(".hit-line")
    assert "Drain the boiler" in picked(shown)
    assert in_view(shown, ".chunk.picked")
    shown.click(".all input")
    assert shown.run("document.querySelectorAll('.hits').length") == 3


def test_the_words_that_match_are_painted_and_listed(
    page: Page, tmp_path: Path
) -> None:
    methods = splitters(evidence=Passages())
    query = "How do I dry filter 7?"
    write_page(gather([manual()], methods, query=query, k=2), tmp_path / "page.html")
    page.window(1400, 900)
    page.open(tmp_path / "page.html")
    page.until("document.querySelector('.segment')")
    painted = "[...(CSS.highlights.get('word') || [])].map((range) => range.toString())"
    assert {"Dry", "filter", "7"} <= set(page.run(painted))
    page.click(".hit-line")
    page.run("document.getElementById('tab-chunk').click()")
    chips = page.run(
        "[...document.querySelectorAll('.word')].map((chip) => chip.title)"
    )
    assert "dry: Dry, 1.00" in chips and "7: 7, 1.00" in chips
    page.run(
        "document.querySelector('.word.strong').dispatchEvent(new Event('pointerenter'))"
    )
    assert page.run("[...CSS.highlights.get('peek')].length") == 1
    page.run("document.querySelector('.chip').click()")
    assert page.run(painted) == [] and page.errors() == []


def test_the_page_of_a_pdf_stands_beside_the_text(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "pump.pdf"
    lines = ["The pump is shut down in a frost.", "It is drained by hand."]
    file.write_bytes(made(lambda canvas: write(canvas, lines, 60, 700)))
    methods = splitters(evidence=Passages())
    data = gather([read_file(file)], methods, query="drained", k=2)
    write_page(data, tmp_path / "page.html")
    page.window(1400, 900)
    page.open(tmp_path / "page.html")
    page.until("document.querySelector('.segment')")
    page.click(".hit-line")
    page.run("document.getElementById('tab-chunk').click()")
    page.until("document.querySelector('img.page')?.naturalWidth > 1000")
    assert page.errors() == []


def test_the_page_begins_with_the_file_of_the_best_hit(
    page: Page, tmp_path: Path
) -> None:
    documents = [
        read_text("", id="empty"),
        read_text("# Tap\n\nThe tap drips.\n", id="tap"),
    ]
    write_page(gather(documents, splitters(), query="tap"), tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    page.until("document.querySelector('.segment')")
    assert page.run("document.getElementById('documents').value") == "1"
    assert "The tap drips." in text_of(page)
    page.open(tmp_path / "page.html", "#document=1")
    assert page.run("document.getElementById('documents').value") == "0"


def test_the_page_begins_at_the_best_hit(
    page: Page, file: Path, data: dict[str, Any]
) -> None:
    page.window(1400, 900)
    page.open(file)
    hit = f'.chunk[data-chunk="{data["searches"][0]["hits"][0]["chunk"]}"]'
    page.until(
        f"document.querySelector('{hit}').getBoundingClientRect().top < innerHeight"
    )
    assert in_view(page, hit) and picked(page) == ""
    page.open(file, "#document=1")
    assert not in_view(page, hit)


def test_the_outline_is_a_tree_for_mouse_and_keys(shown: Page) -> None:
    assert shown.run("document.querySelectorAll('[role=treeitem]').length") == 16
    shown.click('[data-section="16"] .item-title')
    shown.until(
        "document.querySelector('[data-section=\"16\"][aria-current=location]')"
    )
    assert shown.run("document.getElementById('here').textContent") == "Manual › Winter"
    shown.press("Home")
    assert shown.run("document.activeElement.dataset.section") == "1"
    shown.press("ArrowLeft")
    assert shown.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    for key in ("ArrowRight", "ArrowDown"):
        shown.press(key)
    assert shown.run("document.activeElement.getAttribute('aria-label')").startswith(
        "Part 0, "
    )
    shown.press("Enter")
    shown.until("document.getElementById('here').textContent === 'Manual › Part 0'")


def test_another_document_can_be_chosen(shown: Page) -> None:
    shown.run(
        "(() => { const s = document.getElementById('documents'); s.value = '1'; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    assert text_of(shown) == "# Tap\n\nThe tap drips.\n"
    assert shown.run("document.title").startswith("Tap") and "document=2" in shown.run(
        "location.hash"
    )


def test_the_theme_follows_the_user(shown: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = shown.run(ground)
    shown.window(1400, 900, dark=True)
    dark = shown.until(f"{ground} !== {json.dumps(light)} && {ground}")
    for expected in (light, dark):
        shown.press("t")
        assert shown.run(ground) == expected
    shown.run("localStorage.clear()")


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_screen(page: Page, file: Path, width: int) -> None:
    page.window(width, 740)
    page.open(file)
    page.until("document.querySelector('.segment')")
    assert page.run("document.documentElement.scrollWidth") == width
    assert page.run(
        "document.getElementById('reader').scrollWidth <= "
        "document.getElementById('reader').clientWidth"
    )
    assert page.run("document.querySelector('.body').clientWidth") > 0.6 * min(
        width, 700
    )


def test_on_a_narrow_screen_details_come_up_and_go(page: Page, file: Path) -> None:
    page.window(360, 740)
    page.open(file, "#document=1")
    page.until("document.querySelector('.segment')")
    hidden = "getComputedStyle(document.getElementById('panel')).display === 'none'"
    assert page.run("document.getElementById('show-panel').innerText") == "Hits"
    assert not page.run(hidden) and in_view(page, "#sheet .hit-line")
    page.click("#close-panel")
    assert page.run(hidden)
    page.click('.segment[data-method="0"][data-chunk="1"]')
    assert not page.run(hidden) and "2 of " in page.run(
        "document.getElementById('sheet').innerText"
    )
    page.click("#close-panel")
    assert page.run(hidden)
    page.click("#show-outline")
    page.click('[data-section="16"] .item-title')
    assert (
        page.run("getComputedStyle(document.getElementById('outline')).display")
        == "none"
    )
    page.until("document.getElementById('here').textContent === 'Manual › Winter'")
    assert page.errors() == []


MARKED = (
    "# Pump\n\nIt **moves** *water* through [the `x` valve](valve.md), ![a plan](p.png).\n\n"
    "- dry\n- clean\n\n| Part | Price |\n|---|---:|\n| seal | 3 |\n\n```py\nrun()\n```\n\n"
    "## Seal #\n\nIt wears. 2 * 3 * 4 and a_b_c and \\* stay.\n"
)


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_markdown_is_shown_rendered_and_stays_whole(
    page: Page, tmp_path: Path, width: int, dark: bool
) -> None:
    document = read_text(MARKED, id="marked", format="markdown")
    write_page(gather([document], splitters()), tmp_path / "page.html")
    page.window(width, 800, dark=dark)
    page.open(tmp_path / "page.html")
    page.until("document.querySelector('.segment')")
    assert text_of(page) == MARKED
    assert page.run("document.documentElement.scrollWidth") == width
    seen = page.run(
        "[...document.querySelectorAll('.body span:not(.cell)')].filter((run) => "
        "parseFloat(getComputedStyle(run).fontSize) > 0).map((run) => run.textContent).join('')"
    )
    assert "It moves water through the x valve, a plan." in seen
    assert "2 * 3 * 4 and a_b_c and * stay." in seen
    assert not any(mark in seen for mark in ("#", "**", "`", "|", "](", "---"))
    assert page.run("document.querySelectorAll('.look-bullet').length") == 2
    tops = page.run(
        "[...document.querySelectorAll('.cell')].map((cell) => "
        "Math.round(cell.getBoundingClientRect().top))"
    )
    assert len(tops) == 4 and tops[0] == tops[1] < tops[2] == tops[3]
    assert page.errors() == []


@pytest.mark.slow
@pytest.mark.long
def test_a_million_characters_stay_usable(page: Page, tmp_path: Path) -> None:
    text = "".join(
        f"# Chapter {i}\n\n{SECTIONS}" for i in range(1_000_000 // len(SECTIONS) + 1)
    )
    data = gather(
        [read_text(text, id="big")],
        {
            "content_aware": ContentAwareSplitter(),
            "fixed": FixedSplitter(),
            "small": FixedSplitter(max_tokens=100),
        },
    )
    write_page(data, tmp_path / "page.html")
    page.window(1400, 900)
    page.open(tmp_path / "page.html")
    assert page.run("Number(document.documentElement.dataset.ready)") < 5000
    number = len(data["documents"][0]["splits"][2]["chunks"]) * 2 // 3
    page.press("3")
    page.run(f"location.hash = '#method=small&chunk={number + 1}'")
    page.until(f"document.querySelector('.segment.picked[data-chunk=\"{number}\"]')")
    assert picked(page) == chunk_text(data, 2, number)
    assert in_view(page, ".chunk.picked")
    assert page.run("document.querySelectorAll('.segment').length") < 400
    assert page.errors() == []
