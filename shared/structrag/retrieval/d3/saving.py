"""A D3 index in a folder: one for each index, and settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from structrag.errors import IndexDamaged, InvalidParameter

MANIFEST = "d3.json"
FORMAT = "structrag-d3"
VERSION = 1


def save_folder(
    place: Path, savers: Mapping[str, Callable[[Path], None]], options: Mapping[str, Any]
) -> None:
    """Write a folder beside its place, and move it there when complete.

    An index that is there already is replaced. `savers` write the folder of each name. Raises
    InvalidParameter where `place` holds something else; then nothing is changed.
    """
    if (
        place.exists()
        and not (place / MANIFEST).exists()
        and (not place.is_dir() or any(place.iterdir()))
    ):
        raise InvalidParameter(
            f"path must be new, an empty folder or a saved D3 index; {str(place)!r} holds "
            "something else. Choose another path."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.parent / f".{place.name}-{uuid4().hex}"
    try:
        for name, save in savers.items():
            save(aside / name)
        manifest = {"format": FORMAT, "version": VERSION, "options": dict(options)}
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        old = place.parent / f".{place.name}-{uuid4().hex}"
        if place.exists():
            place.rename(old)
        aside.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def saved_options(path: Path) -> dict[str, Any]:
    """The settings that a saved index was built with.

    Raises IndexDamaged where there is none of ours.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        ours, newer = manifest["format"] == FORMAT, int(manifest["version"]) > VERSION
        options = dict(manifest["options"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise IndexDamaged(
            f"{str(path)!r} holds no complete D3 index ({error}); save it again, or build it anew."
        ) from error
    if not ours or newer:
        raise IndexDamaged(
            f"{str(path)!r} is no D3 index of this release; open it with the release that wrote it."
        )
    return options
