import json

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.data.notebook import to_markdown
from structrag.reading.markdown import markdown_headings


def notebook(*cells, **facts):
    return json.dumps({"nbformat": 4, "metadata": facts, "cells": list(cells)}).encode()


def test_cells_become_markdown_with_their_places():
    draft = to_markdown(
        notebook(
            {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
            {
                "cell_type": "code",
                "source": '# no heading\nprint("```")',
                "outputs": [
                    {"output_type": "stream", "text": ["```\n"]},
                    {"data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                    {"output_type": "error", "traceback": ["\x1b[31mBad\x1b[0m"]},
                ],
            },
            {"cell_type": "raw", "source": "# raw"},
            {"cell_type": "markdown", "source": "## Part"},
            kernelspec={"language": "python"},
        )
    )
    assert [(h.level, h.title) for h in markdown_headings(draft.text)] == [
        (1, "Title"),
        (2, "Part"),
    ]
    assert '````python\n# no heading\nprint("```")\n````' in draft.text
    assert "Bad" in draft.text and "\x1b" not in draft.text
    assert "AAAA" not in draft.text
    assert draft.uncertain == ("1 image of outputs left out.",)
    places = {label: draft.text[start:] for start, label in draft.places}
    assert places["cell 4"] == "## Part\n"


def test_an_open_fence_ends_with_its_cell():
    draft = to_markdown(
        notebook(
            {"cell_type": "markdown", "source": "~~~~\ncode"},
            {"cell_type": "markdown", "source": "# After"},
        )
    )
    assert [each.title for each in markdown_headings(draft.text)] == ["After"]


def test_version_3_has_worksheets_and_heading_cells():
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Pumps"]},
        {"cell_type": "code", "language": "python", "input": ["x = 1"], "outputs": []},
    ]
    draft = to_markdown(json.dumps({"worksheets": [{"cells": cells}]}).encode())
    assert draft.text == "## Pumps\n\n```python\nx = 1\n```\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b'{"cells": 1}',
        b"[" * 200_000,
        b"%PDF-1.7",
    ],
)
def test_what_is_no_notebook_is_refused_by_name(data):
    with pytest.raises(InvalidDocument, match=r"study\.ipynb"):
        to_markdown(data, "study.ipynb")


@pytest.mark.parametrize("cell", [None, 5, {}, {"cell_type": "code", "outputs": 3}])
def test_odd_cells_do_no_harm(cell):
    assert to_markdown(notebook(cell)).text == ""
