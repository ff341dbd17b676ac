"""Elements of Unstructured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples

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
| --- | --- |
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


@examples
def test_each_type_has_its_markdown(
    kind: str, text: str, metadata: dict[str, Any], expected: str
) -> None:
    assert (
        from_unstructured([element(kind, text, **metadata)]).document.text == expected
    )


@examples
def test_tables_of_html_by_example(markup: str, expected: str) -> None:
    elements = [element("Table", "words", text_as_html=markup)]
    assert from_unstructured(elements).document.text == expected


@examples
def test_a_record_has_a_type_and_a_text(record: Any) -> None:
    with pytest.raises(InvalidParameter, match="elements must hold"):
        from_unstructured([record])
