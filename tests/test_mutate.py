"""`scripts/mutate.py` and `scripts/forked.py`: small changes of modules, and who notices."""

from __future__ import annotations

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
    """A core of one module, its tests, and the scripts."""
    files = {
        "shared/structrag/__init__.py": "",
        "shared/structrag/half.py": HALF,
        "tests/check.txt": "tests/core",
        "tests/core/test_half.py": TEST,
        "scripts/mutate.py": Path(mutate.__file__).read_text(encoding="utf-8"),
        "scripts/forked.py": Path(forked.__file__).read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "CORE", tmp_path / "shared" / "structrag")
    return tmp_path / "shared" / "structrag"


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


def run(core: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(core.parents[1] / "scripts" / "mutate.py")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True)


def test_who_notices_which_change(core: Path) -> None:
    """Changes within functions, one that never ends, and one at import."""
    done = run(core, "--module", "half", "--seed", "2")
    lines = [line for line in done.stdout.splitlines() if " half.py:" in line]
    survivors = {line.split("half.py:")[1] for line in lines if "survived" in line}
    assert len(lines) == 11
    assert all("  ->  " in line for line in lines)
    assert survivors <= {
        "3: 10  ->  11",
        "6: 1  ->  0",
        "6: 1  ->  2",
        "8: number < LIMIT  ->  number <= LIMIT",
        "18: number + 1  ->  number - 1",  # no test runs it
        "18: 1  ->  2",
        "18: 1  ->  0",
        "22: 0  ->  1",
        "23: 1  ->  2",
    }
    assert "18: number + 1  ->  number - 1" in survivors
    assert (core / "half.py").read_text(encoding="utf-8") == HALF


def test_tests_that_fail_anyway_are_no_verdict(core: Path) -> None:
    (core.parents[1] / "tests/core/test_no.py").write_text(
        "from structrag.half import half\n\n\ndef test_no():\n    assert half(8) == 1\n",
        encoding="utf-8",
    )
    done = run(core, "--number", "1")
    assert "fails with the core as it is: tests/core/test_no.py::test_no" in done.stderr
    assert "test_no.py" not in done.stdout


def test_a_module_that_is_not_there_is_said() -> None:
    script = Path(mutate.__file__)
    command = [sys.executable, str(script), "--list", "--module", "text/nothing"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == (
        "--module must be a module or a folder of the core, such as index/dense; "
        "got text/nothing\n"
    )
