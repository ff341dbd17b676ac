"""The command split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import MANUAL, run
from pdf_making import made, pictured

from structrag import read_file


@pytest.mark.parametrize("method", ["content_aware", "fixed", "hiqa", "idms", "pic"])
def test_split_json_quotes_the_document(
    capsys: pytest.CaptureFixture[str], manual: Path, method: str
) -> None:
    _, out, _ = run(
        capsys, "split", manual, "--json", "--method", method, "--max-tokens", 12
    )
    chunks = [json.loads(line) for line in out.splitlines()]
    assert "".join(chunk["text"] for chunk in chunks) == read_file(manual).text
    assert all(
        MANUAL[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks
    )


def test_split_by_length_says_where_a_chunk_begins(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    manual.write_text(f"Before.\n\n{MANUAL}", encoding="utf-8")
    _, out, _ = run(capsys, "split", manual, "--method", "fixed", "--max-tokens", 12)
    heads = [line.split("  ")[1] for line in out.splitlines() if line.startswith("──")]
    assert heads == [
        "(no heading)",
        "(begins under Pump > Cleaning)",
        "(begins under Pump > Storage)",
    ]
    _, out, _ = run(capsys, "split", manual, "--method", "fixed", "--json")
    assert json.loads(out.splitlines()[0])["path"] == []


def test_chunks_are_numbered_from_one_with_their_places(
    capsys: pytest.CaptureFixture[str], manual: Path
) -> None:
    code, out, err = run(capsys, "split", manual, "--max-tokens", 12)
    heads = [line for line in out.splitlines() if line.startswith("──")]
    assert code == 0 and err == ""
    assert [head.split("  ")[0] for head in heads] == [
        f"── {number}" for number in range(1, len(heads) + 1)
    ]
    assert heads[0].startswith("── 1  Pump  [0:") and "about " in heads[0]
    _, out, _ = run(capsys, "split", manual, "--method", "idms", "--max-tokens", 12)
    assert "(begins under" not in out


def test_split_writes_the_pictures_of_a_pdf(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "pump.pdf").write_bytes(made(pictured))
    pictures = tmp_path / "pictures"
    _, out, _ = run(capsys, "split", tmp_path / "pump.pdf", "--images-to", pictures)
    (picture,) = pictures.iterdir()
    assert f"]({picture})" in out
