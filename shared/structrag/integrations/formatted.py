"""HiQA's formatter for a host: presets, and notes of a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from structrag.errors import check_choice
from structrag.formatting.formatter import Formatted, HiQAFormatter
from structrag.integrations.documents import json_values
from structrag.integrations.metadata import FORMAT_KEY, FORMAT_REPORT_KEY
from structrag.reading.paging import PAGE_STARTS

PRESETS: dict[str, Callable[..., HiQAFormatter]] = {
    "default": HiQAFormatter,
    "paper": HiQAFormatter.paper,
}


def formatter_of(preset: str, llm: Any, **settings: Any) -> HiQAFormatter:
    """The formatter of a preset.

    Settings that are None are the preset's own.

    Example:
        >>> formatter_of("paper", None, prompt=None).settings.whole_previous
        True

    Raises:
        InvalidParameter: there is no such preset, or a setting is not allowed.
    """
    check_choice("preset", preset, tuple(PRESETS))
    chosen = {name: value for name, value in settings.items() if value is not None}
    return PRESETS[preset](llm, **chosen)


def format_notes(formatted: Formatted, *, report: bool, flat: bool) -> dict[str, Any]:
    """Metadata of a formatted text.

    `text_format`, `format_report`, and where pages begin, if that is known.

    Args:
        report: Whether `format_report` is there.
        flat: Whether that is a string of JSON.
    """
    meta = formatted.document.meta
    pages = {PAGE_STARTS: meta[PAGE_STARTS]} if PAGE_STARTS in meta else {}
    notes: dict[str, Any] = {FORMAT_KEY: formatted.document.format, **pages}
    if report:
        facts = json_values(asdict(formatted.report))
        notes[FORMAT_REPORT_KEY] = (
            json.dumps(facts, ensure_ascii=False) if flat else facts
        )
    return notes
