"""All promises, in the order in which they are tried."""

from __future__ import annotations

from torture import documents, full_volume, kills, models, savers, tampering

ALL = [module.PROMISE for module in (documents, kills, savers, tampering, full_volume, models)]
