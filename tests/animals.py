"""A text about animals and a judge of its margins."""

from __future__ import annotations

import re
from typing import Any

from doubles import HashEmbedder

from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

TEXT = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n# "
    "Rain\n\nRain falls. Rain is wet."
)


def words(text: str) -> int:
    return len(text.split())


def split(
    text: str, *, embedder: Any = None, llm: Any = None, **choices: Any
) -> list[Chunk]:
    return IDMSSplitter(**choices).split(
        read_text(text, format="markdown"), embedder=embedder or HashEmbedder(), llm=llm
    )


def sides(prompt: str) -> tuple[str, str]:
    match = re.search(
        r"Passage A:\n(.*)\n\nPassage B:\n(.*)\n\nAnswer with", prompt, re.DOTALL
    )
    assert match is not None
    return match.group(1), match.group(2)


def same_animal(prompt: str) -> float:
    left, right = sides(prompt)
    return (
        0.8
        if left.split()[-2:-1]
        and left.rsplit(". ", 1)[-1].split()[0] == right.split()[0]
        else -0.8
    )
