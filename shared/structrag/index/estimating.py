"""What adding documents to an index will cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from structrag.asking.calls import ask_key, is_cached, is_kept, model_for
from structrag.asking.embedding_plan import EmbeddingPlan
from structrag.asking.requests import Ask, Choose, Embed, Embedder, Failed, Request, Steps, T, Usage
from structrag.asking.runner import Runner
from structrag.asking.steps import drive, rewrite
from structrag.chunks.asking_splitter import with_own_vectors
from structrag.errors import ModelFailed, NoModel
from structrag.index.adding import Adding, read_steps, windows_of
from structrag.text.tokens import count_tokens

SPLIT, VIEWS, INDEX = "split", "views", "index"
LONGEST = "word " * 199  # a summary of so many words is not shortened
RATING = "5"


@dataclass(frozen=True, slots=True)
class IndexCost:
    """The cost of one stage, or of several added up; names and tokens as in `Usage`."""

    calls: int = 0  # of the language model
    prompt_tokens: int = 0
    embedded: int = 0  # texts to embed
    embedding_tokens: int = 0
    cache_hits: int = 0  # answers and vectors that the cache holds already

    def __add__(self, other: IndexCost) -> IndexCost:
        return IndexCost(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def __str__(self) -> str:
        return (
            f"{self.calls:,} language-model calls, {self.prompt_tokens:,} tokens of prompts; "
            f"{self.embedded:,} texts to embed, "
            f"{self.embedding_tokens:,} tokens; {self.cache_hits:,} cache hits"
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What `Index.add` would do and cost.

    Attributes:
        documents: Those that would be added or replaced.
        unchanged: Those that cost nothing.
        chunks: Of the documents to add or replace.
        stages: Stage ("split", "views": summaries and keywords, "index": vectors) -> its cost.
    """

    documents: int = 0
    unchanged: int = 0
    chunks: int = 0
    stages: Mapping[str, IndexCost] = field(default_factory=dict)

    @property
    def total(self) -> IndexCost:
        """All stages together."""
        return sum(self.stages.values(), IndexCost())

    def __str__(self) -> str:
        return (
            f"{self.documents:,} documents to add or replace, {self.unchanged:,} unchanged; "
            f"{self.chunks:,} chunks; {self.total}"
        )


def estimate(work: Adding, runner: Runner) -> Estimate:
    """What the call `work` would do and cost, answered by `runner`; see `Index.estimate`."""
    tally = _Tally(runner)
    planned = chunks = 0
    for group in work.groups():
        tally.begin()
        how = work.how
        if how.kept is not None:
            how = replace(how, kept={name: dict(answers) for name, answers in how.kept.items()})
        read = _answered(read_steps(group, how), tally)
        planned += len(group)
        chunks += sum(len(own) for own, _, _ in read)
        if how.embedder is not None:
            windows = [
                windows_of(views.texts, how, raw=vectors is None) for _, vectors, views in read
            ]
            texts = [text for own in windows for several in own.values() for _, text in several]
            tally.embed(INDEX, texts, how.embedder)
    return Estimate(planned, work.unchanged, chunks, tally.stages)


class _Tally:
    """Counts what would be asked, stage by stage: equal requests of one group once, and with a
    cache those of all groups."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.stages = {stage: IndexCost() for stage in (SPLIT, VIEWS, INDEX)}
        self.seen: set[tuple[str, str]] = set()

    def begin(self) -> None:
        """Of a group of documents that are prepared together."""
        if self.runner.cache is None:
            self.seen.clear()

    def embed(self, stage: str, texts: Sequence[str], embedder: Embedder) -> None:
        """Count texts to embed, less those that the cache holds."""
        fresh = tuple(
            dict.fromkeys(text for text in texts if (embedder.name, text) not in self.seen)
        )
        self.seen.update((embedder.name, text) for text in fresh)
        known = Usage()
        missing = EmbeddingPlan(Embed(fresh), embedder, self.runner.cache, known, 1).missing
        self.stages[stage] += IndexCost(
            embedded=len(missing),
            embedding_tokens=sum(map(count_tokens, missing)),
            cache_hits=known.cache_hits,
        )

    def answer(self, request: Ask | Choose) -> Any:
        """Count a call, and answer it: from the cache, else by what stands in for an answer;
        `Failed` where no model can."""
        llm = model_for(request, self.runner.llm)
        if llm is None:
            return Failed(NoModel("There is no language model."))
        if isinstance(request, Choose) and not (hasattr(llm, "choose") or hasattr(llm, "achoose")):
            return Failed(ModelFailed(f"The language model {llm.name!r} cannot weigh two options."))
        stage = VIEWS if request.component.startswith("views.") else SPLIT
        key = ask_key(llm.name, request)
        known = (
            self.runner.cache.get(key)
            if self.runner.cache is not None and is_cached(request)
            else None
        )
        if known is not None and is_kept(request, known["answer"]):
            self.stages[stage] += IndexCost(cache_hits=1)
            return known["answer"]
        if not is_cached(request) or ("", key) not in self.seen:
            self.seen.add(("", key))
            self.stages[stage] += IndexCost(calls=1, prompt_tokens=count_tokens(request.prompt))
        return (
            _stand_in(request, len(self.seen))
            if stage == SPLIT
            else Failed(ModelFailed("It was not asked."))
        )


def _answered(steps: Steps[T], tally: _Tally) -> T:
    """The result of steps whose requests are counted: texts are embedded by LSA, calls answered by
    what stands in."""

    def answer(requests: Sequence[Request]) -> list[Any]:
        return [tally.answer(request) for request in requests if isinstance(request, Ask | Choose)]

    return drive(with_own_vectors(_counted(steps, tally)), answer)


def _counted(steps: Steps[T], tally: _Tally) -> Steps[T]:
    """The same steps with their texts counted and for `with_own_vectors` to embed; static models
    cost too little to count."""

    def count(request: Request) -> Request:
        if not isinstance(request, Embed):
            return request
        model: Any = tally.runner.embedder if request.embedder is None else None
        if request.brings_embedder:
            model = request.embedder
        if model is not None and not getattr(model, "instant", False):
            tally.embed(SPLIT, request.texts, model)
        return replace(request, embedder=None)

    return rewrite(steps, count)


def _stand_in(request: Ask | Choose, number: int) -> Any:
    """What a model is taken to answer to a splitter: a summary as long as may be, no two alike, or
    where that is no answer a rating."""
    if isinstance(request, Choose):
        return 0.0
    summary = f"{LONGEST}{number}"
    return summary if request.usable is None or request.usable(summary) else RATING
