"""The README for a package index: its relative links and pictures get their addresses in full.
Hatchling runs this when it builds (`[tool.hatch.metadata.hooks.custom]`). In a checkout, and where
the repository is shown, the README stands as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = "https://github.com/structrag/structrag/blob/main/"
FILES = "https://raw.githubusercontent.com/structrag/structrag/main/"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def with_addresses(readme: str) -> str:
    """The text with `](docs/guide.md)` as a page of the repository, a picture as its file."""
    return LINK.sub(
        lambda match: (
            f"{match[1]}[{match[2]}]({FILES if match[1] else PAGES}{match[3]})"
        ),
        readme,
    )


class IndexReadme(MetadataHookInterface):
    """Sets the package's description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text),
        }
