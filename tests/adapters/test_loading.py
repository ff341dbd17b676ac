"""Files, pages and elements of other readers in both frameworks; enrichment of others' chunks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder
from pdf_making import made, manual, pictured
from samples import dense_document

from structrag import IDMSEnricher
from structrag.errors import InvalidParameter
from structrag.reading.bridges.unstructured import from_unstructured

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text("<h1>Tap</h1><h2>Seal</h2><p>The seal wears.")
    return tmp_path


def test_headings_reach_the_chunks(framework: Any, folder: Path) -> None:
    (folder / "other.dat").write_text("a,b")
    with pytest.warns(UserWarning, match=r"1 left out\. other\.dat"):
        documents = framework.load(folder)
    names = [Path(one.metadata[framework.path_key]).name for one in documents]
    assert names == ["pump.md", "tap.html"]
    formats = [one.metadata["text_format"] for one in documents]
    assert formats == ["markdown", "html"]
    paths = [
        one.metadata["heading_path"]
        for one in framework.split(framework.splitter("ContentAware"), *documents)
    ]
    assert any("Cleaning" in path for path in paths) and any(
        "Seal" in path for path in paths
    )


async def test_files_are_read_lazily_and_asynchronously(
    framework: Any, folder: Path
) -> None:
    places = [folder / "pump.md", folder / "tap.html"]
    documents = framework.load(places)
    assert framework.passage(next(framework.lazy_load(places))).text == MANUAL
    assert await framework.aload(places) == documents
    with pytest.raises(InvalidParameter, match="must be a file, a folder, or a list"):
        framework.load(3)


@pytest.fixture
def manual_pdf(tmp_path: Path) -> Path:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    return path


def test_chunks_and_hits_of_a_pdf_know_their_pages(
    framework: Any, manual_pdf: Path
) -> None:
    documents = framework.load(manual_pdf)
    chunks = framework.split(framework.splitter("ContentAware", 60), *documents)
    assert len({frozenset(one.metadata) for one in chunks}) == 1 and len(chunks) > 5
    again = framework.split(
        framework.splitter("ContentAware", 30), *(c.host for c in chunks)
    )
    question, best = "Details of item 3", []
    for name in ("MultiView", "Evidence", "D3"):
        limit = {} if name == "D3" else {"k": 30}
        retriever = framework.index(name, documents, embedding="lsa", **limit)
        results = framework.ask(retriever, question)
        best.append(max(results, key=lambda one: one.score).metadata["page_label"])
        for one in [*chunks, *again, *results]:
            first, _, last = one.metadata["page_label"].partition("-")
            named = re.findall(r"(?:item|Details of) (\d)", one.text)
            assert all(int(first) <= int(page) <= int(last or first) for page in named)
            assert "page_starts" not in one.metadata and one.metadata["pages"] == 5
    assert set(best) == {"3"}
    assert ", page 3, " in framework.call(retriever.as_tool(), query=question)


def test_the_pictures_of_a_pdf_become_files_when_asked(
    framework: Any, tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2")
    file, pictures = tmp_path / "pump.pdf", tmp_path / "pictures"
    file.write_bytes(made(pictured))
    (document,) = framework.load(file, images_to=pictures)
    (picture,) = pictures.iterdir()
    assert f"]({picture})" in framework.passage(document).text


# -- what others read


ELEMENTS: list[dict[str, Any]] = [
    {
        "type": "Title",
        "text": "Pump",
        "metadata": {"category_depth": 0, "filename": "pump.docx"},
    },
    {"type": "Title", "text": "Seal", "metadata": {"category_depth": 1}},
    {
        "type": "NarrativeText",
        "text": "The seal wears.",
        "metadata": {"page_number": 4},
    },
]


def test_elements_of_others_keep_their_places(framework: Any) -> None:
    placed = from_unstructured(ELEMENTS)
    document = framework.bridges.as_document(placed, team="a")
    assert document.metadata["team"] == "a"
    (*_, chunk) = framework.split(framework.splitter("ContentAware"), document)
    assert "Seal" in str(chunk.metadata["heading_path"])
    (hit,) = framework.ask(framework.index("Evidence", [document]), "What wears?")
    for one in (chunk, hit):
        assert placed.pages(one.start, one.end) == (4,)
        assert one.metadata["page_label"] == "4" and "page_starts" not in one.metadata


def test_pages_are_joined(framework: Any) -> None:
    pages = [
        framework.document(
            f"# {name}\n\ntext", **{framework.path_key: "m.pdf"}, page_label=str(n)
        )
        for n, name in enumerate("AB", start=1)
    ]
    alone = framework.document("x", id="7")
    whole, other = framework.passages(framework.bridges.join_pages([*pages, alone]))
    assert whole.text == "# A\n\ntext\n\n# B\n\ntext" and other.text == "x"
    starts = {"pages": 2, "page_starts": "0:1 11:2"}
    assert whole.metadata == {framework.path_key: "m.pdf", **starts}
    chunks = framework.split(framework.splitter("ContentAware"), whole.host)
    assert [one.metadata["page_label"] for one in chunks] == ["1", "2"]


# -- IDMS's enrichment of chunks that other splitters made


FEW = IDMSEnricher(low=0.15, high=0.3, growth=1.0, min_chunks=2, min_tokens=0)


def others(framework: Any, **metadata: Any) -> list[Any]:
    """A defining chunk, dull ones and dense ones."""
    chunks = dense_document()[1]
    return [framework.piece(chunk.text, chunk.start, **metadata) for chunk in chunks]


def test_chunks_of_any_splitter_are_shortened_and_explained(framework: Any) -> None:
    text, hosts = dense_document()[0].text, others(framework, source="a.md")
    before = [one.model_copy(deep=True) for one in hosts]
    enriched = framework.enrich(hosts, embedding=HashEmbedder(), enrich=FEW)
    assert hosts == before and len(enriched) == len(hosts)
    actions = {one.metadata["idms_action"] for one in enriched}
    assert {"reduced", "supplemented"} <= actions
    for old, new in zip(
        framework.passages(hosts), framework.passages(enriched), strict=True
    ):
        added = json.loads(new.metadata["idms_added"])
        for item in added:
            assert item["text"] in text[item["start"] : item["end"]]
            assert item["text"] not in old.text
        lines = "\n".join(item["text"] for item in added)
        body = new.metadata["idms_reduced"] or old.text
        assert framework.read(new).split() == f"{lines}\n{body}".split()


def test_chunks_are_compared_within_their_document(framework: Any) -> None:
    alone = framework.enrich(others(framework, source="a.md"))
    both = framework.enrich(
        [*others(framework, source="a.md"), *others(framework, source="b.md")]
    )
    texts = [framework.read(framework.passage(one)) for one in both]
    assert texts[: len(alone)] == [
        framework.read(framework.passage(one)) for one in alone
    ]
    # A second text without a name begins where a start does not rise.
    unnamed = framework.enrich([*others(framework), *others(framework)])
    assert [framework.read(framework.passage(one)) for one in unnamed] == texts


@pytest.mark.parametrize("enrich", ["none", "all", 3])
def test_what_is_no_enrichment_is_refused(framework: Any, enrich: Any) -> None:
    with pytest.raises(ValueError, match="enrich must be"):
        framework.enrich([], enrich=enrich)


def test_no_chunk_and_blank_chunks(framework: Any) -> None:
    assert framework.enrich([]) == []
    (blank,) = framework.enrich([framework.piece(" ")])
    assert framework.passage(blank).text == " "
