"""The start of a child process: a script that runs under `-I`, before structrag can be imported.

A folder of documents may hold a `json.py`. So a child imports from the installed environment alone:
`-I` keeps the current folder and PYTHONPATH from its path. Modules that its parent has loaded from
elsewhere (the caller's own, or an installation without site-packages) are imported by their known
files, and nothing else is imported from their folders.
"""

from __future__ import annotations

import signal

if __name__ == "__main__":  # the parent says what Ctrl-C has ended
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any


class KnownFiles:
    """Finds modules by the files that the parent has loaded them from."""

    # By the name of a module at the top: its file, and the folders of its submodules.
    files: dict[str, tuple[str | None, list[str] | None]] = {}  # noqa: RUF012

    @classmethod
    def find_spec(
        cls,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        file, folders = cls.files.get(name, (None, None))
        if file:
            return spec_from_file_location(
                name, file, submodule_search_locations=folders
            )
        if folders is None:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = folders
        return spec


def adopt(environment: Mapping[str, Any]) -> None:
    """Import what the parent can import, by `structrag.reading.processes.environment`."""
    if KnownFiles not in sys.meta_path:
        sys.meta_path.insert(0, KnownFiles)
    KnownFiles.files.update(environment["files"])
    sites = environment["sites"]
    here = os.path.realpath(environment["folder"])
    # A development install may have put the current folder on the path.
    kept = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    sys.path[:] = [*kept, *(site for site in sites if site not in kept)]


if __name__ == "__main__":
    adopt(json.loads(sys.stdin.buffer.readline()))
    import_module(sys.argv[1]).main()
