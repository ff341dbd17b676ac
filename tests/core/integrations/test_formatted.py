"""HiQA's formatter for a host."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from structrag.errors import InvalidParameter
from structrag.formatting.formatter import HiQAFormatter
from structrag.integrations.formatted import format_notes, formatter_of

TEXT = "1. Battery\n\nIt lasts long.\n"


def test_presets_and_settings_that_are_none() -> None:
    code = HiQAFormatter.code()
    assert formatter_of("code", None, window_words=None).settings == code.settings
    changed = formatter_of("code", None, padding_words=7).settings
    assert changed == replace(code.settings, padding_words=7)
    assert formatter_of("default", None).settings == HiQAFormatter().settings
    assert formatter_of("paper", None).settings == HiQAFormatter.paper().settings
    with pytest.raises(InvalidParameter, match="preset must be"):
        formatter_of("usage", None)


def test_notes_of_a_result() -> None:
    formatted = HiQAFormatter().format(TEXT)
    assert format_notes(formatted, report=False, flat=True) == {
        "text_format": "markdown"
    }
    deep = format_notes(formatted, report=True, flat=False)["format_report"]
    flat = format_notes(formatted, report=True, flat=True)["format_report"]
    assert json.loads(flat) == deep == json.loads(json.dumps(asdict(formatted.report)))


def test_a_report_as_json_keeps_all_letters() -> None:
    formatted = HiQAFormatter().format("1. Größe\n\nSie passt.\n")
    flat = format_notes(formatted, report=True, flat=True)["format_report"]
    assert "\\u" not in flat
