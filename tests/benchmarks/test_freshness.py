"""Which results are older than the code they speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import freshness

CORE = "from structrag.text.terms import terms\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one script, two rooms, and one module that no script imports."""
    files = {
        "shared/structrag/__init__.py": (
            "if TYPE_CHECKING:\n    from structrag.text.terms import terms\n"
        ),
        "shared/structrag/text/__init__.py": "",
        "shared/structrag/text/terms.py": "def terms(text):\n    return text.split()\n",
        "shared/structrag/text/other.py": "A = 1\n",
        "shared/structrag/index/__init__.py": "",
        "shared/structrag/index/index.py": CORE,
        "benchmarks/measure.py": (
            "from benchmarks.tables import table\nfrom structrag import terms\n"
        ),
        "benchmarks/tables.py": "def table():\n    from structrag.index import index\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(freshness, "ROOT", tmp_path)
    monkeypatch.setattr(freshness, "PLACES", {"structrag": tmp_path / "shared"})
    freshness.save(tmp_path / "a.md", "# A\n\n| 1 |\n", script(tmp_path))
    return tmp_path


def script(project: Path) -> str:
    return str(project / "benchmarks" / "measure.py")


def edit(project: Path, name: str, text: str) -> dict[str, str]:
    (project / name).write_text(text, encoding="utf-8")
    return freshness.stale(project)


def test_a_result_is_fresh_until_code_that_it_speaks_of_changes(project: Path) -> None:
    assert freshness.stale(project) == {}
    terms = "shared/structrag/text/terms.py"
    same = 'def terms(text):\n    """Words."""\n    # by white space\n    return text.split()\n'
    assert edit(project, terms, same) == {}
    assert edit(project, "shared/structrag/text/other.py", "A = 2\n") == {}
    changed = edit(project, terms, "def terms(text):\n    return text.split(' ')\n")
    assert changed == {"a.md": "changed since: text"}
    changed = edit(project, "shared/structrag/index/index.py", CORE + "B = 1\n")
    assert changed == {"a.md": "changed since: index, text"}
    freshness.save(project / "a.md", "# A\n", script(project))
    assert freshness.stale(project) == {}


def test_a_script_and_what_it_imports_in_functions_count(project: Path) -> None:
    changed = edit(project, "benchmarks/tables.py", "def table():\n    return 1\n")
    assert changed == {"a.md": "changed since: benchmarks, index"}


def test_a_result_that_does_not_say_its_code_is_named(project: Path) -> None:
    (project / "b.md").write_text("# B\n", encoding="utf-8")
    why = "does not say what code it was made by"
    assert freshness.stale(project) == {"b.md": why}


def test_a_page_has_its_digests_once_and_parts_have_their_own(project: Path) -> None:
    page = (project / "a.md").read_text(encoding="utf-8")
    assert page.startswith("# A\n\n| 1 |\n\n<!-- code of benchmarks/measure.py: ")
    assert freshness.stamped(page, script(project)) == page
    parts = page + freshness.stamped("# C\n", script(project))
    assert freshness.changed(parts) == []
    edit(project, "benchmarks/measure.py", "C = 3\n")
    fresh = freshness.stamped("# C\n", script(project))
    assert freshness.changed(page + fresh) == [
        "benchmarks",
        "index",
        "structrag",
        "text",
    ]


def test_every_script_of_results_says_its_code() -> None:
    """Each script that the page of results names imports what stamps it."""
    from benchmarks.evaluation import COMMANDS

    for command in COMMANDS.values():
        name = command.split()[0]
        if "integrations/" in name:
            continue  # prints tables, of which a page is put together
        code = (freshness.ROOT / name).read_text(encoding="utf-8")
        assert "benchmarks.freshness import" in code or "run_parts" in code, name
