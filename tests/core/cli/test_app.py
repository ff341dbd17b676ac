"""The command line: what it prints, as text and as JSON, and what it says about mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_running import run
from fixture_cases import examples


@examples
def test_mistakes_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str],
    manual: Path,
    arguments: list[str],
    sentence: str,
) -> None:
    code, out, err = run(
        capsys,
        *[str(manual) if argument == "MANUAL" else argument for argument in arguments],
    )
    assert code == 2
    assert sentence in err and "Traceback" not in err and not out


def test_a_missing_extra_is_the_users_to_mend(
    capsys: pytest.CaptureFixture[str], manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    code, out, err = run(capsys, "mcp", manual.parent)
    assert code == 2 and "structrag[mcp]" in err and not out


def test_an_interruption_before_a_command_begins_is_quiet(
    capsys: pytest.CaptureFixture[str], manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("structrag.cli.require", interrupted)
    assert run(capsys, "outline", manual) == (130, "", "")


@pytest.mark.slow
def test_the_package_runs_as_a_module(manual: Path) -> None:
    command = [sys.executable, "-m", "structrag", "outline", str(manual), "--json"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert [json.loads(line)["path"] for line in result.stdout.splitlines()][1] == [
        "Pump"
    ]
    failed = subprocess.run(
        [*command[:3], "split", "absent"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert failed.returncode == 2 and "Cannot read 'absent'" in failed.stderr


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="the system has no full device"
)
def test_what_the_system_refuses_is_one_sentence(manual: Path) -> None:
    command = [sys.executable, "-m", "structrag", "outline", str(manual)]
    with open("/dev/full", "w", encoding="utf-8") as full:
        failed = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False
        )
    assert failed.returncode and "structrag: [Errno 28]" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_paragraphs_of_the_help_are_filled(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "view", "--help")
    assert "sentences of the evidence match" in " ".join(out.split())
    paragraph = out[out.index("It has the outline") : out.index("word by")]
    lengths = [len(line.strip()) for line in paragraph.splitlines()[:-1]]
    assert min(lengths) > 60
