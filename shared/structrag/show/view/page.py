"""The page's files and its data in one file."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter

_PARTS = (
    "state",
    "text",
    "rails",
    "outline",
    "panel",
    "hits",
    "matching",
    "find",
    "main",
)  # in this order
SCRIPTS = tuple(f"{name}.js" for name in _PARTS)


def render_page(data: Mapping[str, Any]) -> str:
    """The whole page as HTML, for what `gather` gives.

    The documents' text is in it as JSON alone, every "<" written as an escape, so that no markup in
    it is markup of the page. The page's own script and style are the only ones a browser may run,
    and nothing is loaded from anywhere (its content security policy).
    """
    style = _asset("page.css")
    script = (
        '"use strict";\n(() => {\n'
        + "\n".join(_asset(name) for name in SCRIPTS)
        + "\n})();\n"
    )
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; img-src data:; "
        f"script-src '{_hash(script)}'; base-uri 'none'"
    )
    parts = {
        "@@POLICY@@": policy,
        "@@STYLE@@": style,
        "@@SCRIPT@@": script,
        "@@DATA@@": embedded_json(data),
    }
    page = _asset("page.html")
    # The data comes last: nothing in it is taken for a mark.
    for mark, value in parts.items():
        page = page.replace(mark, value)
    return page


def embedded_json(data: Mapping[str, Any]) -> str:
    """Return JSON that can be inside a `<script>` element: "<", ">", "&" and halves of surrogate
    pairs are escapes."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_page(data: Mapping[str, Any], path: str | os.PathLike[str]) -> int:
    """Write the page for what `gather` gives, and return its bytes.

    A file there is replaced when the new one is whole.

    Raises:
        InvalidParameter: the file cannot be written.
    """
    path = Path(path)
    page = render_page(data).encode("utf-8")
    part = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            part = file.name
            file.write(page)
        os.chmod(part, 0o644)
        os.replace(part, path)
    except OSError as error:
        if part is not None:
            Path(part).unlink(missing_ok=True)
        raise InvalidParameter(
            f"The page cannot be written to {str(path)!r}: {error.strerror or error}."
        ) from error
    return len(page)


def _asset(name: str) -> str:
    return files("structrag.show.view").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode("utf-8")).digest()).decode(
        "ascii"
    )
