"""The README for a package index: relative links and pictures become absolute addresses.
Hatchling runs this during a build (`[tool.hatch.metadata.hooks.custom]`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # the tests use `with_addresses` without the build tool
    MetadataHookInterface = object

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
