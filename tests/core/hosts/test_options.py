"""The settings that both adapters pass on are those of the core's retrievers."""

from __future__ import annotations

import inspect

import pytest

from structrag.hosts import options
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever


@pytest.mark.parametrize(
    ("settings", "core"),
    [
        (options.MultiViewSettings, MultiViewRetriever),
        (options.HiQASettings, HiQARetriever),
        (options.D3Settings, D3Retriever),
        (options.D3IndexSettings, D3Index),
        (options.EvidenceIndexSettings, EvidenceRetriever),
    ],
)
def test_every_setting_is_an_argument_of_the_core(settings: type, core: type) -> None:
    unknown = set(settings.__annotations__) - set(inspect.signature(core).parameters)
    assert not unknown
