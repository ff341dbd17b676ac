"""The options of the adapters' retrievers that the core takes as they are, for type checkers. Which
of them a class takes is read from the core (`RetrieverKind`), and others are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from structrag.index.index import IndexSettings
from structrag.reading.settings import ReadOptions
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection
from structrag.retrieval.multihop.hops import SelfAskPrompts
from structrag.text.tokens import TokenCounter


class CoreOptions(IndexSettings, total=False):
    """Arguments of the core's retrievers and indexes, by their own names."""

    llm: Any
    # of how is searched
    routes: Sequence[Any] | None
    fusion: str | None
    weights: Mapping[str, float] | None
    order: str
    pool: int | None
    max_tokens: int | None
    alpha: float | str | None
    beta: float | str | None
    keywords: Iterable[str] | int | None
    detect_keywords: Any
    diversify: str | None
    view: str
    lexical: Any
    compare_rest: bool | None
    router: str
    strategy: str | None
    routing: Routing | None
    selection: Selection | None
    evidence: Any
    # of what is indexed
    summariser: Any
    summary_tokens: int | None
    whole_tokens: int | None
    section_tokens: int | None
    paragraph_tokens: int | None
    paragraph_summaries: bool
    prompt: str | None
    part_tokens: int
    exclude_titles: Sequence[str]
    plain_headings: bool
    counter: TokenCounter
    token_encoder: Any
    context: str
    read_options: ReadOptions | None
    verify: bool


class SelfAskOptions(TypedDict, total=False):
    """Arguments of the core's `SelfAsk` but for its retriever and model."""

    max_followups: int
    min_followups: int
    token_budget: int | None
    evidence_tokens: int
    prompts: SelfAskPrompts | None
