"""Settings, results and costs of selecting evidence (D3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import (
    InvalidParameter,
    NoModel,
    check_at_least,
    check_choice,
    check_optional,
    check_template,
)
from structrag.model_calls.requests import Failed, why_unusable
from structrag.model_calls.usage import calls_line, tokens_of
from structrag.models.llm import as_language_model
from structrag.models.scorers import as_cross_encoder, as_monot5
from structrag.reading.settings import changed
from structrag.text.tokens import TokenCounter, check_counter, count_tokens


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of one stage, or of several added up.

    Attributes:
        calls: Prompts for the language model, those answered by the cache included.
        prompt_tokens: Tokens of these prompts: as the model tells, else as counted here.
        answer_tokens: Tokens of the answers; a failed call has none.
        scored: Paragraphs or sections scored by a reranker, BM25 or vectors.
    """

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    scored: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together: what the paper counts."""
        return self.prompt_tokens + self.answer_tokens

    def __str__(self) -> str:
        scored = (
            f"; {self.scored:,} paragraphs or sections scored" if self.scored else ""
        )
        return calls_line(self.calls, self.prompt_tokens, self.answer_tokens) + scored

    def __add__(self, other: StageCost) -> StageCost:
        return StageCost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
            self.scored + other.scored,
        )


# Share of a context window that is filled by estimate: texts have up to 1.1 times the estimate by
# cl100k_base, and models' own tokenizers make a few more.
ESTIMATED_SHARE = 0.85


def window_tokens(context_tokens: int, counter: TokenCounter) -> int:
    """The tokens of a window that are filled; fewer of estimated ones."""
    return (
        int(context_tokens * ESTIMATED_SHARE)
        if counter is count_tokens
        else context_tokens
    )


def model_counter(counter: TokenCounter, llm: Any) -> TokenCounter:
    """The chosen counter; without one that of the model's own tokenizer. A model that has none
    keeps the estimate."""
    if counter is not count_tokens:
        return counter
    return getattr(llm, "count_tokens", None) or counter


def call_cost(
    prompt: str, answer: object, counter: TokenCounter = count_tokens
) -> StageCost:
    """The cost of one call. A failed one's answer, no string, has no tokens."""
    return StageCost(1, *tokens_of(prompt, answer, counter))


ASKING = ("base", "hierbase")
SCORING = ("monot5", "cross_encoder", "lexical", "dense")
STRATEGIES = ASKING + SCORING

PROMPT = """\
Paragraphs of a document, each behind its id:

{paragraphs}

Question: {question}

Which of these paragraphs hold information that helps to answer the question? \
Answer with their ids, separated by commas, and nothing else. \
If none of them does, answer "none"."""

PAPER_PROMPT = """\
{paragraphs}
Question:
{question}
Find paragraph ids that contains relevant information for answering the question. \
Respond with comma-separated id list. \
Provide an empty response if none of the paragraphs are relevant."""


def empty_is_none(prompt: str) -> bool:
    """Return True if an empty answer means "none". If the prompt asks for the word "none", an empty
    answer is a failure."""
    return '"none"' not in prompt


@dataclass(frozen=True, slots=True)
class Selection:
    """Settings of `select_flow`: which paragraphs are evidence.

    Example:
        >>> Selection("hierbase+lexical", k=5).stages
        ('hierbase', 'lexical')

    Attributes:
        strategy: "base": the language model reads all paragraphs and names the relevant ids, in as
            few calls as they fit. "hierbase": it reads summaries first, then the paragraphs it
            named. "monot5", "cross_encoder", "lexical" (BM25) and "dense" score paragraphs and keep
            the best. Some of them joined by "+", such as "base+monot5": each selects from what the
            one before it kept. "auto": "base" where there is a language model, else "lexical".
        context_tokens: The language model's context window. A call shows paragraphs of at most
            context - prompt - question - answer.
        answer_tokens: Reserved for the answer.
        k: At most so many paragraphs of a scoring strategy; None: as many as reach the threshold.
        threshold: Share of the best paragraph's score (a probability with "monot5" and
            "cross_encoder") that others must reach, from 0 to 1; of these two also at least 0.05.
            None: 0.5 for "lexical" and where k is None, none otherwise.
        chain_k: At most so many paragraphs that a scoring strategy hands on to the next one of a
            chain (by the same threshold, if given).
        hier_fallback: With "hierbase", whether "base" over all paragraphs follows where no summary
            was chosen; False: nothing is (paper).
        short_tokens: With "hierbase", paragraphs of at most so many tokens are shown instead of a
            summary, as is one that is shorter than its summary; 0: never (paper).
        summariser: With "hierbase", the language model that summarises paragraphs (S in the paper),
            a `TransformersSummariser` for example; its calls are in `usage`, not in a result's
            cost, and `cache` keeps them. A model of LangChain or LlamaIndex is wrapped, as in
            `LangChainModel(...)`. None: extracts. With `preset="paper"` of `D3Retriever`
            that of the index, else the retriever's. `D3Index(paragraph_summaries=True)` keeps
            summaries with the index, and they come first.
        summary_prompt: What it is asked, with {text}, {title} and {words}, how many the summary may
            have by `short_tokens`. None: what the model says itself, else ours.
        with_path: Whether "monot5" and "cross_encoder" see the heading path in front of a
            paragraph; False: its text alone (paper).
        monot5: For "monot5": a `MonoT5`, the folder or name of a checkpoint on this machine, or an
            object with `score(question, texts) -> natural log-probabilities`.
        cross_encoder: For "cross_encoder": a `CrossEncoder` of sentence-transformers, the folder or
            name of one on this machine, or an object with `predict(pairs)` or `score(question,
            texts)`.
        prompt: What the language model is asked, with {paragraphs} and {question}.
        counter: Token counter, `str -> int`, of the language model. By default its own tokenizer
            counts, where it has one (`count_tokens`); else tokens are estimated, and 85% of a
            window are filled.
        language: Of stop words and sentence ends, an English name such as "german".

    Raises:
        InvalidParameter: a setting is not allowed, or a strategy's model is missing.
    """

    strategy: str = "auto"
    context_tokens: int = 4096
    answer_tokens: int = 256
    k: int | None = 3
    threshold: float | None = None
    chain_k: int = 10
    hier_fallback: bool = True
    short_tokens: int = 60
    summariser: Any = None
    summary_prompt: str | None = None
    with_path: bool = True
    monot5: Any = None
    cross_encoder: Any = None
    prompt: str = PROMPT
    counter: TokenCounter = count_tokens
    language: str = "english"

    def __post_init__(self) -> None:
        for name in self.stages:
            check_choice(
                "strategy",
                name,
                STRATEGIES if "+" in self.strategy else (*STRATEGIES, "auto"),
            )
        check_at_least("context_tokens", self.context_tokens, 1)
        check_at_least("answer_tokens", self.answer_tokens, 0)
        check_at_least("chain_k", self.chain_k, 1)
        check_at_least("short_tokens", self.short_tokens, 0)
        check_optional("k", self.k, 1)
        if self.threshold is not None:
            check_at_least("threshold", self.threshold, 0)
            if self.threshold > 1:
                raise InvalidParameter(
                    "threshold must be a share of the best score, from 0 to 1; got "
                    f"{self.threshold!r}."
                )
        check_template("prompt", self.prompt, ["paragraphs", "question"])
        if self.summary_prompt is not None:
            places = ["title", "words"]
            check_template(
                "summary_prompt", self.summary_prompt, ["text"], optional=places
            )
        check_counter(self.counter)
        for name in ("monot5", "cross_encoder"):
            if name in self.stages and getattr(self, name) is None:
                raise InvalidParameter(
                    f"{name} must be passed with strategy {self.strategy!r}; got None. Pass a "
                    'loaded model or its folder, or use strategy "lexical", which needs none.'
                )
        summariser = as_language_model(self.summariser, "summariser")
        object.__setattr__(self, "summariser", summariser)
        object.__setattr__(self, "monot5", as_monot5(self.monot5))
        object.__setattr__(self, "cross_encoder", as_cross_encoder(self.cross_encoder))

    @classmethod
    def paper(cls, **changes: Any) -> Selection:
        """The settings of the paper. "base" with its prompt; in "hierbase" every paragraph is
        summarised, and there is no fallback."""
        settings = {
            "strategy": "base",
            "hier_fallback": False,
            "short_tokens": 0,
            "with_path": False,
            "prompt": PAPER_PROMPT,
        }
        return changed(cls, settings, changes)

    @property
    def stages(self) -> tuple[str, ...]:
        """The strategies of the chain, in order."""
        return tuple(part.strip() for part in self.strategy.split("+"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """The selected paragraphs and the cost of selecting them."""

    positions: tuple[int, ...]  # in the sequence of paragraphs given, ascending
    # one a position, by the last strategy that scores; None: there was none
    scores: tuple[float, ...] | None = None
    cost: StageCost = field(default_factory=StageCost)
    dropped: int = 0  # ids in answers that were not shown in that call
    # calls that failed, or whose answer could not be used; BM25 selected instead
    degraded: int = 0
    # of the language model as they came, in the order of the calls; "" for a failed call
    answers: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()  # why calls failed, or what could not be used
    # The scores from 0 to 1; None: `scores` are.
    shares: tuple[float, ...] | None = None
    # The last strategy of a `Selection` that scores; "" where there is none.
    scored_by: str = ""


@dataclass(slots=True)
class CallStats:
    """The results and cost of a stage's calls while they are collected."""

    cost: StageCost = field(default_factory=StageCost)
    dropped: int = 0
    degraded: int = 0
    answers: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def note(
        self,
        prompt: str,
        answer: str | Failed,
        counter: TokenCounter,
        usable: Callable[[str], bool],
    ) -> str | None:
        """Count a call, and return its answer.

        None if the call failed, or the answer cannot be used.

        Raises:
            NoModel: there is no language model.
        """
        if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
            raise answer.reason
        self.cost += call_cost(prompt, answer, counter)
        self.answers.append("" if isinstance(answer, Failed) else answer)
        if isinstance(answer, Failed) or not usable(answer):
            self.failures.append(why_unusable(answer))
            return None
        return answer
