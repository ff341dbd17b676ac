"""The sentence rule and NLTK's Punkt against ends marked by hand: a table, printed and kept.

    python benchmarks/sentences.py

`sentence_ends.jsonl` has one possible end a line, of those where rules differ: behind short words,
letters, numbers, quotes and brackets, and before small letters and numbers. For each it says
whether a sentence ends there, and it holds no text, only where to find it and its digest.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.question_sets import DataMissing, load
from structrag.text.sentences import SENTENCE_RULE, SentenceSplitter, sentence_spans

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "sentences.md"
RULES: dict[str, SentenceSplitter | None] = {"rule": None, "Punkt": "punkt"}
REACH = 3000, 500  # characters read before and after an end, within its paragraph


def main() -> None:
    """Print and keep the table, or say that the data is absent."""
    try:
        table = measured()
    except DataMissing as error:
        sys.exit(f"No data: {error}")
    print(table)
    save(RESULTS, table + "\n", __file__)


def measured() -> str:
    """The shares of ends decided as by hand, and the processor time of both."""
    right: Counter[tuple[str, bool, str]] = Counter()
    number: Counter[tuple[str, bool]] = Counter()
    seconds: Counter[str] = Counter()
    lines = (HERE / "sentence_ends.jsonl").read_text(encoding="utf-8").splitlines()
    for language, held_out, name, doc_id, offset, ends, digest in map(
        json.loads, lines
    ):
        text = load(name).texts[doc_id]
        around = text[max(0, offset - 40) : offset + 40]
        if sha256(around.encode()).hexdigest()[:12] != digest:
            raise DataMissing(f"document {doc_id} of {name} is another one")
        number[language, held_out] += 1
        start = max(text.rfind("\n\n", 0, offset) + 2, offset - REACH[0], 0)
        end = min(text.find("\n\n", offset) % (len(text) + 1), offset + REACH[1])
        for rule, splitter in RULES.items():
            began = time.process_time()
            spans = sentence_spans(
                text, start, end, language=language, splitter=splitter
            )
            seconds[rule] += time.process_time() - began
            starts = {left for left, _ in spans}
            right[language, held_out, rule] += (offset in starts) == ends
    rows = [
        f"| {language} | {'no' if held_out else 'yes'} | {n} | "
        + " | ".join(f"{right[language, held_out, rule]}" for rule in RULES)
        + " |"
        for (language, held_out), n in sorted(number.items())
    ]
    ratio = seconds["Punkt"] / seconds["rule"]
    return "\n".join(
        [
            f"# Ends of sentences decided as by hand (rule {SENTENCE_RULE})",
            "",
            "| language | rule was written with them | ends | rule | Punkt |",
            "|---|---|--:|--:|--:|",
            *rows,
            "",
            f"Punkt took {ratio:.1f} times as long, its import apart.",
        ]
    )


if __name__ == "__main__":
    main()
