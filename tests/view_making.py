"""A manual, splitters and what a page of `structrag view` holds."""

from __future__ import annotations

import json
import re
from typing import Any

from structrag import ContentAwareSplitter, read_text

HOSTILE = (
    "# <b>A</b>\n\nText </script><script>alert(1)</script> & <!-- more.\n\n## B "
    "@@DATA@@\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


MANUAL = "# Pump\n\nAbout it.\n\n## Cleaning\n\n" + "".join(
    f"Rinse filter {i} with water. Dry it for {i} hours in the sun.\n\n"
    for i in range(30)
)


def manual(**options: Any) -> Any:
    return read_text(MANUAL, id="manual", **options)


def splitters(**more: Any) -> dict[str, Any]:
    return {"content_aware": ContentAwareSplitter(max_tokens=60), **more}


def data_of(page: str) -> Any:
    (found,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found)
