"""Selecting evidence: from the paragraphs of the chosen sections to those that answer the question
(D3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structrag.asking.replies.ids import parse_ids, usable_ids
from structrag.asking.requests import Ask, Failed, Steps
from structrag.errors import NoModel
from structrag.records import Chunk
from structrag.retrieval.d3.costs import StageCost, call_cost
from structrag.retrieval.d3.packing import Part, pack_calls
from structrag.retrieval.d3.reranking import keep, lexical_scores, score_steps
from structrag.retrieval.d3.selection import ASKING, Evidence, Selection, Tally
from structrag.text.extractive import summarise

COMPONENT = "d3.select/1"
LEAST_BUDGET = 64  # tokens of paragraphs; with less room than that no call is made
WORDS_PER_TOKEN = 1 / 1.3  # as `count_tokens` estimates


def select_steps(
    question: str, paragraphs: Sequence[Chunk], settings: Selection | None = None
) -> Steps[Evidence]:
    """The evidence for a question among paragraphs in reading order, as steps. No paragraph gives
    no evidence and takes no call.

    Whatever the language model answers, the result is a subset of the paragraphs, in reading order.

    Raises:
        NoModel: the strategy asks a language model or an embedder, and there is none (not with
            "auto" or "lexical").
        InvalidAnswer: a reranker did not give one finite number for each paragraph.
    """
    settings = settings or Selection()
    if settings.strategy != "auto":
        return (yield from _chain_steps(settings.stages, question, paragraphs, settings))
    try:
        return (yield from _chain_steps(("base",), question, paragraphs, settings))
    except NoModel:
        return (yield from _chain_steps(("lexical",), question, paragraphs, settings))


def selection_cost(
    question: str, paragraphs: Sequence[Chunk], settings: Selection | None = None
) -> StageCost:
    """What `select_steps` will take at most, without the answers' tokens: exact for a single
    strategy but "hierbase".

    Of chains and of "hierbase", whose later passes read what earlier ones keep, the most that those
    can keep is counted: the longest paragraphs. "auto" is counted as "base".
    """
    settings = settings or Selection()
    stages = ("base",) if settings.strategy == "auto" else settings.stages
    texts = [paragraph.text for paragraph in paragraphs]
    cost = StageCost()
    for stage in stages:
        if stage not in ASKING:
            cost += StageCost(scored=len(texts))
            longest = sorted(range(len(texts)), key=lambda i: (-settings.counter(texts[i]), i))[
                : settings.chain_k
            ]
            texts = [texts[i] for i in sorted(longest)]
            paragraphs = [paragraphs[i] for i in sorted(longest)]
            continue
        if stage == "hierbase":
            cost += asking_cost(question, short_forms(paragraphs, settings), settings)
        cost += asking_cost(question, texts, settings)
    return cost


def _chain_steps(
    stages: Sequence[str], question: str, paragraphs: Sequence[Chunk], settings: Selection
) -> Steps[Evidence]:
    tally = Tally()
    kept = list(range(len(paragraphs)))
    scores: dict[int, float] = {}
    for number, stage in enumerate(stages, start=1):
        if not kept:
            break
        candidates = [paragraphs[i] for i in kept]
        if stage == "base":
            texts = [paragraph.text for paragraph in candidates]
            chosen = yield from base_steps(question, candidates, texts, settings, tally)
        elif stage == "hierbase":
            chosen = yield from hierbase_steps(question, candidates, settings, tally)
        else:
            values = yield from score_steps(stage, question, candidates, settings)
            tally.cost += StageCost(scored=len(candidates))
            scores = dict(zip(kept, values, strict=True))
            k = settings.k if number == len(stages) else settings.chain_k
            chosen = keep(values, stage, k=k, threshold=settings.threshold)
        kept = [kept[i] for i in chosen]
    return Evidence(
        tuple(kept),
        tuple(scores[i] for i in kept) if scores else None,
        tally.cost,
        tally.dropped,
        tally.degraded,
        tuple(tally.answers),
        tuple(tally.failures),
    )


def base_steps(
    question: str,
    paragraphs: Sequence[Chunk],
    shown: Sequence[str],
    settings: Selection,
    tally: Tally,
) -> Steps[list[int]]:
    """The positions the language model names, ascending, when it reads `shown`, one text a
    paragraph with the ids 1 to n.

    A call that fails selects its paragraphs lexically. So does everything, without a call, where
    the question leaves no room for paragraphs in the context.

    Raises:
        NoModel: there is no language model.
    """
    calls = packed(question, shown, settings)
    if not calls:
        tally.failures.append("the question leaves no room for paragraphs in context_tokens")
        return _instead(question, paragraphs, [range(len(paragraphs))], settings, tally)
    prompts = [rendered(question, shown, parts, settings) for parts in calls]
    allowed = [{part.position + 1 for part in parts} for parts in calls]
    answers = yield [
        Ask(prompt, COMPONENT, usable=partial(usable_ids, ids))
        for prompt, ids in zip(prompts, allowed, strict=True)
    ]
    chosen: set[int] = set()
    failed: list[Sequence[int]] = []  # the positions of each failed call
    for prompt, parts, answer in zip(prompts, calls, answers, strict=True):
        if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
            raise answer.reason
        positions = [part.position for part in parts]
        tally.cost += call_cost(prompt, answer, settings.counter)
        tally.answers.append("" if isinstance(answer, Failed) else answer)
        if isinstance(answer, Failed):
            tally.failures.append(f"{type(answer.reason).__name__}: {answer.reason}")
            failed.append(list(dict.fromkeys(positions)))
            continue
        ids, dropped = parse_ids(answer, {position + 1 for position in positions})
        chosen.update(i - 1 for i in ids)
        tally.dropped += dropped
    return sorted(chosen.union(_instead(question, paragraphs, failed, settings, tally)))


def hierbase_steps(
    question: str, paragraphs: Sequence[Chunk], settings: Selection, tally: Tally
) -> Steps[list[int]]:
    """BASE over short forms of the paragraphs, then over the paragraphs it named."""
    texts = [paragraph.text for paragraph in paragraphs]
    candidates = yield from base_steps(
        question, paragraphs, short_forms(paragraphs, settings), settings, tally
    )
    if not candidates and not settings.hier_fallback:
        return []
    candidates = candidates or list(range(len(paragraphs)))
    chosen = yield from base_steps(
        question,
        [paragraphs[i] for i in candidates],
        [texts[i] for i in candidates],
        settings,
        tally,
    )
    return [candidates[i] for i in chosen]


def short_forms(paragraphs: Sequence[Chunk], settings: Selection) -> list[str]:
    """What stands for each paragraph in the first pass of HIERBASE: a short one itself, else
    `extras["summary"]`, else an extract.

    An extract is the most telling sentences of about 60 tokens; of a table the header row and the
    first cells of the others.
    """
    words = max(1, int((settings.short_tokens or 60) * WORDS_PER_TOKEN))
    forms = []
    for paragraph in paragraphs:
        text = paragraph.text
        if settings.counter(text) <= settings.short_tokens:
            forms.append(text)
            continue
        known = paragraph.extras.get("summary")
        table = _table_outline(text, words) if paragraph.kind == "table" else ""
        given = known.strip() if isinstance(known, str) else ""
        forms.append(given or table or summarise(text, max_words=words, language=settings.language))
    return forms


def packed(question: str, shown: Sequence[str], settings: Selection) -> list[list[Part]]:
    """The calls that show all texts; none where the context has no room for them."""
    count = settings.counter
    frame = count(settings.prompt.format(paragraphs="", question=question))
    budget = settings.context_tokens - frame - settings.answer_tokens
    label = count(f"[{len(shown)}]\n\n")
    if budget < LEAST_BUDGET:
        return []
    return pack_calls(shown, budget, count, label_tokens=label, language=settings.language)


def rendered(
    question: str, shown: Sequence[str], parts: Sequence[Part], settings: Selection
) -> str:
    """The prompt of one call."""
    lines = [
        f"[{part.position + 1}] {shown[part.position][part.start : part.end].strip()}"
        for part in parts
    ]
    return settings.prompt.format(paragraphs="\n\n".join(lines), question=question)


def asking_cost(question: str, shown: Sequence[str], settings: Selection) -> StageCost:
    """The calls and prompt tokens that `base_steps` will take; the answers are not known before."""
    cost = StageCost()
    for parts in packed(question, shown, settings):
        cost += call_cost(rendered(question, shown, parts, settings), None, settings.counter)
    return cost


def _instead(
    question: str,
    paragraphs: Sequence[Chunk],
    failed: Sequence[Sequence[int]],
    settings: Selection,
    tally: Tally,
) -> list[int]:
    """What BM25 selects of the positions of each failed call, ascending."""
    if not failed:
        return []
    tally.degraded += len(failed)
    tally.cost += StageCost(scored=sum(map(len, failed)))
    scores = lexical_scores(question, paragraphs, settings.language)
    chosen: set[int] = set()
    for positions in failed:
        kept = keep(
            [scores[i] for i in positions], "lexical", k=settings.k, threshold=settings.threshold
        )
        chosen.update(positions[i] for i in kept)
    return sorted(chosen)


def _table_outline(text: str, words: int) -> str:
    """The header row and the first cell of each other row of a table with pipes, at most about
    `words` words each; "" for others."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if "|" in line
    ]
    rows = [row for row in rows if any(cell.strip("-: ") for cell in row)]
    if not rows:
        return ""
    labels = ", ".join(row[0] for row in rows[1:] if row[0])
    return "\n".join(
        " ".join(line.split()[:words]) for line in (" | ".join(rows[0]), labels) if line
    )
