"""Draws docs/pictures/view.png: the page of `structrag view` on the guide, in a Chromium.

PYTHONPATH=tests python scripts/view_picture.py [PICTURE] [--dark]
"""

from __future__ import annotations

import argparse
import base64
import tempfile
from pathlib import Path

from browser import browser, chromium

from structrag.cli import main as structrag

ROOT = Path(__file__).resolve().parents[1]
SIZE = (1400, 860)
QUERY = ("-q", "How are tables cut?")


def main() -> None:
    """Write the page and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "picture", nargs="?", type=Path, default=ROOT / "docs/pictures/view.png"
    )
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    program = chromium()
    if program is None:
        raise SystemExit("No Chromium was found; name one by STRUCTRAG_CHROMIUM.")
    with tempfile.TemporaryDirectory() as folder, browser(program) as page:
        file = Path(folder) / "view.html"
        try:
            arguments = ("--embedder", "minilm", "-o", str(file))
            structrag(["view", str(ROOT / "docs/guide.md"), *QUERY, *arguments])
        except SystemExit as stop:
            if stop.code:
                raise
        page.window(*SIZE, dark=options.dark)
        page.open(file)
        shot = page.call("Page.captureScreenshot", format="png")
    options.picture.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
