"""The tables of stores and loaders say what those do that are installed."""

from __future__ import annotations

import warnings

import pytest
from places import DATA, ROOT

from benchmarks.integrations import elements, loaders, stores

RESULTS = ROOT / "benchmarks" / "results" / "integrations.md"


def documented(framework: str) -> dict[str, list[str]]:
    """The rows of a framework's table, by store."""
    page = RESULTS.read_text(encoding="utf-8")
    table = page.partition(f"**{framework}**\n\n")[2].partition("\n\n")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
    ]
    assert rows[0] == ["store", *stores.COLUMNS]
    return {name: cells for name, *cells in rows[2:]}


@pytest.mark.slow
@pytest.mark.parametrize("framework", stores.TABLES)
def test_the_table_is_what_stores_do(framework: str) -> None:
    expected = documented(framework)
    tried = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the stores, at their own settings
        for name, cells in stores.TABLES[framework]():
            if cells[0].startswith("left out: "):
                continue
            assert cells == expected[name], name
            tried.append(name)
    assert tried[0] in ("InMemoryVectorStore", "SimpleVectorStore")
    assert set(tried) <= set(expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_table_is_what_loaders_leave() -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    page = RESULTS.read_text(encoding="utf-8")
    for name, cells in loaders.rows():
        if not cells[0].startswith("left out: "):
            assert f"\n| {name} | {' | '.join(cells)} |\n" in page


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no evaluation data at {DATA}")
def test_the_table_is_what_elements_become() -> None:
    pytest.importorskip("unstructured", reason="unstructured is not installed")
    pytest.importorskip(
        "en_core_web_sm", reason="spaCy's model, which Unstructured asks, is missing"
    )
    pytest.importorskip("docx", reason="python-docx is not installed")
    pytest.importorskip("pptx", reason="python-pptx is not installed")
    page = RESULTS.read_text(encoding="utf-8")
    for name, cells in elements.rows():
        assert f"\n| {name} | {' | '.join(cells)} |\n" in page
