"""Answers that begin with the model's thoughts, as those of reasoning models do."""

from __future__ import annotations

import re

# What stands around thoughts, and what around the answer behind them.
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
    kept: list[str] = []  # what stands in front of thoughts
    begin = looked = n_quoted = 0
    is_open, may_open = False, True
    for tag in _TAG.finditer(answer):
        before, looked = answer[looked : tag.start()], tag.end()
        if any(tag.groups()) and n_quoted:
            n_quoted -= 1
        elif any(tag.groups()):
            if not is_open:  # the prompt's template has opened it
                kept = []
            begin, is_open, may_open = tag.end(), False, True
        elif not is_open:
            lines = [before] if may_quote else before.split("\n")
            may_open = (may_open or len(lines) > 1) and not lines[-1].strip()
            if may_open:
                kept.append(answer[begin : tag.start()])
                is_open = True
            else:
                n_quoted += may_quote
    if is_open:
        return None
    if not begin:  # there are no thoughts
        return answer
    rest = "".join([*kept, answer[begin:]]).strip()
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
