"""What is there in a store in Milvus, in one row. Rows carry the version of their document. A
version is seen where it is no higher than the last and not hidden, so that replacing this row
switches all documents of a commit at once."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, field
from typing import Any

from structrag.index.entries import dump_json, parse_json


@dataclass(slots=True)
class StoreState:
    """A store at one moment."""

    made: str = ""  # which store it is of; made anew at the same place, it is another
    changes: int = 0  # commits
    last: int = 0  # the highest version that is there
    next: int = 1  # the lowest version that no writer has taken
    next_key: int = 0  # of a new document
    writer: str = ""  # who writes now; empty: nobody
    # The first and last version that the writer has taken.
    writing: tuple[int, int] = (0, 0)
    # Since; first, last version.
    hidden: list[tuple[float, int, int]] = field(default_factory=list)
    removed: int = 0  # how often hidden rows were removed for good
    n_chunks: int = 0
    widths: dict[str, int] = field(default_factory=dict)  # view -> dimensions
    n_rows: dict[str, int] = field(default_factory=dict)  # view -> rows that have it
    n_terms: dict[str, int] = field(default_factory=dict)  # view -> their terms
    # View -> terms a row, for weights.
    averages: dict[str, float] = field(default_factory=dict)
    # view -> segments of row counts: number, parts, terms
    counts: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    # Since; segment of counts.
    outdated: list[tuple[float, int]] = field(default_factory=list)

    def to_text(self) -> str:
        """As one short string."""
        return packed(dump_json(asdict(self)))

    @classmethod
    def from_text(cls, text: str) -> StoreState:
        """What `to_text` gave."""
        content: dict[str, Any] = parse_json(unpacked(text))
        content["writing"] = tuple(content["writing"])
        for name in ("hidden", "outdated"):
            content[name] = [tuple(item) for item in content[name]]
        content["counts"] = {
            view: [tuple(item) for item in segments]
            for view, segments in content["counts"].items()
        }
        return cls(**content)

    def hide(self, since: float, first: int, last: int) -> None:
        """Let nobody see some versions. Those that follow each other become one range."""
        if (
            self.hidden
            and self.hidden[-1][0] == since
            and self.hidden[-1][2] + 1 == first
        ):
            first = self.hidden.pop()[1]
        self.hidden.append((since, first, last))

    def visible(self) -> str:
        """The condition on rows that are there, in Milvus's language."""
        single = [first for _, first, last in self.hidden if first == last]
        ranges = [(first, last) for _, first, last in self.hidden if first < last]
        parts = [f"version <= {self.last}"]
        parts += [f"(version < {first} or version > {last})" for first, last in ranges]
        if single:
            parts.append(f"version not in {single}")
        return " and ".join(parts)


def packed(content: bytes) -> str:
    """Bytes as ASCII, which every server keeps as it is."""
    return b64encode(zlib.compress(content, 1)).decode("ascii")


def unpacked(text: str) -> bytes:
    """What `packed` was given."""
    return zlib.decompress(b64decode(text))
