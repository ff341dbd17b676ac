"""`scripts/house.py` on a small tree that breaks each rule once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import house
import pytest
import rooms

ROOT = Path(__file__).resolve().parent.parent
TERMS = '''"""Terms of a text."""

__all__ = ["Counter", "Shown"]


class Counter:
    """Counts the terms of a text.

    More of it.
    """

    limit: int = 3

    def count(self, text, limit=3):
        return self.counted(text, limit)


class Shown:
    """Shows.

    Example:
        >>> Shown()
    """


def branching(x):
    # a comment
    found = [y for y in x if y and y > 1 or y < 0]
    for index in range(3):
        while index:
            index -= 1 if found else 2
    if x:
        return 1
    elif found:
        return 2
    try:
        return max(y for y in x)
    except ValueError:
        return 0
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "shared/structrag/__init__.py": "",
        "shared/structrag/errors.py": "x = 1\n",
        "shared/structrag/text/__init__.py": "",
        "shared/structrag/text/terms.py": TERMS,
        "shared/structrag/text/words.py": "from structrag.text import letters\n",
        "shared/structrag/text/letters.py": (
            "def late():\n    from structrag.text import words\n"
            "    from structrag.index.store import Store\n    return words, Store\n"
        ),
        "shared/structrag/index/__init__.py": "",
        "shared/structrag/index/store.py": f"Store = {'1' * 100}\n",
        "langchain_structrag/__init__.py": "",
        "llama_index_structrag/__init__.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def terms(tree: Path) -> rooms.Source:
    return rooms.Source(tree / "shared/structrag/text/terms.py", tree)


def test_arrows_and_circles_are_seen_inside_functions_too(tree: Path) -> None:
    everything = rooms.sources(tree)
    assert [(place.line, place.what) for place in rooms.arrows_back(everything)] == [
        (3, "imports structrag.index.store")
    ]
    assert [place.what for place in rooms.circles(everything)] == [
        "structrag.text.letters",
        "structrag.text.words",
    ]
    assert [place.what for place in rooms.top_level_modules(everything)] == [
        "__init__",
        "errors",
    ]


def test_complexity_counts_statements_and_expressions(tree: Path) -> None:
    # 1, the comprehension with its `if` (2), `and` and `or` (2), for, while, the conditional,
    # if, elif, except, and the second comprehension
    (place,) = house.complex_functions(terms(tree))
    assert (place.what, place.size) == ("branching: 12", 12)


def test_vague_names_long_lines_and_examples(tree: Path) -> None:
    everything = rooms.sources(tree)
    assert sorted(place.what for place in house.local_names(terms(tree))) == [
        "found",
        "index",
        "y",
    ]
    assert [place.what for place in house.classes_without_example(everything)] == [
        "Counter"
    ]
    (store,) = [source for source in everything if source.path.name == "store.py"]
    assert [place.what for place in house.long_lines(store)] == ["108 characters"]


def test_the_command_prints_a_table_and_places(tree: Path) -> None:
    def run(*arguments: str) -> str:
        command = [
            sys.executable,
            str(ROOT / "scripts/house.py"),
            "--root",
            str(tree),
            *arguments,
        ]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout

    shown = run("--worst", "--room", "text")
    assert "vague names among local ones" in shown
    assert "shared/structrag/text/terms.py:26: branching: 12" in shown
    assert "store.py" not in shown
    (row,) = [line for line in run().splitlines() if line.startswith("text ")]
    assert row.split()[1:3] == ["137", "0"]
    with pytest.raises(subprocess.CalledProcessError):
        run("--room", "nowhere")


def test_the_budget_holds_by_room_and_in_all(tree: Path, capsys: Any) -> None:
    def check(write: bool = False) -> tuple[int, str]:
        status = house.check_budget(tree, rooms.sources(tree), write)
        told = capsys.readouterr()
        return status, told.out + told.err

    def change(before: str, after: str) -> None:
        text = budget.read_text(encoding="utf-8")
        assert before in text
        budget.write_text(text.replace(before, after), encoding="utf-8")

    budget = tree / "house.toml"
    assert check()[0] == 1  # without a budget nothing is allowed
    assert check(write=True) == (
        0,
        "143 tokens of at most 10,143; benchmarks apart: 0 of 0\n",
    )
    assert check()[0] == 0
    (tree / "benchmarks").mkdir()
    (tree / "benchmarks/new.py").write_text("x = 1\n", encoding="utf-8")
    assert "benchmarks has 3 tokens, 3 more than house.toml allows" in check()[1]
    change("benchmarks = 0", "benchmarks = 3")
    store = tree / "shared/structrag/index/store.py"
    store.write_text("Store = 1\nother = 2\n", encoding="utf-8")
    status, told = check()
    assert status == 1 and "index has 6 tokens, 3 more" in told
    change("index = 3", "index = 6")  # from what is left below the ceiling
    assert check()[0] == 0
    change("ceiling = 10_143", "ceiling = 145")
    assert "add up to 146, 1 more than the ceiling" in check()[1]
    change("text = 137", "text = 136")  # a room whose number is too small now
    assert "text has 137 tokens, 1 more" in check()[1]
    store.unlink()
    assert check(write=True)[0] == 0
    assert house.read_budget(tree)["ceiling"] == 145  # it never rises
