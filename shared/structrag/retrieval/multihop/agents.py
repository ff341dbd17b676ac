"""Several searches over any retriever: self-ask (D3, section 5.2; Press et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import (
    InvalidParameter,
    ModelFailed,
    NoModel,
    check_at_least,
    check_optional,
    check_query,
)
from structrag.model_calls.requests import Ask, Failed, Flow, LanguageModel, ask
from structrag.models.llm import as_language_model
from structrag.records import Hit
from structrag.retrieval.d3.selection import call_cost
from structrag.retrieval.multihop.hops import (
    EVIDENCE_TOKENS,
    Answered,
    Costs,
    Hop,
    SelfAskPrompts,
    SelfAskResult,
    Stopped,
    add_costs,
    answer_flow,
    beginning,
    each_once,
    interleaved,
    is_nothing,
    read_reply,
    retrieved_flow,
)
from structrag.retrieval.retriever import Retriever, check_retriever
from structrag.text.names import fold
from structrag.text.tokens import count_tokens

HISTORY_TOKENS = 200  # of an intermediate answer in later prompts


@dataclass(slots=True)
class _Rounds:
    question: str
    where: Any
    trace: list[Hop] = field(default_factory=list)
    # For the question itself, if no hop has any.
    direct: list[Hit] = field(default_factory=list)
    cost: Costs = field(default_factory=dict)
    answered: int = 0  # calls
    errors: list[Exception] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(cost.tokens for cost in self.cost.values())

    @property
    def history(self) -> str:
        """The hops as the model sees them, answers up to 200 tokens."""
        answers = [
            beginning(hop.answer, HISTORY_TOKENS) or "unknown" for hop in self.trace
        ]
        turns = zip(self.trace, answers, strict=True)
        return "".join(
            f"Follow up: {hop.follow_up}\nIntermediate answer: {answer}\n"
            for hop, answer in turns
        )

    @property
    def evidence(self) -> list[Hit]:
        return each_once(
            [hit for hop in self.trace for hit in hop.evidence] + self.direct
        )

    def note(self, answer: Answered) -> None:
        add_costs(self.cost, {"answer": answer.cost})
        if answer.failure is not None:
            self.errors.append(answer.failure)
        elif answer.cost.calls:
            self.answered += 1


class SelfAsk:
    """Answers a question by follow-up questions, each with its own evidence.

    Example:
        >>> from structrag import Index, MultiViewRetriever, read_text
        >>> index = Index(views=["raw"])
        >>> _ = index.add([read_text("The X100 is made by Acme Works.")])
        >>> def llm(prompt: str) -> str:
        ...     if "Evidence:" in prompt:
        ...         return "Acme Works"
        ...     if "Intermediate answer:" in prompt:
        ...         return "So the final answer is: Acme Works"
        ...     return "Follow up: Who makes the X100?"
        >>> result = SelfAsk(MultiViewRetriever(index), llm).answer("Which firm built the X100?")
        >>> result.answer, [hop.follow_up for hop in result.trace]
        ('Acme Works', ['Who makes the X100?'])

    Follow-ups continue until the model gives the final answer, or until `max_followups`, a repeated
    follow-up (ignoring case and white space), two empty answers in a row, the token budget, or an
    unusable reply. In these cases one direct question is asked over all evidence, shared among the
    hops, or without evidence over what the retriever finds for the question itself. A failed direct
    question is asked once more.

    Args:
        retriever: The retriever for the follow-ups, with its own number of hits. Its own model
            answers its prompts, and its cache, limits and counts (or those of its index) apply to
            all calls.
        llm: The model that asks and answers: a function `str -> str` or a `LanguageModel`; None:
            the model of the retriever or its index.
        max_followups: The largest number of follow-ups.
        min_followups: A final answer before this number of follow-ups is rejected, and the question
            itself is looked up instead. 0: a model may answer from memory (the paper).
        token_budget: The limit for the tokens of all prompts and answers of a question, the
            retriever's included; no new round starts that would exceed it. A started round is
            finished, and the direct question is always asked. None: no limit.
        evidence_tokens: The token limit of the evidence in one prompt.
        prompts: The prompts of the model.
    """

    def __init__(
        self,
        retriever: Retriever,
        llm: Any = None,
        *,
        max_followups: int = 4,
        min_followups: int = 1,
        token_budget: int | None = None,
        evidence_tokens: int = EVIDENCE_TOKENS,
        prompts: SelfAskPrompts | None = None,
    ) -> None:
        check_at_least("max_followups", max_followups, 1)
        check_at_least("min_followups", min_followups, 0)
        if min_followups > max_followups:
            raise InvalidParameter(
                f"min_followups must be at most max_followups, {max_followups}; got "
                f"{min_followups}."
            )
        check_at_least("evidence_tokens", evidence_tokens, 1)
        check_optional("token_budget", token_budget, 0)
        check_retriever(retriever)
        self.retriever = retriever
        self.llm: LanguageModel | None = as_language_model(llm)
        self.max_followups = max_followups
        self.min_followups = min_followups
        self.token_budget = token_budget
        self.evidence_tokens = evidence_tokens
        self.prompts: SelfAskPrompts = prompts or SelfAskPrompts()

    def answer(self, question: str, *, where: Any = None) -> SelfAskResult:
        """The answer with its evidence, every hop and the cost. `where` limits the search, as in
        the retriever.

        The result counts failed calls.

        Raises:
            ModelFailed: no call of the model succeeded, not even the direct question (NoModel:
                there is no model).
        """
        return self.retriever.run(self.flow(question, where=where))

    async def aanswer(self, question: str, *, where: Any = None) -> SelfAskResult:
        """`answer` on an event loop."""
        return await self.retriever.arun(self.flow(question, where=where))

    def flow(self, question: str, *, where: Any = None) -> Flow[SelfAskResult]:
        """`answer` as a flow."""
        check_query(question)
        state = _Rounds(question, where)
        stopped, answer = yield from self._rounds(state)
        if stopped != "final_answer":
            answer = yield from self._direct(state)
        return SelfAskResult(
            question,
            answer,
            state.evidence,
            state.trace,
            stopped,
            state.cost,
            len(state.errors),
        )

    def _rounds(self, state: _Rounds) -> Flow[tuple[Stopped, str]]:
        """Ask follow-ups; why that stopped, and the final answer or ""."""
        asked: set[str] = set()
        while True:
            prompt = self.prompts.next.format(
                question=state.question, history=state.history
            )
            if self._is_too_much(state.tokens + count_tokens(prompt)):
                return "token_budget", ""
            kind, text = yield from self._next(state, prompt)
            if not kind:
                return "no_reply", ""
            if kind == "final":
                if len(state.trace) >= self.min_followups:
                    return "final_answer", text
                text = state.question  # what was made up without evidence is not taken
            if fold(text) in asked:
                return "repeated_followup", ""
            if len(state.trace) >= self.max_followups:
                return "max_followups", ""
            asked.add(fold(text))
            yield from self._hop(state, text)
            if len(state.trace) > 1 and all(
                is_nothing(hop.answer) for hop in state.trace[-2:]
            ):
                return "empty_answers", ""

    def _is_too_much(self, tokens: int) -> bool:
        return self.token_budget is not None and tokens > self.token_budget

    def _next(self, state: _Rounds, prompt: str) -> Flow[tuple[str, str]]:
        """Ask for the next step: "follow_up" or "final", and its text."""
        reply = yield from ask(Ask(prompt, "selfask.next/1", llm=self.llm))
        add_costs(state.cost, {"ask": call_cost(prompt, reply)})
        if isinstance(reply, Failed):
            state.errors.append(reply.reason)
            return "", ""
        state.answered += 1
        return read_reply(reply)

    def _hop(self, state: _Rounds, follow_up: str) -> Flow[None]:
        retrieved = yield from retrieved_flow(self.retriever, follow_up, state.where)
        answered = yield from answer_flow(
            follow_up,
            retrieved.hits,
            llm=self.llm,
            max_tokens=self.evidence_tokens,
            prompt=self.prompts.answer,
            component="selfask.answer/1",
        )
        add_costs(state.cost, retrieved.cost)
        state.note(answered)
        cost = sum(retrieved.cost.values(), answered.cost)
        evidence = tuple(retrieved.hits)
        state.trace.append(
            Hop(follow_up, answered.answer, evidence, cost, retrieved.result)
        )

    def _direct(self, state: _Rounds) -> Flow[str]:
        """The answer over all evidence. "" where both calls failed."""
        if not state.evidence:
            retrieved = yield from retrieved_flow(
                self.retriever, state.question, state.where
            )
            state.direct = retrieved.hits
            add_costs(state.cost, retrieved.cost)
        hits = interleaved([*(hop.evidence for hop in state.trace), state.direct])
        for _ in range(2):
            answered = yield from answer_flow(
                state.question,
                hits,
                llm=self.llm,
                max_tokens=self.evidence_tokens,
                prompt=self.prompts.final,
                places={"history": state.history},
                component="selfask.final/1",
            )
            state.note(answered)
            if answered.failure is None:
                return answered.answer
        # An empty answer is a result only where the model answered at all.
        if not state.answered:
            raise _no_answer(state.errors)
        return ""


def _no_answer(errors: Sequence[Exception]) -> ModelFailed:
    if isinstance(errors[-1], NoModel):
        return NoModel(
            "Self-ask needs a language model: pass llm=..., or use a retriever that has one."
        )
    failure = ModelFailed(
        f"All {len(errors)} calls of the language model failed; the last error was: "
        f"{errors[-1]!r}."
    )
    failure.__cause__ = errors[-1]
    return failure
