"""Elements of Unstructured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from structrag import parse
from structrag.errors import InvalidParameter
from structrag.reading.bridges.unstructured import from_unstructured


def element(kind: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "element_id": "0", "text": text, "metadata": metadata}


TABLE = (
    "<table><tr><th>Part</th><th>Weight</th></tr><tr><td>Rotor &amp; co</td><td>2<br>kg</td></tr>"
    "</table>"
)
ELEMENTS = [
    element("Header", "Acme", page_number=1, filename="pump.docx"),
    element("Title", "Pump", category_depth=0, page_number=1),
    element("Title", "Seal", category_depth=1, page_number=1),
    element("NarrativeText", "It wears.", page_number=2,
            coordinates={"points": [[1, 2], [1, 9], [5, 9], [5, 2]], "system": "PixelSpace"}),
    element("ListItem", "Open it.", category_depth=1),
    element("CodeSnippet", "run()"),
    element("Table", "Part Weight", text_as_html=TABLE),
    element("Table", "no markup"),
    element("PageBreak", ""),
]  # fmt: skip
EXPECTED = """# Pump

## Seal

It wears.

- Open it.

```
run()
```

| Part | Weight |
|---|---|
| Rotor & co | 2 kg |

no markup
"""


def test_elements_become_markdown() -> None:
    placed = from_unstructured(ELEMENTS)
    document = placed.document
    assert document.text == EXPECTED
    assert (document.id, document.title) == ("pump.docx", "Pump")
    assert document.meta == {
        "source": "pump.docx",
        "pages": 2,
        "page_starts": "0:1 17:2",
    }
    assert parse(document).sections[-1].path == ("Pump", "Seal")
    start = document.text.index("It wears")
    assert placed.pages(start, start + 2) == (2,)
    assert placed.at(start, start + 2)[0].box == (1.0, 2.0, 5.0, 9.0)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("1. Open it", "1. Open it"),
        ("2) Rinse it", "2) Rinse it"),
        ("- Dry it", "- Dry it"),
        ("1.5 litres", "- 1.5 litres"),
    ],
)
def test_items_that_bring_their_marks_have_one(text: str, item: str) -> None:
    assert from_unstructured([element("ListItem", text)]).document.text == f"{item}\n"


def test_objects_are_read_by_their_dicts() -> None:
    objects = [
        SimpleNamespace(to_dict=lambda record=record: record) for record in ELEMENTS
    ]
    assert from_unstructured(objects).document == from_unstructured(ELEMENTS).document
    own = from_unstructured(ELEMENTS, id="a", title="b", meta={"c": 1}).document
    assert (own.id, own.title, own.meta["c"]) == ("a", "b", 1)


def test_what_is_no_element_is_refused() -> None:
    with pytest.raises(
        InvalidParameter, match="elements must hold elements of Unstructured"
    ):
        from_unstructured(["text"])


def test_the_packages_own_elements_are_read() -> None:
    elements = pytest.importorskip(
        "unstructured.documents.elements", reason="unstructured is not installed"
    )
    metadata = elements.ElementMetadata(page_number=3, category_depth=0)
    title = elements.Title("Pump", metadata=metadata)
    placed = from_unstructured([title, elements.NarrativeText("It leaks.")])
    assert (
        placed.document.text == "# Pump\n\nIt leaks.\n" and placed.places[0].page == 3
    )


@pytest.mark.parametrize(
    ("kind", "text", "metadata", "expected"),
    [
        ("Title", "A  b", {}, "# A b\n"),
        ("Title", "A", {"category_depth": 2}, "### A\n"),
        ("ListItem", "A", {}, "- A\n"),
        ("ListItem", "A", {"category_depth": 1}, "- A\n"),
        ("ListItem", "A", {"category_depth": 3}, "    - A\n"),
        ("ListItem", "2) A", {"category_depth": 2}, "  2) A\n"),
        ("ListItem", "A 2) b", {}, "- A 2) b\n"),
        ("Code", "a", {}, "```\na\n```\n"),
        ("NarrativeText", " \n", {}, ""),
        ("Footer", "A", {}, ""),
        ("PageNumber", "2", {}, ""),
    ],
)
def test_each_type_has_its_markdown(
    kind: str, text: str, metadata: dict[str, Any], expected: str
) -> None:
    assert (
        from_unstructured([element(kind, text, **metadata)]).document.text == expected
    )


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<tr><td>a<td>b<tr><td>c", "| a | b |\n|---|---|\n| c |  |\n"),
        ("<td>a</td>", "| a |\n|---|\n"),
        ("<tr></tr><tr><td>a</td></tr>", "| a |\n|---|\n"),
        ("x<tr>y<td>a</td>z</tr><p>v", "| a |\n|---|\n"),
        ("<tr><td>a</tr>x</table>y", "| a |\n|---|\n"),
        ("<tr><th>a</th>x<th>b</th>", "| a | b |\n|---|---|\n"),
        ("<p>no cells</p>", "words\n"),
    ],
)
def test_tables_of_html_by_example(markup: str, expected: str) -> None:
    elements = [element("Table", "words", text_as_html=markup)]
    assert from_unstructured(elements).document.text == expected


def test_a_box_spans_all_points() -> None:
    points = [[3, 8], [7, 2], [5, 9]]
    coordinates = ({"points": points}, {"points": []}, None)
    elements = [
        element("Text", "a", page_number=4, coordinates=box) for box in coordinates
    ]
    places = from_unstructured(elements).places
    assert [place.box for place in places] == [(3.0, 2.0, 7.0, 9.0), None, None]
    assert [place.page for place in places] == [4, 4, 4]
    assert from_unstructured([element("Text", "a")]).places == ()


def test_the_first_names_count() -> None:
    document = from_unstructured(
        [
            element("Text", "a"),
            element("Title", "B", filename="f"),
            element("Title", "C", filename="g"),
        ]
    ).document
    assert (document.id, document.title) == ("f", "B")
    assert from_unstructured([element("Text", "a")]).document.title == ""


@pytest.mark.parametrize("record", [{"type": "Text"}, {"text": "a"}, 3, None])
def test_a_record_has_a_type_and_a_text(record: Any) -> None:
    with pytest.raises(InvalidParameter, match="elements must hold"):
        from_unstructured([record])
