"""Rooms of the core in order: a room may import the rooms before it, never one behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rooms import (
    DOORS,
    MOST_TOP_LEVEL_MODULES,
    ROOMS,
    Source,
    arrows_back,
    circles,
    core,
    sources,
    top_level_modules,
)


@pytest.fixture(scope="module")
def files() -> list[Source]:
    return core(sources(Path(__file__).resolve().parents[2]))


def test_every_room_and_module_at_the_top_has_its_place(files: list[Source]) -> None:
    assert {source.room for source in files} - DOORS - {""} == set(ROOMS)
    assert len(top_level_modules(files)) <= MOST_TOP_LEVEL_MODULES


def test_no_import_runs_back(files: list[Source]) -> None:
    assert arrows_back(files) == []


def test_no_module_imports_itself_through_others(files: list[Source]) -> None:
    assert circles(files) == []
