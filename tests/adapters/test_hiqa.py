"""HiQA in both frameworks: the retriever with a host's engine, packing and tuning; the formatter;
images."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from pathlib import Path
from typing import Any

import pdf_making
import pytest
from frameworks import count_words

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.formatting.formatter import HiQAFormatter as CoreFormatter
from structrag.model_calls.cache import Cache
from structrag.reading.files import read_text
from structrag.retrieval.hiqa.scores import LabelledQuestion

NAMES = ["LM358", "TL431", "NE555", "BC547"]
MANUAL = (
    "# {name}\n\nA part for many uses.\n\n## Limits\n\nThe supply voltage is given here.\n\n"
    "| Rating | Value |\n|---|---|\n| Supply voltage | 32 V |\n| Power | 830 mW |\n\n"
    "## Pins\n\n![Pin layout](img/pins.png)\n\nFigure 1: the pins from above\n\nThere are eight of "
    "them.\n"
)
VOLTAGE = "supply voltage of the BC547"


def made(framework: Any, **options: Any) -> Any:
    documents = framework.documents({name: MANUAL.format(name=name) for name in NAMES})
    return framework.index("HiQA", documents, **options)


@pytest.mark.parametrize("in_store", [False, True])
async def test_the_product_in_the_question_comes_first(
    framework: Any, in_store: bool
) -> None:
    retriever = made(framework, k=3, **(framework.store() if in_store else {}))
    for name in NAMES:
        question = f"What is the supply voltage of the {name}?"
        results = framework.ask(retriever, question)
        assert len(results) == 3 and results[0].doc_id == name
        assert results[0].metadata["hiqa_keywords"] == [name]
        assert set(results[0].metadata["score_parts"]) == {"dense", "bm25", "keywords"}
        assert await framework.aask(retriever, question) == results


def test_tables_and_images_are_shown_in_full(framework: Any) -> None:
    results = framework.ask(made(framework, k=12), "Where are the pins of the NE555?")
    kinds = {one.metadata["hiqa_kind"]: one for one in reversed(results)}
    assert "830 mW" in kinds["table"].text
    image = kinds["image"].metadata
    assert image["heading_path"] == "NE555 > Pins"
    assert image["hiqa_caption"] == "Figure 1: the pins from above"
    assert json.loads(image["hiqa_images"]) == [
        {"file": "img/pins.png", "alt": "Pin layout"}
    ]


def test_the_splitter_is_hiqas_in_the_documents_language_or_the_one_given(
    framework: Any, tmp_path: Path
) -> None:
    retriever = made(framework, language="german")
    assert retriever.index.splitter.language == "german"
    assert retriever.index.views == ("raw",)
    retriever.save(tmp_path / "index")
    opened = framework.load_index("HiQA", tmp_path / "index")
    assert opened.index.splitter.language == "german"
    splitter = framework.splitter_class("HiQA")(
        exclude_titles=["Pins"], table_cells=True
    )
    results = framework.ask(made(framework, splitter=splitter, k=99), "pins")
    assert "image" not in {one.metadata["hiqa_kind"] for one in results}


def test_without_a_path_and_with_one(framework: Any) -> None:
    document = framework.document(MANUAL.format(name="LM358"))
    chunks = framework.split(
        framework.splitter_class("HiQA")(add_context=True), document
    )
    (table,) = (one for one in chunks if one.metadata["hiqa_kind"] == "table")
    embedded = framework.embedded(table)
    assert embedded.startswith("LM358 > Limits\n") and "32 V" not in embedded
    assert (
        "Supply voltage" in embedded
        and "32 V" in table.metadata["segment_text"] + table.text
    )


# -- any retriever of the framework in place of BM25


@pytest.mark.parametrize("kind", ["as it is", "without ids", "by its place"])
async def test_results_of_a_host_are_mapped_to_segments(
    framework: Any, kind: str
) -> None:
    retriever = made(framework, k=3, routes=["bm25"])
    engine = framework.engine(framework.results_as(kind, retriever))
    retriever.lexical = engine
    results = framework.ask(retriever, VOLTAGE)
    assert results[0].doc_id == "BC547" and results[0].metadata["routes"] == {"bm25": 1}
    assert await framework.aask(retriever, VOLTAGE) == results
    narrowed = framework.ask(
        retriever, "supply voltage", k=9, where={"doc_id": "TL431"}
    )
    assert narrowed and {one.doc_id for one in narrowed} == {"TL431"}


def test_what_cannot_be_mapped_is_said_and_what_was_deleted_is_left_out(
    framework: Any,
) -> None:
    retriever = made(framework)
    foreign = framework.piece("supply voltage", start=10_000, id="foreign", title="x")
    retriever.lexical = framework.engine([foreign])
    with pytest.raises(
        InvalidParameter, match="lexical must be a retriever over this index's"
    ):
        framework.ask(retriever, "supply voltage")
    segments = retriever.segments()
    retriever.lexical = framework.engine([foreign, *segments])
    assert "foreign" not in {
        one.id for one in framework.ask(retriever, "supply voltage")
    }
    retriever.delete(NAMES[1:])
    assert {one.doc_id for one in framework.ask(retriever, "supply voltage", k=9)} == {
        "LM358"
    }
    retriever.lexical = framework.engine([])
    assert framework.ask(retriever, "supply voltage")


# -- packing and tuning


async def test_results_fit_the_tokens_given(framework: Any) -> None:
    counted = {framework.counter_name: framework.counter}
    question = "supply voltage of the TL431"
    free = framework.ask(made(framework, k=12), question)
    packed = made(framework, k=12, max_tokens=60, **counted)
    results = framework.ask(packed, question)
    assert await framework.aask(packed, question) == results
    assert 1 < len(results) < len(free)
    assert sum(count_words(one.text) for one in results) <= 60
    assert results[0].id == free[0].id
    assert framework.ask(made(framework, max_tokens=0), "pins") == []
    text = "# Whale\n\n" + "The whale swims in the sea. " * 50
    whale = framework.document(text, "whale")
    (cut,) = framework.ask(
        framework.index("HiQA", [whale], max_tokens=30, **counted), "whale"
    )
    assert cut.metadata["hiqa_cut"] is True and text[cut.start : cut.end] == cut.text


async def test_tuning_sets_the_weights_and_reports(framework: Any) -> None:
    questions = [
        LabelledQuestion(f"supply voltage of the {name}", {name}) for name in NAMES
    ]
    retriever, other = made(framework), made(framework)
    report = retriever.tune(questions)
    assert report.score >= report.default_score and "alpha" in str(report)
    assert await other.atune(questions) == report
    pins = "pins of the NE555"
    assert framework.ask(other, pins) == framework.ask(retriever, pins)
    with pytest.raises(InvalidParameter, match="LabelledQuestion"):
        retriever.tune([])


# -- the formatter


PLAIN = (
    "1 Overview\n\nThe pump moves water from the tank.\n\n1.1 Safety\n\nSwitch it off before you "
    "open it.\n\n2 Technical data\n\nIt weighs nine kilograms.\n"
)
WRITTEN = (
    PLAIN.replace("1 Over", "# 1 Over")
    .replace("1.1 S", "# 1.1 S")
    .replace("2 T", "# 2 T")
)


def formatted(
    framework: Any, *documents: Any, llm: Any = None, **settings: Any
) -> list[Any]:
    formatter = framework.get("HiQAFormatter")(llm=llm, **settings)
    return framework.passages(framework.format(formatter, *documents))


def test_documents_become_markdown_with_a_report_and_are_not_changed(
    framework: Any,
) -> None:
    key = framework.file_key
    page = "<h1>Pump</h1><p>It moves water.</p><h2>Safety</h2><p>Switch it off.</p>"
    sources = [
        framework.document(PLAIN, "m", **{key: "manual.txt"}, tags=["x"]),
        framework.document(page, **{key: "page.html"}),
        framework.document("# Kept\n\nAs it is.\n", **{key: "kept.md"}),
    ]
    before = [one.model_copy(deep=True) for one in sources]
    manual, html, kept = formatted(framework, *sources)
    assert before == sources
    core = CoreFormatter().format(
        read_text(PLAIN, format="text", meta={"source": "manual.txt"})
    )
    assert manual.text == core.document.text and "## 1.1 Safety" in manual.text
    assert "# Pump" in html.text and "<" not in html.text
    assert kept.text == "# Kept\n\nAs it is.\n"
    modes = [
        json.loads(one.metadata["format_report"])["mode"]
        for one in (manual, html, kept)
    ]
    assert modes == ["rules", "layout", "kept"]
    assert {one.metadata["text_format"] for one in (manual, html, kept)} == {"markdown"}
    # Read as Markdown, whatever the file was called.
    chunks = framework.split(
        framework.splitter("ContentAware", 16, plain_headings=False), manual.host
    )
    assert "1 Overview > 1.1 Safety" in [one.metadata["heading_path"] for one in chunks]
    (quiet,) = formatted(framework, sources[0], add_report=False)
    assert "format_report" not in quiet.metadata


def test_a_model_writes_it_and_the_cache_keeps_its_answers(
    framework: Any, tmp_path: Path
) -> None:
    calls: list[str] = []

    def write(prompt: str) -> str:
        calls.append(prompt)
        return WRITTEN

    llm, cache = framework.language_model(write), Cache(tmp_path / "calls")
    document = framework.document(PLAIN, "m")
    for _ in range(2):
        (manual,) = formatted(framework, document, llm=llm, cache=cache)
        report = json.loads(manual.metadata["format_report"])
        assert (report["mode"], report["windows"], report["fallbacks"]) == (
            "model",
            1,
            0,
        )
        assert "# 1.1 Safety" in manual.text
    assert len(calls) == 1
    make = framework.get("HiQAFormatter")
    formatter = make(llm=framework.model(len), preset="paper", prompt="Do it.")
    assert framework.core_formatter(formatter).settings.whole_previous
    plain = make(preset="paper", prompt="Do it.")
    again = pickle.loads(pickle.dumps(plain))
    settings = framework.core_formatter(again).settings
    assert settings == framework.core_formatter(plain).settings
    with pytest.raises((TypeError, ValueError), match="window_word"):
        make(window_word=3)


def test_pdf_files_are_read_by_their_layout(framework: Any, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    path = tmp_path / "pump.pdf"
    path.write_bytes(pdf_making.made(pdf_making.pump_page))
    formatter = framework.get("HiQAFormatter")()
    (read,) = framework.passages(framework.format_file(formatter, path))
    assert "# Pump" in read.text and "# 1 Safety" in read.text
    assert read.metadata["pages"] == 1
    assert json.loads(read.metadata["format_report"])["mode"] == "layout"
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(InvalidDocument, match="broken"):
        framework.format_file(formatter, tmp_path / "broken.pdf")


# -- images


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "img").mkdir(parents=True)
    (docs / "img" / "pins.jpg").write_bytes(b"pixels")
    (tmp_path / "secret.png").write_bytes(b"secret")
    return docs


def test_a_model_describes_images_and_reads_no_file_it_should_not(
    framework: Any, folder: Path
) -> None:
    make, model = framework.get("ImageDescriber"), framework.seeing()
    describe = make(model, "What?", folder)
    pixels = b64encode(b"pixels").decode()
    assert describe("https://x.org/a.png") == "What? https://x.org/a.png"
    assert describe(f"data:image/gif;base64,{pixels}") == "What? image/gif pixels"
    for address in ("img/pins.jpg", str(folder / "img" / "pins.jpg")):
        assert describe(address) == "What? image/jpeg pixels"
    for address in ("../secret.png", str(folder.parent / "secret.png")):
        with pytest.raises(InvalidDocument, match="is outside"):
            describe(address)
    with pytest.raises(InvalidDocument, match="pass the folder"):
        make(model)("a.png")
    with pytest.raises(InvalidDocument, match="Cannot read the image"):
        describe("img/none.png")
    with pytest.raises(ValueError, match="must be a"):
        make(3)
    assert "secret" not in describe.name != make(model, "Who?", folder).name
    text = "# Part\n\nSome words.\n\n![Pins](img/pins.jpg)\n\n![Gone](img/none.png)\n"
    splitter = framework.splitter_class("HiQA")(describe_image=describe)
    chunks = framework.split(splitter, framework.document(text))
    images = [one.metadata for one in chunks if one.metadata["hiqa_kind"] == "image"]
    assert [image["hiqa_degraded"] for image in images] == [False, True]
    assert images[0]["hiqa_description"] == "What? image/jpeg pixels"
