"""All promises, in the order in which they are tried."""

from __future__ import annotations

from torture import (
    documents,
    formats,
    full_volume,
    growth_of_time,
    kills,
    models,
    savers,
    tampering,
    threads,
)

ALL = [
    module.PROMISE
    for module in (
        documents,
        formats,
        growth_of_time,
        kills,
        savers,
        tampering,
        full_volume,
        models,
        threads,
    )
]
