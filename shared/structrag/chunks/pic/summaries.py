"""Summaries by the language model: the pseudo-instructions of PIC (section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from structrag.errors import NoModel
from structrag.model_calls.answers import parse_answer
from structrag.model_calls.requests import Ask, Failed, Flow
from structrag.text.extractive import summarise
from structrag.text.tokens import count_tokens

SUMMARY_PROMPT = """\
Summarise the following document in one paragraph of at most 200 words, in its own language. \
Name what it is about and its main points, \
in the words that somebody who looks for this document would use. State only what it states.

Title: {title}

Document:
{text}

Summary:"""


# Table 7 of the paper.
PAPER_PROMPT = """\
Read this passage:
{text}
Write a summary for this passage. Your summary should be concise and informative. \
Give the summary directly, without any other text."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The answer of the language model about one text."""

    text: str = ""  # "": nothing that can be used
    failure: str = ""  # why there is none, or not of all of it; "": all went well
    no_model: bool = False  # there was none to ask


def summary_flow(
    titles: Sequence[str],
    texts: Sequence[Sequence[str]],
    prompt: str,
    *,
    window: int | None,
    language: str | None = "english",
) -> Flow[list[ModelSummary]]:
    """One summary for each text, a text being pieces in order.

    All are asked for at once. Pieces are put together into windows of up to `window` estimated
    tokens. A text of several windows is summarised window by window, then those summaries are,
    until one is left. With `window` None a text is one call, whatever its length. An answer above
    200 words is shortened to its central sentences of a `language`; None: it stays whole. A call
    that fails, or an answer that is blank or a refusal, is left out and named in `failure`.
    """
    windows = [pack(pieces, window) for pieces in texts]
    done = [ModelSummary()] * len(texts)
    failures = [""] * len(texts)
    waiting = [i for i, of_text in enumerate(windows) if of_text]
    while waiting:
        answers = yield from _answer_flow(prompt, titles, windows, waiting)
        if _no_model(answers):
            return [ModelSummary(no_model=True)] * len(texts)
        unfinished = []
        for i in waiting:
            summaries, failure = _read(answers[i], language)
            failures[i] = failures[i] or failure
            if len(summaries) > 1:
                # At least two a window, so that there are fewer in every round.
                windows[i] = pack(
                    [f"{summary}\n" for summary in summaries], window, least=2
                )
                unfinished.append(i)
            else:
                done[i] = ModelSummary(
                    "".join(summaries), failures[i]
                )  # of one or none
        waiting = unfinished
    return done


def _answer_flow(
    prompt: str,
    titles: Sequence[str],
    windows: Sequence[Sequence[str]],
    waiting: Sequence[int],
) -> Flow[dict[int, list[Any]]]:
    """The answers for the waiting texts' windows, by the text's number."""
    questions = []
    for i in waiting:
        questions += [prompt.format(title=titles[i], text=text) for text in windows[i]]
    answers = yield [Ask(question, "pic.summary") for question in questions]
    in_order = iter(answers)
    return {i: list(islice(in_order, len(windows[i]))) for i in waiting}


def _read(answers: Sequence[Any], language: str | None) -> tuple[list[str], str]:
    """The usable summaries, and why the first other failed. They are shortened in a language; None:
    they stay whole."""
    summaries = []
    failure = ""
    for answer in answers:
        summary = (
            "" if isinstance(answer, Failed) else parse_answer("summary", answer)[0]
        )
        if summary:
            summaries.append(
                summarise(summary, language=language) if language else summary
            )
        elif not failure:
            failure = _why(answer)
    return summaries, failure


def pack(pieces: Sequence[str], window: int | None, *, least: int = 1) -> list[str]:
    """Pieces joined up to `window` estimated tokens. With None all of them are joined. At least
    `least` are joined, however many tokens they count."""
    packed: list[list[str]] = []
    size = 0
    for piece in pieces:
        tokens = count_tokens(piece)
        fits = window is None or size + tokens <= window
        if packed and (fits or len(packed[-1]) < least):
            packed[-1].append(piece)
            size += tokens
        elif piece.strip():
            packed.append([piece])
            size = tokens
    return ["".join(parts).strip() for parts in packed]


def _no_model(answers: Mapping[int, Sequence[Any]]) -> bool:
    """Return True if there was no model to answer."""
    in_order = chain.from_iterable(answers.values())
    failures = [answer for answer in in_order if isinstance(answer, Failed)]
    return any(isinstance(failure.reason, NoModel) for failure in failures)


def _why(answer: object) -> str:
    if isinstance(answer, Failed):
        return f"the language model failed with {answer}"
    return "the language model gave no summary"
