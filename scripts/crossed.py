"""What runs when LangChain's MultiView builds and answers; `house.py` runs it by itself. It prints
as JSON two lists of paths, of the files whose functions ran, and the files of the calls from
`from_documents` to the object of the core, in order."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_structrag import MultiViewRetriever
from structrag.retrieval import MultiViewRetriever as Core

TEXT = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter.\n\n# Valve\n\nIt stops.\n"


def crossed(action: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The result of `action`, and the files whose functions ran for it."""
    files: set[str] = set()
    sys.setprofile(lambda frame, event, argument: files.add(frame.f_code.co_filename))
    try:
        result = action()
    finally:
        sys.setprofile(None)
    return result, sorted(files)


def hops(action: Callable[[], Any]) -> list[str]:
    """The files of the functions that were running when the core's object was made."""
    files: list[str] = []

    def watch(frame: Any, event: str, argument: object) -> None:
        made = frame.f_locals.get("self")
        if files or event != "call" or type(made) is not Core:
            return
        while frame.f_code.co_name != "from_documents":
            frame = frame.f_back
            files.append(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return files[::-1]


def main() -> None:
    documents = [Document(TEXT, metadata={"source": "pump.md"})]
    embedding = DeterministicFakeEmbedding(size=8)
    for _ in range(2):  # the first time imports modules, so only the second counts
        retriever, build = crossed(
            lambda: MultiViewRetriever.from_documents(documents, embedding, k=2)
        )
        _, query = crossed(lambda: retriever.invoke("How do I rinse the filter?"))  # noqa: B023
    way = hops(lambda: MultiViewRetriever.from_documents(documents, embedding, k=2))
    print(json.dumps([build, query, way]))


if __name__ == "__main__":
    main()
