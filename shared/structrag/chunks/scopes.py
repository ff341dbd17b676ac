"""Which units are compared together, and which borders no chunk crosses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.chunks.bounds import Run
from structrag.chunks.divisions import Division, grouped
from structrag.chunks.fitter import Fitter
from structrag.chunks.units import Unit, units_of


@dataclass(frozen=True, slots=True)
class Zone:
    """A range of a scope's units whose borders no chunk crosses. It is a section, or text without a
    gap."""

    first: int
    last: int  # behind the last unit
    room: int | None  # tokens that a chunk's text may have beside its heading path


@dataclass(frozen=True, slots=True)
class UnitScope:
    """Units that share a threshold: a document's, or one section's."""

    path: tuple[str, ...]  # heading titles; () for the document
    units: tuple[Unit, ...]
    zones: tuple[Zone, ...]
    first: int = 0  # number of the first unit in the document

    @property
    def sizes(self) -> list[int]:
        """The tokens of each unit."""
        return [unit.tokens for unit in self.units]

    @property
    def room(self) -> int | None:
        """That of the first zone."""
        return self.zones[0].room

    @property
    def run(self) -> Run:
        """The units by their numbers in the document."""
        return self.first, self.first + len(self.units)

    @property
    def start(self) -> int:
        """Where the first unit begins."""
        return self.units[0].start

    @property
    def end(self) -> int:
        """Behind the last unit."""
        return self.units[-1].end


def scopes_of(
    fitter: Fitter,
    divisions: Sequence[Division],
    *,
    by_zone: bool,
    respect_sections: bool,
) -> list[UnitScope]:
    """The scopes of a document, in order: one a zone, or one. No division gives none."""
    scopes: list[UnitScope] = []
    units: list[Unit] = []
    zones: list[Zone] = []
    number = 0
    for group in grouped(divisions, apart=respect_sections):
        room = fitter.room(group)
        first = len(units)
        for division in group:
            units += units_of(fitter.outline, division, fitter.cutter, room)
        zones.append(Zone(first, len(units), room))
        if by_zone:
            path = group[0].section.path
            scopes.append(UnitScope(path, tuple(units), tuple(zones), number))
            number += len(units)
            units, zones = [], []
    if units:
        scopes.append(UnitScope((), tuple(units), tuple(zones)))
    return scopes
