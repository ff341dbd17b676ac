"""How well readers of PDF give back text that is known: prints the table and writes it.

    python benchmarks/pdf_readers.py

Markdown documents of the set `parsing` are printed as PDF in one and in two columns, with a running
head and page numbers, and where pdflatex is installed in two columns of LaTeX, and read again. Real
files of `formats/pdf` have at least three bookmarks: these are the headings to find, once hidden
from our reader. Needs reportlab, matplotlib (for its fonts) and pypdfium2 of the extra `dev`, and
pdfplumber of `peers`; liteparse, xberg and pymupdf4llm are measured where they are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from markdown_it import MarkdownIt

from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.question_sets import data_root
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

DOCUMENTS = 20
FOLDERS = ("rust_reference", "fastapi/en")
SIZES = (3_000, 25_000)  # characters of a source
RESULTS = Path(__file__).parent / "results" / "pdf_readers.md"
HEAD = "Printed for the benchmark of readers"
A4 = (595.0, 842.0)
MARGIN = 54.0
# FastAPI's, of a heading.
_ANCHOR = re.compile(r"[ \t]*\{ *#[\w-]+ *\}[ \t]*$", re.MULTILINE)
FEWEST_BOOKMARKS = 3
CUT = 25  # letters of a bookmark from which on its end may be cut off
# The number or label that stands before a title on the page, or in the bookmark alone.
_NUMBER = re.compile(
    r"^(?:[a-z]|\d+|[ivx]+|chapter|appendix|section|part)(?: \d+)* (?=.)"
)
LATEX_CLASSES = (
    r"\documentclass[conference]{IEEEtran}",
    r"\documentclass[twocolumn]{article}",
)
LATEX_CODE = 44  # characters of a row of code in a column
_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}
_TYPED = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-"}
)
MEASURES = (
    "words found",
    "words in order",
    "headings found",
    "headings right",
    "CPU s a page",
)


@dataclass(frozen=True)
class Block:
    """A block of a document: its kind, the level of a heading, and the text that is printed."""

    kind: str  # "heading", "paragraph", "item", "code" or "table"
    text: str = ""
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def printed(self) -> str:
        """The text a reader should give back."""
        return "\n".join(" ".join(row) for row in self.rows) if self.rows else self.text


def blocks_of(markdown: str) -> list[Block]:
    """The blocks of a Markdown text in order; HTML blocks are left out."""
    blocks: list[Block] = []
    kinds: list[str] = ["paragraph"]
    rows: list[list[str]] = []
    markdown = _ANCHOR.sub("", markdown)
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type in ("fence", "code_block"):
            blocks.append(Block("code", token.content.rstrip("\n")))
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            blocks.append(Block("table", rows=tuple(map(tuple, rows))))
            rows = []
        elif token.type == "inline" and rows:
            rows[-1].append(_visible(token))
        elif token.type == "inline":
            level = int(kinds[-1][1]) if kinds[-1][0] == "h" else 0
            blocks.append(
                Block("heading" if level else kinds[-1], _visible(token), level)
            )
        if token.type in ("heading_open", "list_item_open"):
            kinds.append(token.tag if token.type == "heading_open" else "item")
        elif token.type in ("heading_close", "list_item_close"):
            kinds.pop()
    return [block for block in blocks if block.printed.strip()]


def _visible(token: Any) -> str:
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return " ".join("".join(parts).split())


def printed(blocks: Sequence[Block], columns: int) -> bytes:
    """The blocks as a PDF file with that many columns, a running head and page numbers."""
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import (
        BaseDocTemplate,
        Frame,
        PageTemplate,
        Paragraph,
        Preformatted,
        Spacer,
        Table,
    )

    regular, bold, mono = _fonts()
    size = 10 if columns == 1 else 9
    width = (A4[0] - 2 * MARGIN - 18 * (columns - 1)) / columns
    style = partial(ParagraphStyle, fontName=regular, fontSize=size, leading=1.3 * size)
    body, item = (
        style("body", spaceAfter=6),
        style("item", leftIndent=14, bulletIndent=2),
    )
    code = style(
        "code", fontName=mono, fontSize=size - 2, leading=1.2 * size, spaceAfter=6
    )
    story: list[Any] = []
    for block in blocks:
        if block.kind == "heading":
            large = size + 2 * max(1, 5 - block.level)
            heading = style(
                "h", fontName=bold, fontSize=large, leading=1.2 * large, spaceAfter=5
            )
            story += [Spacer(1, 6), Paragraph(escape(block.text), heading)]
        elif block.kind == "code":
            most = int(width / (0.62 * (size - 2)))
            story.append(Preformatted(block.text, code, maxLineLength=most))
        elif block.kind == "table":
            count = max(map(len, block.rows))
            cells = [
                [
                    Paragraph(escape(cell), item.clone("cell", leftIndent=0))
                    for cell in row
                ]
                for row in block.rows
            ]
            rules = [("GRID", (0, 0), (-1, -1), 0.5, "black")]
            story += [Table(cells, [width / count] * count, style=rules), Spacer(1, 6)]
        elif block.kind == "item":
            story.append(Paragraph(escape(block.text), item, bulletText="\u2022"))
        else:
            story.append(Paragraph(escape(block.text), body))

    def furniture(canvas: Any, template: Any) -> None:
        canvas.setFont(regular, 8)
        canvas.drawString(MARGIN, A4[1] - 34, HEAD)
        canvas.drawCentredString(A4[0] / 2, 30, str(template.page))

    buffer = io.BytesIO()
    template = BaseDocTemplate(buffer, pagesize=A4, invariant=1)
    frames = [
        Frame(MARGIN + i * (width + 18), MARGIN, width, A4[1] - 2 * MARGIN, 0, 0, 0, 0)
        for i in range(columns)
    ]
    template.addPageTemplates(PageTemplate(frames=frames, onPage=furniture))
    template.build(story)
    return buffer.getvalue()


def _fonts() -> tuple[str, str, str]:
    """Names of DejaVu fonts, which have the documents' letters."""
    import matplotlib
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    names = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in set(names) - set(pdfmetrics.getRegisteredFontNames()):
        pdfmetrics.registerFont(TTFont(name, folder / f"{name}.ttf"))
    return names


def by_latex(blocks: Sequence[Block], document_class: str) -> bytes:
    """The blocks as a PDF file in two columns that pdflatex makes."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "document.tex"
        source.write_text(latex(blocks, document_class), encoding="ascii")
        command = ("pdflatex", "-interaction=batchmode", "-halt-on-error", source.name)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
        subprocess.run(
            command, cwd=folder, env=environment, check=True, capture_output=True
        )
        return source.with_suffix(".pdf").read_bytes()


def latex(blocks: Sequence[Block], document_class: str) -> str:
    """The blocks as a source of LaTeX. The first one is the title."""
    title, *others = blocks
    levels = sorted({block.level for block in others if block.kind == "heading"})
    lines = [document_class, r"\usepackage{array}\sloppy\begin{document}"]
    for block in blocks:
        text = in_latex(block.text)
        if block is title:
            lines.append(rf"\title{{{text}}}\author{{A. Writer}}\date{{}}\maketitle")
        elif block.kind == "heading":
            depth = min(levels.index(block.level), 2)
            lines.append(rf"\{'sub' * depth}section{{{text}}}")
        elif block.kind == "item":
            lines.append(rf"\begin{{itemize}}\item{{}} {text}\end{{itemize}}")
        elif block.kind == "code":
            lines += [r"\begin{footnotesize}\begin{verbatim}", *_code_rows(block.text)]
            lines.append(r"\end{verbatim}\end{footnotesize}")
        elif block.kind == "table":
            lines += _latex_table(block)
        else:
            lines.append(f"{text}\n")
    return "\n".join([*lines, r"\end{document}"])


def _code_rows(code: str) -> Iterator[str]:
    for row in code.split("\n"):
        for i in range(0, len(row) or 1, LATEX_CODE):
            yield row[i : i + LATEX_CODE]


def _latex_table(block: Block) -> Iterator[str]:
    count = max(map(len, block.rows))
    column = rf"|>{{\raggedright\arraybackslash}}p{{{0.8 / count:.2f}\columnwidth}}"
    yield rf"\par\noindent\begin{{tabular}}{{{column * count}|}}\hline"
    for row in block.rows:
        yield rf"{' & '.join(map(in_latex, row))}\\\hline"
    yield r"\end{tabular}\par"


def in_latex(text: str) -> str:
    """A text with LaTeX's signs written out, in words that may be broken behind long names."""
    return "".join(_LATEX_SIGNS.get(character, character) for character in text)


def for_latex(blocks: Sequence[Block]) -> list[Block]:
    """The blocks in plain ASCII, the first heading first, as the title."""
    title = next(block for block in blocks if block.kind == "heading")
    others = [block for block in blocks if block is not title]
    return list(map(plain_ascii, [title, *others]))


def plain_ascii(block: Block) -> Block:
    """A block with the characters that all of LaTeX's fonts have."""

    def plain(text: str) -> str:
        known = normalize("NFKD", text).translate(_TYPED)
        return known.encode("ascii", "ignore").decode()

    rows = tuple(tuple(map(plain, row)) for row in block.rows)
    return replace(block, text=plain(block.text), rows=rows)


def words_of(text: str) -> list[str]:
    """Runs of letters and digits, lower-cased."""
    return re.findall(r"[^\W_]+", text.lower())


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by whole rows of bits at once (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << i
    everything = (1 << len(first)) - 1
    row = everything
    for word in second:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & everything
    return len(first) - row.bit_count()


def shares(blocks: Sequence[Block], text: str) -> list[float]:
    """Words found, words in order, headings found and headings right, as shares of 1."""
    truth, words = (
        words_of("\n".join(block.printed for block in blocks)),
        words_of(text),
    )
    titles = Counter(
        outline_title(block.text) for block in blocks if block.kind == "heading"
    )
    headings = Counter(
        outline_title(heading.title) for heading in markdown_headings(text)
    )
    both = (titles & headings).total()
    return [
        (Counter(truth) & Counter(words)).total() / len(truth),
        common_subsequence(truth, words) / len(truth),
        both / titles.total(),
        both / max(1, headings.total()),
    ]


def plain_pdfplumber(data: bytes) -> str:
    """pdfplumber's own text."""
    import pdfplumber

    with pdfplumber.open(io.BytesIO(data)) as pdf:
        return "\n\n".join(page.extract_text() for page in pdf.pages)


def by_us(data: bytes) -> str:
    """Our Markdown."""
    return pdf_document(data).text


def by_liteparse(data: bytes) -> str:
    """Markdown by liteparse, without OCR."""
    import liteparse

    parser = liteparse.LiteParse(
        ocr_enabled=False, output_format="markdown", quiet=True
    )
    return str(parser.parse(data).text)


def by_xberg(data: bytes) -> str:
    """Markdown by xberg, without OCR."""
    import xberg

    config = xberg.ExtractionConfig(
        output_format="markdown", disable_ocr=True, use_cache=False
    )
    given = xberg.ExtractInput(
        kind=xberg.ExtractInputKind.BYTES, bytes=data, mime_type="application/pdf"
    )
    return str(asyncio.run(xberg.extract(given, config)).results[0].content)


def by_pymupdf4llm(data: bytes) -> str:
    """Markdown by pymupdf4llm."""
    import pymupdf
    import pymupdf4llm

    with pymupdf.open(stream=data, filetype="pdf") as pdf:
        return str(pymupdf4llm.to_markdown(pdf, use_ocr=False))


def without_bookmarks(data: bytes) -> str:
    """Our Markdown of the pages as if the file named no heading."""
    pages = [replace(page, headings=()) for page in read_pdf(data)]
    return markdown_of_pages(pages).text


OURS = 'reader="layout" (ours)'
PEERS: Mapping[str, Callable[[bytes], str]] = {
    name: read
    for name, read in {
        "liteparse": by_liteparse,
        "xberg": by_xberg,
        "pymupdf4llm": by_pymupdf4llm,
    }.items()
    if find_spec(name)
}
READERS: Mapping[str, Callable[[bytes], str]] = {
    OURS: by_us,
    "pdfplumber's extract_text (no headings)": plain_pdfplumber,
    **PEERS,
}
READERS_OF_OUTLINES: Mapping[str, Callable[[bytes], str]] = {
    f"{OURS}, bookmarks hidden": without_bookmarks,
    **{name: read for name, read in READERS.items() if "no headings" not in name},
}


@cache
def outline_title(title: str) -> str:
    """A title as it is compared: its letters and digits, without the number before them."""
    return _NUMBER.sub("", " ".join(words_of(title))).replace(" ", "")


def bookmarks_of(data: bytes) -> tuple[list[str], int]:
    """The titles of a file's bookmarks that stand in its text, and its page count; none where it
    cannot be opened."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return [], 0
    titles = [bookmark.get_title() for bookmark in pdf.get_toc(max_depth=15)]
    pages = len(pdf)
    texts = (page.get_textpage().get_text_range() for page in pdf)
    text = "".join(word for text in texts for word in words_of(text))
    pdf.close()
    return [
        title
        for title in titles
        if outline_title(title) and outline_title(title) in text
    ], pages


class Agreement(NamedTuple):
    """How a text's headings agree with the bookmarks of its file."""

    both: int  # headings that are bookmarks
    given: int
    within: int  # given, but for the title and what is below the last level of the bookmarks


def agreement(bookmarks: Sequence[str], text: str) -> Agreement:
    """How many of a text's headings are bookmarks, and how many headings there are.

    A bookmark may end before the heading does, behind 25 letters or behind a number and words.
    """
    headings = [
        heading for heading in markdown_headings(text) if outline_title(heading.title)
    ]
    wanted = list(bookmarks)
    found: set[int] = set()
    for is_bookmark in (_is_same, _goes_on):
        for i, heading in enumerate(headings):
            titles = [title for title in wanted if is_bookmark(title, heading.title)]
            if titles and i not in found:
                wanted.remove(titles[0])
                found.add(i)
    last = max((headings[i].level for i in found), default=6)
    within = [i for i, heading in enumerate(headings) if heading.level <= last]
    beside_title = [i for i in within if i > 0 or i in found]
    return Agreement(len(found), len(headings), len(beside_title))


def _is_same(bookmark: str, heading: str) -> bool:
    return outline_title(bookmark) == outline_title(heading)


def _goes_on(bookmark: str, heading: str) -> bool:
    begin, whole = (" ".join(words_of(title)) for title in (bookmark, heading))
    if begin[:1].isdigit() and " " in begin and whole.startswith(begin):
        return True
    begin, whole = outline_title(bookmark), outline_title(heading)
    return len(begin) >= CUT and whole.startswith(begin)


def ratio_with_interval(
    parts: Sequence[float], wholes: Sequence[float], digits: int = 1, scale: float = 100
) -> str:
    """The ratio of two sums with its 95 % interval by bootstrap over files."""
    counts = np.array([parts, wholes], dtype=float)
    size = counts.shape[1]
    picks = np.random.default_rng(0).integers(0, size, (2000, size))
    sums = counts[:, picks].sum(axis=2)
    low, high = np.percentile(scale * sums[0] / np.maximum(sums[1], 1e-9), [2.5, 97.5])
    whole = scale * counts[0].sum() / max(counts[1].sum(), 1e-9)
    return f"{whole:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def read_apart(
    read: Callable[[bytes], str], files: Sequence[bytes]
) -> Iterator[tuple[str | None, float]]:
    """The text and the CPU seconds of each file, read in a process that a file may crash; None for
    the text of a file that is not read."""
    pool = None
    for data in files:
        if pool is None:
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            pool.submit(timed, read, printed([Block("paragraph", "Warm.")], 1)).result()
        try:
            yield pool.submit(timed, read, data).result()
        except BrokenProcessPool:
            pool.shutdown()
            pool = None
            yield None, 0.0
    if pool:
        pool.shutdown()


def timed(read: Callable[[bytes], str], data: bytes) -> tuple[str | None, float]:
    """A file's text, None where it cannot be read, and the CPU seconds it took."""
    start = time.process_time()
    try:
        text = read(data)
    except Exception:  # noqa: BLE001 - the peers raise errors of any kind
        return None, time.process_time() - start
    return text, time.process_time() - start


def outlines_table(files: Sequence[bytes]) -> str:
    """The section on real files with bookmarks."""
    truths = [bookmarks_of(data) for data in files]
    chosen = [
        (data, *truth)
        for data, truth in zip(files, truths, strict=True)
        if len(truth[0]) >= FEWEST_BOOKMARKS
    ]
    rows = [
        "| reader | headings found | headings right | right in the outline's levels | "
        "files not read | CPU s a page |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for label, read in READERS_OF_OUTLINES.items():
        scores: list[tuple[int, int, int, int, float, int]] = []
        failed = 0
        texts = read_apart(read, [data for data, _, _ in chosen])
        for (_, titles, pages), (text, seconds) in zip(chosen, texts, strict=True):
            failed += text is None
            scores.append((*agreement(titles, text or ""), len(titles), seconds, pages))
        both, given, within, truth, times, counts = zip(*scores, strict=True)
        cells = (
            label,
            ratio_with_interval(both, truth),
            ratio_with_interval(both, given),
            ratio_with_interval(both, within),
            str(failed),
            ratio_with_interval(times, counts, 3, 1),
        )
        rows.append(f"| {' | '.join(cells)} |")
    bookmarks = sum(len(titles) for _, titles, _ in chosen)
    pages = sum(count for _, _, count in chosen)
    return "\n".join(
        [
            f"## Real files, {len(chosen)} of them, {bookmarks} bookmarks, {pages} pages\n",
            "The files of `formats/pdf` with at least three bookmarks, which are the headings to "
            "find. *Found*: of the bookmarks; *right*: of the headings a reader gives. Few "
            "outlines hold all, so *right in the outline's levels* leaves out the first heading "
            "where it is no bookmark (the title) and headings below the last level on which the "
            "reader gives a bookmark. Titles are compared by their letters without numbers; a "
            "bookmark may end before its heading does. Sums over files with intervals by bootstrap "
            "over files; a file that is not read has no heading.\n",
            *rows,
            "",
        ]
    )


def sources() -> dict[str, str]:
    """Documents of the set by name, spread evenly over those of a middle size."""
    root = data_root() / "parsing"
    files = sorted(file for folder in FOLDERS for file in (root / folder).rglob("*.md"))
    texts = {
        str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files
    }
    fitting = [
        name for name, text in texts.items() if SIZES[0] <= len(text) <= SIZES[1]
    ]
    with_headings = [
        name
        for name in fitting
        if sum(block.kind == "heading" for block in blocks_of(texts[name])) >= 3
    ]
    chosen = np.linspace(0, len(with_headings) - 1, DOCUMENTS).round().astype(int)
    return {with_headings[i]: texts[with_headings[i]] for i in chosen}


def with_interval(values: Sequence[float], digits: int, scale: float) -> str:
    """The mean with its 95 % interval by bootstrap over documents."""
    numbers = np.array(values) * scale
    picks = np.random.default_rng(0).integers(0, len(numbers), (2000, len(numbers)))
    low, high = np.percentile(numbers[picks].mean(axis=1), [2.5, 97.5])
    return f"{numbers.mean():.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def table(
    documents: Mapping[str, Sequence[Block]], files: Mapping[str, bytes]
) -> tuple[str, int]:
    """The rows of one layout, and how many pages were read."""
    pages = {name: len(read_pdf(data)) for name, data in files.items()}
    rows = [
        f"| {' | '.join(('reader', *MEASURES))} |",
        "|---|" + "---:|" * len(MEASURES),
    ]
    for label, read in READERS.items():
        scores: list[list[float]] = []
        for name, data in files.items():
            start = time.process_time()
            text = read(data)
            seconds = time.process_time() - start
            scores.append([*shares(documents[name], text), seconds / pages[name]])
        cells = [with_interval([row[i] for row in scores], 1, 100) for i in range(4)]
        if "no headings" in label:
            cells[2:] = ["-", "-"]
        cells.append(with_interval([row[4] for row in scores], 3, 1))
        rows.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(rows), sum(pages.values())


def latex_table(documents: Mapping[str, Sequence[Block]]) -> str:
    """The section on two columns of LaTeX."""
    if not shutil.which("pdflatex"):
        return "## Two columns of LaTeX\n\nNot measured: no pdflatex.\n"
    plain = {name: for_latex(blocks) for name, blocks in documents.items()}
    classes = zip(plain, cycle(LATEX_CLASSES), strict=False)
    files = {
        name: by_latex(plain[name], document_class) for name, document_class in classes
    }
    rows, pages = table(plain, files)
    return (
        f"## Two columns of LaTeX, {len(plain)} documents, {pages} pages\n\nThe same documents by "
        "pdflatex, in turn in IEEEtran's type (numbers, small capitals, italics, titles in the row "
        f"of their text) and in article's.\n\n{rows}\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="file for the results"
    )
    options = parser.parse_args(arguments)
    texts = sources()
    documents = {name: blocks_of(text) for name, text in texts.items()}
    parts = [
        "# Readers of PDF\n",
        "Markdown documents printed as PDF with reportlab and read again (`python "
        "benchmarks/pdf_readers.py`). In percent, means over documents with 95 % intervals by "
        "bootstrap. *Words found*: of the printed words, whatever their order. *Words in order*: "
        "the longest common subsequence of both texts. *Headings found*: of the printed headings; "
        "*headings right*: of those the reader gives. Running heads and page numbers are in no "
        "count. The files are all made by one program: real ones vary more.\n",
    ]
    for columns, label in ((1, "One column"), (2, "Two columns")):
        files = {name: printed(blocks, columns) for name, blocks in documents.items()}
        rows, pages = table(documents, files)
        parts.append(
            f"## {label}, {len(documents)} documents, {pages} pages\n\n{rows}\n"
        )
    parts.append(latex_table(documents))
    real = sorted((data_root() / "formats" / "pdf").glob("*.pdf"))
    parts.append(outlines_table([file.read_bytes() for file in real]))
    parts.append(f"- {corpus_line('parsing', texts.values())}")
    packages = ("pypdfium2", "pdfplumber", "pdfminer.six", "reportlab", *PEERS)
    parts.append(f"- {versions_line(packages)}")
    parts.append(f"- {machine_line()}, shared with other jobs")
    text = "\n".join(parts) + "\n"
    print(text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    save(options.output, text, __file__)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
