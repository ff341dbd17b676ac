"""Answers that tell what their call took."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from structrag.model_calls.usage import (
    CallTokens,
    counted,
    reported_tokens,
    tokens_of,
)

TOKENS = CallTokens(31, 4)


def test_what_tells_nothing_is_counted() -> None:
    assert tokens_of("ten short words", "yes", len) == (15, 3)
    assert tokens_of("ten short words", None, len) == (15, 0)
    assert tokens_of("ten short words", 0.5, len) == (15, 0)
    assert tokens_of("ten short words", counted("yes", TOKENS), len) == TOKENS


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, (7, 2)),
        ({"input_tokens": 7, "output_tokens": 2}, (7, 2)),
        (SimpleNamespace(prompt_tokens=7, completion_tokens=None), (7, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "7", "completion_tokens": True}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_servers_and_frameworks_report(
    usage: object, expected: tuple[int, int] | None
) -> None:
    assert reported_tokens(usage) == expected
