"""Documents of docling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples

from structrag import ContentAwareSplitter, parse
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.bridges.docling import from_docling


def prov(
    page: int, left: float, top: float, right: float, bottom: float
) -> list[dict[str, Any]]:
    box = {"l": left, "t": top, "r": right, "b": bottom, "coord_origin": "BOTTOMLEFT"}
    return [{"page_no": page, "bbox": box, "charspan": [0, 1]}]


def text(number: int, label: str, words: str, **more: Any) -> dict[str, Any]:
    return {"self_ref": f"#/texts/{number}", "label": label, "text": words, **more}


def ref(*names: str) -> list[dict[str, str]]:
    return [{"$ref": f"#/{name}"} for name in names]


def manual() -> dict[str, Any]:
    cells = [["Part", "Weight"], ["Rotor", "2 kg"]]
    return {
        "schema_name": "DoclingDocument",
        "name": "manual",
        "origin": {"filename": "manual.docx", "mimetype": "application/docx"},
        "body": {
            "children": ref("texts/0", "texts/1", "groups/0", "tables/0", "texts/8")
        },
        "groups": [
            {"label": "list", "children": ref("texts/4", "texts/5")},
            {"label": "inline", "children": ref("texts/6", "texts/7")},
        ],
        "texts": [
            text(0, "title", "Pump manual", prov=prov(1, 10, 790, 200, 770)),
            # headings of pages of HTML hold what stands below them
            text(
                1,
                "section_header",
                "Cleaning",
                level=1,
                children=ref("texts/2", "texts/3"),
            ),
            text(
                2, "text", "Rinse it. # Not a heading", prov=prov(1, 10, 700, 200, 650)
            ),
            text(
                3,
                "section_header",
                "Filter",
                level=2,
                children=ref("groups/1", "texts/9"),
            ),
            text(4, "list_item", "Open it.", enumerated=True, marker="1."),
            text(5, "list_item", "Shut it.", enumerated=False, marker="-"),
            text(6, "text", "Use"),
            text(7, "text", "water."),
            text(8, "page_footer", "Page 1", content_layer="furniture"),
            text(9, "code", "run()"),
            text(10, "caption", "Table 1: Weights."),
        ],
        "tables": [
            {
                "label": "table",
                "captions": ref("texts/10"),
                "prov": prov(2, 10, 700, 200, 600),
                "data": {"grid": [[{"text": cell} for cell in row] for row in cells]},
            }
        ],
        "pictures": [],
        "pages": {
            "1": {"size": {"width": 600, "height": 800}, "page_no": 1},
            "2": {"size": {"height": 800}},
        },
    }


EXPECTED = """# Pump manual

## Cleaning

Rinse it. # Not a heading

### Filter

Use water.

```
run()
```

1. Open it.

- Shut it.

Table 1: Weights.

| Part | Weight |
| --- | --- |
| Rotor | 2 kg |
"""


def test_structure_becomes_markdown() -> None:
    document = from_docling(manual()).document
    assert document.text == EXPECTED
    assert (document.id, document.title) == ("manual.docx", "Pump manual")
    assert document.meta == {
        "source": "manual.docx",
        "pages": 2,
        "page_starts": "0:1 138:2",
    }
    paths = [section.path for section in parse(document).sections[1:]]
    assert paths[-1] == ("Pump manual", "Cleaning", "Filter")
    kinds = {
        block.kind
        for section in parse(document).sections
        for block in parse(document).blocks(section)
    }
    assert {"table", "code", "list"} <= kinds


def test_chunks_lead_to_pages_and_boxes() -> None:
    placed = from_docling(manual())
    chunks = ContentAwareSplitter(max_tokens=20, context=False).split(placed.document)
    pages = {page for chunk in chunks for page in placed.pages(chunk.start, chunk.end)}
    assert pages == {1, 2}
    start = placed.document.text.index("Rinse")
    (place,) = placed.at(start, start + 5)
    assert place.page == 1 and place.box == (10.0, 100.0, 200.0, 150.0)  # from above


@pytest.mark.parametrize("wrong", [3, {}, {"body": 1}, None])
def test_what_is_no_document_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="document must be a DoclingDocument"):
        from_docling(wrong)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    for name in ("a.json", "none.json"):
        with pytest.raises(InvalidDocument, match="is not a docling JSON file"):
            from_docling(tmp_path / name)


def test_references_to_nothing_are_passed_over() -> None:
    content = manual()
    content["body"]["children"] = ref("texts/99", "none/0", "texts/2")
    assert from_docling(content).document.text == "Rinse it. # Not a heading\n"


def test_the_packages_own_documents_are_read() -> None:
    types = pytest.importorskip(
        "docling_core.types.doc", reason="docling-core is not installed"
    )
    document = types.DoclingDocument(name="pump")
    document.add_title("Pump")
    document.add_heading("Cleaning", level=1)
    document.add_text(label=types.DocItemLabel.TEXT, text="Rinse it.")
    data = types.TableData(num_rows=1, num_cols=2)
    data.add_row(["a", "b"])
    document.add_table(data=data)
    text = from_docling(document).document.text
    assert (
        text.startswith("# Pump\n\n## Cleaning\n\nRinse it.\n") and "| a | b |" in text
    )


def test_words_in_several_styles_stay_in_their_item() -> None:
    content = manual()
    content["body"]["children"] = ref("texts/4", "texts/1")
    content["texts"][4] |= {"text": "", "children": ref("groups/1")}
    content["texts"][1] |= {"text": "", "children": ref("groups/1", "texts/2")}
    text = from_docling(content).document.text
    assert text == "1. Use water.\n\n## Use water.\n\nRinse it. # Not a heading\n"


def test_a_title_outside_of_the_text_names_the_document() -> None:
    content = manual()
    content["texts"][0]["content_layer"] = "furniture"
    document = from_docling(content).document
    assert document.title == "Pump manual" and document.text.startswith("# Cleaning")


def markdown_of(*nodes: dict[str, Any], **content: Any) -> str:
    """The text of a document with these nodes in its body."""
    names = [f"texts/{number}" for number in range(len(nodes))]
    body = {"children": ref(*names)}
    return from_docling({"body": body, "texts": list(nodes), **content}).document.text


@examples
def test_each_label_has_its_markdown(node: dict[str, Any], expected: str) -> None:
    assert markdown_of(node) == expected


def test_runs_of_styles_are_one_paragraph_with_all_their_places() -> None:
    content = {
        "body": {"children": ref("groups/0")},
        "groups": [
            {"label": "inline", "children": ref("texts/0", "texts/1", "texts/2")}
        ],
        "texts": [
            {"label": "text", "text": "Use", "prov": [{"page_no": 1}]},
            {"label": "text", "text": "", "prov": [{"page_no": None}]},
            {"label": "text", "text": "water.", "prov": [{"page_no": 2}]},
        ],
    }
    placed = from_docling(content)
    assert placed.document.text == "Use water.\n"
    assert [(place.page, place.box) for place in placed.places] == [
        (1, None),
        (2, None),
    ]


def test_a_document_without_a_title_begins_at_level_one(tmp_path: Path) -> None:
    content = manual()
    content["texts"][0]["label"] = "text"
    path = tmp_path / "manual.json"
    path.write_text(json.dumps(content))
    document = from_docling(path, id="m", meta={"team": "a"}).document
    assert "\n# Cleaning" in document.text and document.title == "manual"
    assert document.id == "m" and document.meta["team"] == "a"


def test_a_caption_stands_once() -> None:
    content = manual()
    content["pictures"] = [{"label": "picture", "captions": ref("texts/10")}]
    content["body"]["children"] = ref("pictures/0", "texts/10", "tables/0")
    assert from_docling(content).document.text.count("Table 1") == 1
