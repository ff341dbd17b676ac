"""Summaries by the language model: the pseudo-instructions of PIC (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
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
    200 words is shortened to its central sentences of a `language`; None: it stays as it
    is. A call that fails, a blank answer and, with a language, a refusal are left out and named in
    `failure`.
    """
    windows = [pack(pieces, window) for pieces in texts]
    done = [ModelSummary()] * len(texts)
    failures = [""] * len(texts)
    waiting = [i for i, of_text in enumerate(windows) if of_text]
    while waiting:
        questions = []
        for i in waiting:
            questions += [
                prompt.format(title=titles[i], text=one) for one in windows[i]
            ]
        answers = yield [Ask(question, "pic.summary") for question in questions]
        if _no_model(answers):
            return [ModelSummary(no_model=True)] * len(texts)
        in_order = iter(answers)
        unfinished = []
        for i in waiting:
            of_text = islice(in_order, len(windows[i]))
            summaries, failure = _read(of_text, language)
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


def _read(answers: Iterable[Any], language: str | None) -> tuple[list[str], str]:
    """The usable summaries, and why the first other failed. They are shortened in a language; None:
    they stay whole."""
    summaries = []
    failure = ""
    for answer in answers:
        summary, _ = parse_answer("summary", answer, refusals=language is None)
        if summary:
            summaries.append(
                summarise(summary, language=language) if language else summary
            )
        elif not failure:
            failure = "the language model gave no summary"
            if isinstance(answer, Failed):
                failure = f"the language model failed with {answer}"
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


def _no_model(answers: Sequence[Any]) -> bool:
    """Return True if there was no model to answer."""
    failures = [answer for answer in answers if isinstance(answer, Failed)]
    return any(isinstance(failure.reason, NoModel) for failure in failures)
