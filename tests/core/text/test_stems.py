"""Stems: Snowball's, stop words left out, and numbers that stand for them."""

from __future__ import annotations

import subprocess
import sys

from fixture_cases import examples

from structrag.text.terms import stem_keys, stems


@examples
def test_terms_are_cut_to_their_stems(
    language: str, text: str, expected: list[str]
) -> None:
    assert stems(text, language=language) == expected


def test_a_stem_has_the_same_number_in_every_process() -> None:
    code = "from structrag.text.terms import stem_keys; print(stem_keys(['pump'])[0])"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(shown.stdout) == stem_keys(["pump"])[0]
