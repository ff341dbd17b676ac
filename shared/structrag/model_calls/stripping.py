"""Strip answers of the prompt that pipelines repeat and of a model's thoughts."""

from __future__ import annotations

import re

# An answer to a shorter prompt may begin with the same words and be one.
SHORTEST = 40
LONGEST_LEAD = 2000  # characters of a chat template in front of the prompt
# The marks that chat templates write around turns.
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
    """Return the text after the prompt at a place, and after its repeats."""
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


# Tags around thoughts, and around the answer after them.
_TAG = re.compile(
    r"<(?P<close>/?)(?:think|thinking|thoughts?|reasoning|reflection|seed:think)"
    r"(?: [^<>\n]{0,80})?>"
    r"|\[(?P<close_mistral>/?)THINK\]|◁(?P<close_kimi>/?)think▷"
    r"|<\|(?:begin|(?P<close_of>end))_of_thought\|>"
    r"|<\|(?:START|(?P<close_cohere>END))_THINKING\|>"
    r"|<(?:\|channel>thought|(?P<close_gemma>channel\|))>?"
    r"|<unused9(?:4|(?P<close_medgemma>5))>|<\|(?P<close_bar>/?)think\|>",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"\s*(?:<answer>|<response>|<\|begin_of_solution\|>|<\|START_RESPONSE\|>)"
    r"(.*?)(?:</answer>|</response>|<\|end_of_solution\|>|<\|END_RESPONSE\|>|\Z)\s*",
    re.IGNORECASE | re.DOTALL,
)
# gpt-oss writes into channels; what decodes it may leave the marks of the channels out.
_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant\s*)?<\|channel\|>")
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|start)\|>")
_BARE_CHANNEL = re.compile(r"\s*analysis(?=[^\sa-z])")
_BARE_FINAL = "assistantfinal"


def without_thoughts(prompt: str, answer: str) -> str | None:
    """The answer without the thoughts in front of it, and on lines of its own between its parts.

    None where it ends amid a thought: then there is no answer.

    Example:
        >>> without_thoughts("What barks?", "<think>\\nDogs, or seals?\\n</think>\\n\\nDogs.")
        'Dogs.'
        >>> without_thoughts("What barks?", "Dogs, or seals? A <think> tag</think>Dogs.")
        'Dogs.'
        >>> without_thoughts("What barks?", "<think>\\nDogs, or") is None
        True

    Where the prompt has such tags itself, an answer may quote them: then only thoughts in front of
    it are left out.
    """
    if _CHANNEL.match(answer):
        return _final_message(answer)
    if _BARE_CHANNEL.match(answer):
        _, mark, final = answer.rpartition(_BARE_FINAL)
        return final.strip() if mark else None
    may_quote = _TAG.search(prompt) is not None
    answer_parts: list[str] = []  # what stands in front of thoughts
    begin = looked = n_quoted = 0
    is_open, may_open = False, True
    for tag in _TAG.finditer(answer):
        before, looked = answer[looked : tag.start()], tag.end()
        if any(tag.groups()) and n_quoted:
            n_quoted -= 1
        elif any(tag.groups()):
            if not is_open:  # the prompt's template has opened it
                answer_parts = []
            begin, is_open, may_open = tag.end(), False, True
        elif not is_open:
            lines = [before] if may_quote else before.split("\n")
            may_open = (may_open or len(lines) > 1) and not lines[-1].strip()
            if may_open:
                answer_parts.append(answer[begin : tag.start()])
                is_open = True
            else:
                n_quoted += may_quote
    if is_open:
        return None
    if not begin:  # there are no thoughts
        return answer
    rest = "".join([*answer_parts, answer[begin:]]).strip()
    wrapped = _ANSWER.fullmatch(rest)
    return wrapped[1].strip() if wrapped else rest


def _final_message(answer: str) -> str | None:
    """The message of the final channel; None without one."""
    begin = None
    for mark in _FINAL.finditer(answer):
        begin = mark.end()
    if begin is None:
        return None
    return _MESSAGE_END.split(answer[begin:], maxsplit=1)[0].strip()
