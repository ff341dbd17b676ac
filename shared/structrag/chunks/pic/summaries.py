"""Summaries by the language model: the pseudo-instructions of PIC (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.asking.replies.lists import parse_answer
from structrag.asking.requests import Ask, Failed, Steps
from structrag.errors import NoModel
from structrag.text.extractive import summarise
from structrag.text.tokens import count_tokens

SUMMARY_PROMPT = """\
Summarise the following document in one paragraph of at most 200 words, in its own language. Name what it is about and its main points, \
in the words that somebody who looks for this document would use. State only what it states.

Title: {title}

Document:
{text}

Summary:"""


@dataclass(frozen=True, slots=True)
class Summary:
    """What the language model said of one text."""

    text: str = ""  # "": nothing that can be used
    failure: str = ""  # why there is none, or not of all of it; "": all went well
    no_model: bool = False  # there was none to ask


def summary_steps(
    titles: Sequence[str],
    texts: Sequence[Sequence[str]],
    prompt: str,
    *,
    window: int,
    language: str = "english",
) -> Steps[list[Summary]]:
    """One summary for each text, given as pieces in order; all are asked for at once.

    Pieces are put together into windows of up to `window` estimated tokens. A text of several
    windows is summarised window by window, then those summaries are, until one is left. An answer
    above 200 words is shortened to its central sentences. A call that fails, or an answer that is
    blank or a refusal, is left out and named in `failure`.
    """
    parts = [pack(pieces, window) for pieces in texts]
    done = [Summary() for _ in texts]
    failures = [""] * len(texts)
    waiting = [i for i, windows in enumerate(parts) if windows]
    while waiting:
        asks = [
            Ask(
                prompt.format(title=titles[i], text=part),
                component="pic.summary",
                usable=_summarises,
            )
            for i in waiting
            for part in parts[i]
        ]
        answers = iter((yield asks))
        unfinished = []
        for i in waiting:
            found = []
            for answer in [next(answers) for _ in parts[i]]:
                if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
                    return [Summary(no_model=True) for _ in texts]
                summary = "" if isinstance(answer, Failed) else parse_answer("summary", answer)[0]
                failures[i] = failures[i] or ("" if summary else _why(answer))
                found += [summarise(summary, language=language)] if summary else []
            if len(found) > 1:
                parts[i] = pack([f"{summary}\n" for summary in found], window, least=2)
                unfinished.append(i)
            else:
                done[i] = Summary(found[0] if found else "", failures[i])
        waiting = unfinished
    return done


def pack(pieces: Sequence[str], window: int, *, least: int = 1) -> list[str]:
    """Pieces joined, at least `least` of them and as many as count up to `window` estimated tokens."""
    packed: list[list[str]] = []
    size = 0
    for piece in pieces:
        tokens = count_tokens(piece)
        if packed and (size + tokens <= window or len(packed[-1]) < least):
            packed[-1].append(piece)
            size += tokens
        elif piece.strip():
            packed.append([piece])
            size = tokens
    return ["".join(parts).strip() for parts in packed]


def _summarises(answer: str) -> bool:
    return bool(parse_answer("summary", answer)[0])


def _why(answer: object) -> str:
    if isinstance(answer, Failed):
        return f"the language model failed with {type(answer.reason).__name__}: {answer.reason}"
    return "the language model gave no summary"
