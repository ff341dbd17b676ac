"""Sentences about the files that an error has met."""

from __future__ import annotations

import pytest

from structrag.errors import MissingExtra, ModelFailed, StructragError, TimedOut
from structrag.ingestion.tasks import refusal, while_preparing
from structrag.model_calls.calling import WHILE_ADDING


@pytest.mark.parametrize("kind", [ModelFailed, TimedOut, MissingExtra])
@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["a.md"], "'a.md'"),
        (["a.md", "b.md"], "'a.md' and 1 more file"),
        ([f"{n}.md" for n in range(1_234)], "'0.md' and 1,233 more files"),
    ],
)
def test_files_are_named_and_the_kind_stays(
    kind: type[StructragError], paths: list[str], files: str
) -> None:
    error = kind(f"It raised OSError: no. {WHILE_ADDING}")
    error.status = 503  # type: ignore[attr-defined]
    reworded = while_preparing(error, paths)
    assert type(reworded) is kind and reworded.status == 503  # type: ignore[attr-defined]
    assert str(reworded) == (
        f"It raised OSError: no. This stopped the ingestion while it prepared {files}; "
        "finished documents are saved. Fix the cause and run the same ingestion again: it "
        "continues where it stopped."
    )


def test_without_files_it_stays() -> None:
    assert str(while_preparing(ModelFailed("It is down."), [])) == "It is down."


def test_a_refusal_names_its_file() -> None:
    error = ModelFailed(f"It raised ValueError: too long. {WHILE_ADDING}")
    assert refusal("a.md", error) == (
        "'a.md' cannot be embedded: It raised ValueError: too long. The model accepts other texts."
    )
