"""D3 for LangChain: from an outline to the paragraphs that are evidence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document
from pydantic import Field

from langchain_structrag.retrieving import IndexRetriever
from structrag.index.selection import narrowed
from structrag.integrations.kinds import D3, RetrieverKind
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Progress
from structrag.model_calls.usage import Usage
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.retriever import D3Result
from structrag.retrieval.d3.retriever import D3Retriever as CoreRetriever
from structrag.retrieval.d3.selection import Selection


class D3Retriever(IndexRetriever):
    """Finds the paragraphs that answer a question, by the outline (D3).

    It first selects sections of the outline, then the evidence in them. A language model is called
    twice: it reads the outline and names sections, then reads their paragraphs and names the
    evidence. Without a model, BM25 and vectors do both. Create it with `from_documents`,
    `from_texts` or `load`, or from a structrag `D3Index`.

    Example:
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> retriever = D3Retriever.from_texts([text], k=1)  # or with embeddings, llm=ChatOpenAI()
        >>> (evidence,) = retriever.invoke("How do I rinse the filter?")
        >>> evidence.page_content, evidence.metadata["heading_path"]
        ('Rinse the filter.', 'Pump > Cleaning')

    Results are plain Documents in reading order, as many as there is evidence; `k` and `where` are
    also accepted by `invoke`, `ainvoke` and `batch`.

    Metadata of a result, all JSON: its document's, and `doc_id`, `heading_path`, `section_id`,
    `start_index` and `end_index` (characters, exact), and `score` (1.0 if the
    strategy has no scores), `rank` by score, `scores` and `score_parts` (as in
    `MultiViewRetriever`, if any), `d3_kind` ("paragraph", "list", "table" and so on), `d3_route`
    (how the sections were chosen: "llm", "scores", "evidence", "direct" or "none"). `result` has
    the cost of a question.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = D3

    index: D3Index = Field(repr=False)
    """What is searched."""
    llm: Any = Field(default=None, repr=False)
    """A chat model or LLM that routes and selects; None: neither."""
    preset: str = "default"
    """Either "default", or "paper": section names instead of ids, and nothing where nothing was
    named."""
    router: str = "auto"
    """One of "llm", "evidence", "scores" and "auto".

    "auto" is "llm" where there is one, else "evidence" where that is given, else "scores"."""
    strategy: str | None = None
    """Either "fused", "evidence", or a strategy of `structrag`'s `Selection`.

    Such as "base", "hierbase", "monot5" or "base+monot5". None: "base" with a language model, else
    "fused"."""
    routing: Routing | None = None
    """Settings of the first stage."""
    selection: Selection | None = None
    """Settings of the second stage."""
    k: int | None = None
    """With "fused" and the strategies that score: at most so many results.

    None: no limit with "fused", else that of `selection`."""
    max_tokens: int | None = None
    """With "fused" and "evidence": at most so many tokens together; None: 1,000, or no limit with
    `k`."""
    evidence: Any = Field(default=None, repr=False)
    """An `EvidenceRetriever` over the same documents, this package's or structrag's.

    Its scores of sentences take the place of BM25 and vectors."""
    cache: Cache | str | os.PathLike[str] | None = None
    """For the calls; None: the index's."""
    max_concurrency: int = 8
    """Most calls in flight, over the questions of one call of `results`."""
    max_calls: int | None = None
    """Most calls in all."""
    progress: Progress | bool | None = None
    """Called with (what, done, total); True: a line on standard error."""
    timeout: float | None = None
    """Most seconds of one call of a model; None: no limit."""

    @property
    def usage(self) -> Usage:
        """The cost of all questions so far."""
        return self._d3().usage

    def result(
        self, question: str, k: int | None = None, *, where: Any = None
    ) -> D3Result:
        """The evidence with the route, the model's answers, and the calls and tokens of each
        stage."""
        return self._d3().result(question, k, where=self._within(where))

    async def aresult(
        self, question: str, k: int | None = None, *, where: Any = None
    ) -> D3Result:
        """`result` on an event loop."""
        return await self._d3().aresult(question, k, where=self._within(where))

    def results(
        self, questions: Sequence[str], k: int | None = None, *, where: Any = None
    ) -> list[D3Result]:
        """`result` for several questions. Their calls run concurrently, at most `max_concurrency`
        at a time."""
        return self._d3().results(questions, k, where=self._within(where))

    async def aresults(
        self, questions: Sequence[str], k: int | None = None, *, where: Any = None
    ) -> list[D3Result]:
        """`results` on an event loop."""
        return await self._d3().aresults(questions, k, where=self._within(where))

    def _within(self, where: Any) -> Any:
        return narrowed(self.where, where)

    def _d3(self) -> CoreRetriever:
        core: CoreRetriever = self._core()
        return core

    def documents(self, result: D3Result) -> list[Document]:
        """The evidence of a result, as `invoke` returns it."""
        return self._documents(result.hits)
