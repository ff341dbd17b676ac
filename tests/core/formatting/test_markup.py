"""Text markups and code to Markdown."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag import HiQAFormatter, read_text


@examples
def test_headings_and_blocks_keep_their_place(
    format: str, text: str, expected: str
) -> None:
    formatted = HiQAFormatter().format(read_text(text, format=format))
    assert formatted.document.text == expected
    assert formatted.report.mode == "layout" and not formatted.report.uncertain


def test_code_is_fenced_under_its_definitions() -> None:
    pytest.importorskip("tree_sitter_python")
    text = "class Pump:\n    # Runs it.\n    def run(self):\n        return 1\n"
    formatted = HiQAFormatter().format(read_text(text, format="python"))
    assert formatted.document.text == (
        "# Pump\n\n```python\nclass Pump:\n```\n\n## run\n\n```python\n"
        "    # Runs it.\n    def run(self):\n        return 1\n```\n"
    )


def test_a_markup_without_headings_says_so() -> None:
    formatted = HiQAFormatter().format(read_text("Rinse it.\n", format="org"))
    assert formatted.document.text == "Rinse it.\n"
    assert "No headings" in formatted.report.uncertain[0]
