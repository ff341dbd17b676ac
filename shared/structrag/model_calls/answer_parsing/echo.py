"""Answers that begin with the prompt, as pipelines of transformers give them."""

from __future__ import annotations

import re

# An answer to a shorter prompt may begin with the same words and be one.
SHORTEST = 40
LONGEST_LEAD = 2000  # characters of a chat template in front of the prompt
# What chat templates write around turns.
_MARK = r"(?:<\|[^|<>\n]{1,40}\|>|<[a-z_]{1,20}_of_turn>|</?s>|\[/?INST\]|<</?SYS>>)"
_TEMPLATE = re.compile(_MARK)
_TURN = re.compile(rf"\s*(?:{_MARK}\s*(?:(?:assistant|model)\b\s*)?)+", re.IGNORECASE)
_LAST_MARK = re.compile(rf"{_MARK}\Z")
_LONGEST_MARK = 50  # characters
LONGEST_GAP = 10  # characters of white space between two echoes


def without_echo(prompt: str, answer: str) -> str:
    """The answer without the prompt in front of it.

    The marks of a chat template are left out too.

    Example:
        >>> prompt = "Which animal barks? Answer with one word, nothing else."
        >>> without_echo(prompt, prompt + " Dogs")
        'Dogs'
        >>> chat = "<|im_start|>user\\n" + prompt + "<|im_end|>\\n<|im_start|>assistant\\nDogs"
        >>> without_echo(prompt, chat)
        'Dogs'

    An answer without an echo stays as it is, and so does one to a prompt below 40 characters. An
    answer that is nothing but the echo, however often, is empty.
    """
    asked = prompt.strip()
    if len(asked) < SHORTEST:
        return answer
    place = answer.find(asked, 0, LONGEST_LEAD + len(asked))
    if place < 0:
        return answer
    lead, rest = answer[:place], _behind_echoes(asked, answer, place)
    in_template = _TEMPLATE.search(lead)
    # A model may quote the prompt within an answer: then it is no echo.
    if lead.strip() and not in_template:
        return answer
    turn = _TURN.match(rest) if in_template else None
    if turn is not None:
        rest = _without_last_marks(rest[turn.end() :])
    return rest.strip()


def _behind_echoes(asked: str, answer: str, place: int) -> str:
    """What stands behind the prompt at a place, and behind its repeats."""
    end = place + len(asked)
    while (place := answer.find(asked, end, end + len(asked) + LONGEST_GAP)) >= 0:
        if answer[end:place].strip():
            break
        end = place + len(asked)
    return answer[end:]


def _without_last_marks(text: str) -> str:
    """The text without the marks at its end. One pattern for all takes quadratic time."""
    end = len(text.rstrip())
    while mark := _LAST_MARK.search(text, max(0, end - _LONGEST_MARK), end):
        end = mark.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]
