"""The benchmarks around evidence: stems and splitters, on one small document."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import evidence_splitters, stems
from benchmarks.evidence import KeptTokens, Setting
from benchmarks.methods_systems import BOTH, Indexed
from benchmarks.question_sets import Dataset, Question
from structrag import FixedSplitter, read_text
from structrag.evaluation import SpanMeasure
from structrag.text.tokens import count_tokens
from tests.doubles import HashTokens

TEXT = "# Pumps\n\nThe blue pumps leak.\n\n# Cats\n\nCats sleep all day long.\n"
ASKED = Question("q", "Which blue pump is leaking?", (), (("d", 9, 29),), any=False)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    encoder = HashTokens()
    encoder.max_tokens = 256
    dataset = Dataset("qasper", (read_text(TEXT, id="d", format="markdown"),), (ASKED,))
    kept = KeptTokens(encoder, tmp_path / "tokens")
    return Setting(dataset, kept, count_tokens, SpanMeasure(dataset.texts))


def test_every_system_is_searched_by_words_and_by_stems(setting: Setting) -> None:
    words, by_stems = stems.recalls(setting, False), stems.recalls(setting, True)
    assert set(words) == set(by_stems) == {"BM25", "MultiView", "HiQA", "D3", "D3, LSA"}
    assert all(values == [1.0] for values in by_stems.values())
    table = stems.table({"qasper": words}, {"qasper": by_stems})
    assert "| MultiView" in table and "difference" in table


def test_chunks_are_shortened_to_exact_slices(setting: Setting) -> None:
    chunks = FixedSplitter(8).split(setting.dataset.documents[0])

    def index(*_: object) -> Indexed:
        return Indexed(chunks, {BOTH: lambda *_: chunks})

    found, packed = evidence_splitters.measured(setting, [ASKED], index)
    assert found[500] == packed[500] == packed[1000] == [1.0]
    whole = evidence_splitters.whole_documents(setting, [ASKED])
    table = evidence_splitters.table(
        {"fixed": [found]}, {"fixed": [packed]}, [whole], 500
    )
    assert "| fixed " in table and "as evidence" in table
    few = evidence_splitters.as_evidence(
        setting, ASKED, [SimpleNamespace(**_parts(chunks[-1]))]
    )
    assert few[500] == 0.0


def _parts(chunk: object) -> dict[str, object]:
    return {name: getattr(chunk, name) for name in ("doc_id", "start", "end", "text")}
