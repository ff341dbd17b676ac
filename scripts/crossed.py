"""Which files run when LangChain's MultiView builds and answers; `house.py` runs it by itself.

It prints two lists of paths as JSON. Only calls of functions count, not the import of a module.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_structrag import MultiViewRetriever

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


def main() -> None:
    documents = [Document(TEXT, metadata={"source": "pump.md"})]
    embedding = DeterministicFakeEmbedding(size=8)
    for _ in range(2):  # the first time imports modules, so only the second counts
        retriever, build = crossed(
            lambda: MultiViewRetriever.from_documents(documents, embedding, k=2)
        )
        _, query = crossed(lambda: retriever.invoke("How do I rinse the filter?"))  # noqa: B023
    print(json.dumps([build, query]))


if __name__ == "__main__":
    main()
