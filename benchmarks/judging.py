"""Answers written from hits, judged in pairs by a model or graded by people.

After MC-indexing (section 5.2, appendix G), PIC (appendix D) and HiQA (A.1, A.3, B.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from structrag.errors import InvalidParameter, check_choice
from structrag.model_calls.answers import first_value
from structrag.model_calls.requests import Ask, Failed, Flow, ask
from structrag.model_calls.runner import Runner
from structrag.models.llm import as_language_model

# Figure 10 of MC-indexing.
ANSWER_PROMPT = """\
You are a helpful question answering assistant. You are good at answering question based on \
provided contents.

Contents: {quotes}

Question: {question}

Instruction:

Assume you do not have any background and internal knowledge about this given contents and \
question. You need to answer the question using the given contents only. The answer need to be \
short and accurate."""

# Table 8 of PIC.
SHORT_ANSWER_PROMPT = """\
Refer to the passages below and answer the following question with just a few words.
{quotes}
Refer to the context above and answer the following question with just a few words.
Question: {question}
The answer is"""

# HiQA prints none: the model gets context and question, and may answer with images (A.1, A.3).
IMAGE_ANSWER_PROMPT = """\
Answer the question by the context below and by nothing else. Each part of the context begins with \
the titles it stands under: use only parts about what is asked. Where an image in the context, \
![...](...), helps to answer, repeat its reference in the answer. If the context does not hold the \
answer, say so.

Context:
{quotes}

Question: {question}

Answer:"""

# Of each paper: its prompt, and what stands between quotes.
ANSWER_PROMPTS = {
    "mc": (ANSWER_PROMPT, "\n\n"),
    "pic": (SHORT_ANSWER_PROMPT, "\n"),
    "hiqa": (IMAGE_ANSWER_PROMPT, "\n\n"),
}

# Figure 11 of MC-indexing.
JUDGE_PROMPT = """\
You are a helpful assistant for evaluating answers. Given a question and ground truth answer, \
there will be two possible answers. Provide a score from 0-10 for each answer.

Question: {question}

Ground truth answer: {truth}

Answer 1: {first}
Answer 2: {second}

Instruction: Assume you do not have any background and internal knowledge about this given \
contents and question. You need to evaluate each answer and give a score based on the ground truth \
answer. You must write out your reasoning of the score based on relevance to the answer. If both \
answers are exactly similar, you must ensure the scores and reasoning for both answers are the \
same. Finally in a new line, you must return the scores and nothing else. The scores must be \
returned in the following json format: {{"answer_1_score":"...", "answer_2_score":"..."}}"""

_KEYS = ("answer_1_score", "answer_2_score")


def answer_prompt(question: str, quotes: Sequence[str], *, paper: str = "mc") -> str:
    """The prompt for a short answer from quotes alone.

    It is that of MC-indexing ("mc", figure 10), that of PIC ("pic", table 8), or one for HiQA
    ("hiqa"), whose paper prints none: ours asks for images where they help.

    Example:
        >>> prompt = answer_prompt("What leaks?", ["The pump leaks.", "Cats sleep."])
        >>> prompt.splitlines()[2:4]
        ['Contents: The pump leaks.', '']

    Raises InvalidParameter for another paper.
    """
    template, between = ANSWER_PROMPTS[
        check_choice("paper", paper, tuple(ANSWER_PROMPTS))
    ]
    return template.format(quotes=between.join(quotes), question=question)


def judge_pair(
    question: str, truth: str, answers: tuple[str, str], llm: Any
) -> tuple[float, float] | None:
    """Two answers scored from 0 to 10 against the true one.

    After MC-indexing, figure 11.

    Example:
        >>> def llm(prompt):
        ...     return 'The first is right.\\n{"answer_1_score": "9", "answer_2_score": "2"}'
        >>> judge_pair("What leaks?", "The pump.", ("A pump.", "A cat."), llm)
        (9.0, 2.0)

    Models favour the answer they see first: judge both orders, then see `winners`. None where the
    call fails, or its answer holds no two scores.
    """
    return Runner(llm=as_language_model(llm)).run(_judge_flow(question, truth, answers))


def winners(rounds: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Which of two answers wins by scores, and which by rounds.

    0 or 1, or -1 for a tie. Each round has the scores of the first and the second answer, whichever
    was shown first (MC-indexing, section 5.2). By scores the higher sum wins; by rounds who wins
    all of them.

    Example:
        >>> winners([(9, 7), (6, 7)])
        (0, -1)
    """
    leads = [first - second for first, second in rounds]
    by_scores = _sign(sum(leads))
    signs = set(map(_sign, leads))
    return by_scores, signs.pop() if len(signs) == 1 else -1


def accuracy(grades: Iterable[float]) -> float | None:
    """The mean grade of answers (HiQA, B.2): 1 for a correct one, 0.5 for one that is partly so, 0
    for a wrong one.

    In [0, 1]. None without grades. Raises InvalidParameter for another grade.

    Example:
        >>> accuracy([1, 0.5, 0, 1])
        0.625
    """
    graded = list(grades)
    for grade in graded:
        if grade not in (0, 0.5, 1):
            raise InvalidParameter(
                f"grades must be 1 (correct), 0.5 (partly) or 0 (wrong); got {grade!r}."
            )
    return sum(graded) / len(graded) if graded else None


def adequacy(ranks: Sequence[int]) -> list[int]:
    """How clear and informative answers of K methods to one question are (HiQA, B.2).

    `ranks` are those that an annotator gave the methods' answers, from 1 for the best to K; a rank
    r counts K + 1 - r, from 1 to K, and higher is better. Raises InvalidParameter for another rank.

    Example:
        >>> adequacy([2, 1, 3])
        [2, 3, 1]
    """
    most = len(ranks)
    for rank in ranks:
        if rank not in range(1, most + 1):
            raise InvalidParameter(
                f"ranks must be from 1 to {most}, the number of methods; got {rank!r}."
            )
    return [most + 1 - rank for rank in ranks]


def _sign(lead: float) -> int:
    """The answer that leads."""
    return -1 if lead == 0 else int(lead < 0)


def _judge_flow(
    question: str, truth: str, answers: tuple[str, str]
) -> Flow[tuple[float, float] | None]:
    first, second = answers
    prompt = JUDGE_PROMPT.format(
        question=question, truth=truth, first=first, second=second
    )
    answer = yield from ask(Ask(prompt, "judge/1"))
    return None if isinstance(answer, Failed) else parse_scores(answer)


def parse_scores(answer: str) -> tuple[float, float] | None:
    """The last two scores in a judge's answer, or None."""
    for start in reversed([i for i, sign in enumerate(answer) if sign == "{"]):
        rest = answer[start:]
        # Other braces and brackets may follow the scores, or stand among them.
        for text in (rest[: rest.find("}") + 1], rest):
            value = first_value(text, literals=True)
            if isinstance(value, dict) and all(key in value for key in _KEYS):
                return _pair(value)
    return None


def _pair(value: Mapping[str, Any]) -> tuple[float, float] | None:
    """Both scores as numbers, None unless they are from 0 to 10."""
    try:
        first, second = (float(value[key]) for key in _KEYS)
    except (TypeError, ValueError):
        return None
    in_range = 0 <= first <= 10 and 0 <= second <= 10
    return (first, second) if in_range else None
