"""Documents as people have them: the outline and the text that a file of this name gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import Case, cases

from structrag import parse, read_file


@pytest.mark.parametrize("case", cases("documents"))
def test_a_document_is_read_as_it_is(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.options.get("file", "document.md")
    path.write_text(case.text, encoding="utf-8")
    document = read_file(path)
    outline, probes = [], []
    for line in case.expected.splitlines():
        (probes if line.startswith(("has ", "lacks ")) else outline).append(line)
    sections = parse(document).sections[1:]
    assert [f"{section.level} {section.title}" for section in sections] == outline
    assert document.format == case.options.get("format", document.format)
    for line in probes:
        kind, _, wanted = line.partition(" ")
        assert (wanted.replace("\\n", "\n") in document.text) == (kind == "has")
