"""What is said of arguments that were probably not meant."""

from __future__ import annotations

import warnings

import pytest

from structrag.errors import InvalidParameter
from structrag.hosts.arguments import alike, chosen_embedding, warn_of_chunks


def test_lsa_is_never_silent_unless_it_is_asked_for() -> None:
    with pytest.warns(UserWarning, match="No embedding model was given, .* embedding='lsa'"):
        assert chosen_embedding("embedding", None) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chosen_embedding("embedding", "lsa") is None
        assert chosen_embedding("embedding", len) is len


def test_chunks_are_noticed() -> None:
    with pytest.warns(UserWarning, match="give them whole documents"):
        warn_of_chunks([False, True])
    warn_of_chunks([False])


def test_two_names_for_one_argument() -> None:
    names = {"k": "similarity_top_k"}
    assert alike({"similarity_top_k": 3}, names) == alike({"k": 3}, names)
    with pytest.raises(InvalidParameter, match="similarity_top_k and k mean the same; got both"):
        alike({"k": 3, "similarity_top_k": 3}, names)
