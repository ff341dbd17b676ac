"""`scripts/mutate.py` and `scripts/forked.py`: small changes of modules, and who notices."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import forked
import mutate
import pytest

HALF = '''"""Numbers cut into halves."""

LIMIT = 10


def half(number, least=1):
    """The half of a number below the limit."""
    if number < LIMIT:
        return max(number // 2, least)
    return None


class Halves:
    def all(self, numbers):
        return [half(n) for n in numbers if n > 0]

    def unused(self, number):
        return number + 1


def endless(number):
    while number > 0:
        number -= 1
    return number
'''
TEST = """import pytest
from structrag.half import Halves, endless, half


@pytest.mark.parametrize("number", [4, 9])
def test_half(number):
    assert half(number) in (2, 4)


def test_of_several():
    assert Halves().all([-2, 0, 4]) == [2]


def test_an_end():
    assert endless(3) == 0
"""


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A core of one module, and the tests of that module."""
    files = {
        "core/structrag/__init__.py": "",
        "core/structrag/half.py": HALF,
        "tests/core/test_half.py": TEST,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "CORE", tmp_path / "core" / "structrag")
    monkeypatch.setattr(mutate, "TESTS", tmp_path / "tests" / "core")
    return tmp_path / "core" / "structrag"


def test_every_place_has_its_changes(core: Path) -> None:
    changes = mutate.mutations_of(core / "half.py")
    assert {(m.line, m.before, m.after) for m in changes if m.line <= 9} == {
        (3, "10", "11"),
        (3, "10", "9"),
        (6, "1", "2"),
        (6, "1", "0"),
        (8, "number < LIMIT", "number <= LIMIT"),
        (8, "number < LIMIT", "number >= LIMIT"),
        (9, "2", "3"),
        (9, "2", "1"),
    }


def test_a_sample_has_one_change_a_place_and_is_the_same_again(core: Path) -> None:
    sample = mutate.drawn(5, seed=3)
    assert len({(m.start, m.end) for m in sample}) == 5
    assert mutate.drawn(5, seed=3) == sample


@pytest.mark.parametrize(
    ("line", "text", "place"),
    [
        (3, "10", None),  # runs at import
        (6, "1", None),  # a default, too
        (8, "number <", forked.Place("half", 6, range(8, 9))),
        (9, "2", forked.Place("half", 6, range(9, 10))),
        (15, "n >", forked.Place("all", 14, range(15, 16))),
        (22, "number >", forked.Place("endless", 21, range(22, 23))),
    ],
)
def test_places_of_expressions(
    line: int, text: str, place: forked.Place | None
) -> None:
    column = HALF.splitlines()[line - 1].index(text)
    assert forked.place_of(ast.parse(HALF), line, column) == place


def test_a_decorator_begins_the_code_and_runs_at_import() -> None:
    source = (
        "@cache(size=3)\ndef f(x):\n    def g(y):\n        return y + 1\n    return g\n"
    )
    tree = ast.parse(source)
    assert forked.place_of(tree, 1, 12) is None
    assert forked.place_of(tree, 4, 19) == forked.Place("f", 1, range(4, 5))


def test_who_notices_which_change(core: Path) -> None:
    """In one process: changes within functions, one that never ends, and one at import."""
    wanted = {
        "number < LIMIT -> number >= LIMIT": True,
        "number < LIMIT -> number <= LIMIT": False,
        "2 -> 3": True,
        "n > 0 -> n >= 0": True,  # max(0 // 2, 1) would be 1
        "number + 1 -> number - 1": False,  # no test runs it
        "10 -> 9": True,
        "10 -> 11": False,
    }
    changes = {
        f"{m.before} -> {m.after}": m for m in mutate.mutations_of(core / "half.py")
    }
    chosen = [changes[name] for name in wanted]
    own_file = mutate.TESTS / "test_half.py"
    assert mutate.killers(chosen, timeout=60) == [
        own_file if noticed else None for noticed in wanted.values()
    ]
    assert (core / "half.py").read_text(encoding="utf-8") == HALF


def test_a_loop_that_does_not_end_is_noticed(core: Path) -> None:
    changes = mutate.mutations_of(core / "half.py")
    (endless,) = [m for m in changes if (m.line, m.after) == (23, "0")]
    assert endless.before == "1"  # `number -= 0`
    assert mutate.killers([endless], timeout=60) == [mutate.TESTS / "test_half.py"]


def test_tests_that_fail_anyway_are_no_verdict(core: Path) -> None:
    test_file = mutate.TESTS / "test_half.py"
    test_file.write_text("def test_no():\n    assert False\n", encoding="utf-8")
    changes = mutate.mutations_of(core / "half.py")[:1]
    with pytest.raises(SystemExit, match=r"test_half\.py fails with the core as it is"):
        mutate.killers(changes, timeout=60)


def test_the_list_of_changes_is_printed() -> None:
    script = Path(mutate.__file__)
    run = subprocess.run(
        [sys.executable, str(script), "--list", "--module", "text/names"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "text/names.py:" in run.stdout
    assert all("  ->  " in line for line in run.stdout.splitlines())


def test_a_module_that_is_not_there_is_said() -> None:
    script = Path(mutate.__file__)
    command = [sys.executable, str(script), "--list", "--module", "text/nothing"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == (
        "--module must be a module or a folder of the core, such as index/dense; "
        "got text/nothing\n"
    )


def test_a_share_has_its_interval() -> None:
    assert mutate.share(64, 100) == "64 of 100: 64%, 95% interval 54% to 73%"
    assert mutate.wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
