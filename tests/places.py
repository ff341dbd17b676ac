"""Where the project and the evaluation data are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# No part of the project: STRUCTRAG_DATA, or ../shared/data beside the checkout.
DATA = Path(os.environ.get("STRUCTRAG_DATA") or ROOT.parent / "shared" / "data")
