"""Small documents, and files of questions about them."""

from __future__ import annotations

import json
from pathlib import Path

from structrag.evaluation.labelled import GoldQuestion
from structrag.evaluation.question_files import read_questions
from structrag.reading.files import read_text

PUMP = (
    "# Pump\n\n## Cleaning\n\nRinse the filter\nmonthly with  water.\n\n## Storage\n\nKeep it "
    "dry at 7 degrees.\n"
)


TANK = "# Tank\n\nFill it to 17 litres. Rinse the filter weekly.\n"


DOCUMENTS = [
    read_text(PUMP, format="markdown", id="docs/pump.md"),
    read_text(TANK, format="markdown", id="docs/tank.md"),
    read_text("Nothing of interest.", format="text", id="old/tank.md"),
]


def questions_of(tmp_path: Path, *records: object) -> list[GoldQuestion]:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        "\n".join(json.dumps(record) for record in records), encoding="utf-8"
    )
    return read_questions(path, DOCUMENTS)
