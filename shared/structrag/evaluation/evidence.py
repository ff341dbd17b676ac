"""Evidence F1 by the rule of QASPER's official evaluator (allenai/qasper-led-baseline)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from structrag.errors import InvalidParameter

_FLOAT = "FLOAT SELECTED"  # QASPER's marker of evidence that is a figure or table


def evidence_f1(
    annotations: Iterable[Sequence[str]],
    predicted: Sequence[str],
    *,
    deduplicate: bool = True,
    text_only: bool = False,
) -> float | None:
    """The best paragraph F1 over a question's annotators, in [0, 1].

    Paragraphs are compared as exact strings, so predict the data set's own. An annotator's score
    is 1 when both lists are empty and 0 without a common paragraph. Else it is the harmonic mean of
    |common| / len(predicted) and |common| / len(gold), where the lengths are those of the lists,
    duplicates included. None without annotators.

    Example:
        >>> evidence_f1([["p1", "p2"], ["p3"]], ["p1"])
        0.6666666666666666

    Args:
        annotations: One list of gold paragraphs per annotator.
        predicted: The paragraphs chosen.
        deduplicate: Whether repeated predictions are dropped first, which the official script does
            not do. Gold stays as it is.
        text_only: Whether gold paragraphs that stand for a figure or table ("FLOAT SELECTED") are
            dropped. An annotator whose list becomes empty then expects an empty prediction.
    """
    annotations = list(annotations)
    if any(isinstance(gold, str) for gold in annotations):
        raise InvalidParameter(
            "annotations must be one list of paragraphs per annotator; got a string. "
            "The gold comes first, then what was predicted."
        )
    paragraphs = list(dict.fromkeys(predicted)) if deduplicate else list(predicted)
    scores = []
    for gold in annotations:
        texts = [text for text in gold if not (text_only and _FLOAT in text)]
        scores.append(_paragraph_f1(paragraphs, texts))
    return max(scores, default=None)


def _paragraph_f1(predicted: list[str], gold: list[str]) -> float:
    if not predicted and not gold:
        return 1.0
    overlap = len(set(predicted) & set(gold))
    if not overlap:
        return 0.0
    precision, recall = overlap / len(predicted), overlap / len(gold)
    return 2 * precision * recall / (precision + recall)
