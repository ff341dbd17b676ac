"""Selecting evidence among the paragraphs of chosen sections (D3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from structrag.errors import NoModel
from structrag.model_calls.answers import (
    ID_SCHEMA,
    parse_answer,
    parse_ids,
    usable_ids,
)
from structrag.model_calls.requests import Ask, Flow, why_unusable
from structrag.records import Chunk
from structrag.retrieval.d3.condensing import PROMPT, SUMMARY_TOKENS
from structrag.retrieval.d3.scoring import (
    ShownParagraph,
    keep,
    lexical_scores,
    pack_calls,
    score_flow,
    shares,
)
from structrag.retrieval.d3.selection import (
    PAPER_PROMPT,
    CallStats,
    Evidence,
    Selection,
    StageCost,
    empty_is_none,
    window_tokens,
)
from structrag.text.extractive import summarise
from structrag.text.heading_path import SEPARATOR

COMPONENT = "d3.select/1"
SUMMARY_COMPONENT = "d3.paragraph/1"
LEAST_BUDGET = 64  # tokens of paragraphs; with less room than that no call is made
WORDS_PER_TOKEN = 1 / 1.3  # of English, about


def select_flow(
    question: str, paragraphs: Sequence[Chunk], settings: Selection | None = None
) -> Flow[Evidence]:
    """The evidence for a question among paragraphs in reading order, as steps.

    No paragraph gives no evidence and takes no call. Whatever the language model answers, the
    result is a subset of the paragraphs, in reading order.

    Raises:
        NoModel: the strategy asks a language model or an embedder, and there is none (not with
            "auto" or "lexical").
        InvalidAnswer: a reranker did not give one finite number for each paragraph.
    """
    settings = settings or Selection()
    if settings.strategy != "auto":
        return (yield from _chain_flow(settings.stages, question, paragraphs, settings))
    try:
        return (yield from _chain_flow(("base",), question, paragraphs, settings))
    except NoModel:
        return (yield from _chain_flow(("lexical",), question, paragraphs, settings))


def _chain_flow(
    stages: Sequence[str],
    question: str,
    paragraphs: Sequence[Chunk],
    settings: Selection,
) -> Flow[Evidence]:
    """The evidence that a chain leaves. Each strategy reads what the one before chose."""
    tally = CallStats()
    positions = list(range(len(paragraphs)))
    scores: dict[int, float] = {}
    scaled: dict[int, float] = {}
    scored_by = ""
    for number, stage in enumerate(stages, start=1):
        if not positions:
            break
        candidates = [paragraphs[i] for i in positions]
        k = settings.k if number == len(stages) else settings.chain_k
        chosen, values = yield from _stage_flow(
            stage, question, candidates, settings, k, tally
        )
        if values is not None:
            scores = dict(zip(positions, values, strict=True))
            scaled = dict(zip(positions, shares(values, stage), strict=True))
            scored_by = stage
        positions = [positions[i] for i in chosen]
    return Evidence(
        tuple(positions),
        tuple(scores[i] for i in positions) if scores else None,
        tally.cost,
        tally.dropped,
        tally.degraded,
        tuple(tally.answers),
        tuple(tally.failures),
        tuple(scaled[i] for i in positions) if scaled else None,
        scored_by,
    )


def _stage_flow(
    stage: str,
    question: str,
    paragraphs: Sequence[Chunk],
    settings: Selection,
    k: int | None,
    tally: CallStats,
) -> Flow[tuple[list[int], list[float] | None]]:
    """The positions that one strategy chooses, and its scores, if any."""
    if stage == "base":
        texts = [paragraph.text for paragraph in paragraphs]
        return (
            yield from base_flow(question, paragraphs, texts, settings, tally)
        ), None
    if stage == "hierbase":
        return (yield from hierbase_flow(question, paragraphs, settings, tally)), None
    scores = yield from score_flow(stage, question, paragraphs, settings)
    tally.cost += StageCost(scored=len(paragraphs))
    return keep(scores, stage, k=k, threshold=settings.threshold), scores


def base_flow(
    question: str,
    paragraphs: Sequence[Chunk],
    shown: Sequence[str],
    settings: Selection,
    tally: CallStats,
) -> Flow[list[int]]:
    """The positions the language model names when it reads `shown`, ascending.

    `shown` has one text a paragraph; their ids are 1 to n. Paragraphs are selected lexically
    instead: those of a call that fails or whose answer cannot be used; those of all calls where
    their answers name only ids that none of them showed; and all, without a call, where the
    question leaves no room for paragraphs in the context.

    Raises:
        NoModel: there is no language model.
    """
    calls = packed(question, shown, settings)
    if not calls:
        tally.failures.append(
            "the question leaves no room for paragraphs in context_tokens"
        )
        return _instead(question, paragraphs, [range(len(paragraphs))], settings, tally)
    prompts = [rendered(question, shown, parts, settings) for parts in calls]
    allowed = [{part.position + 1 for part in parts} for parts in calls]
    empty = empty_is_none(settings.prompt)
    schema = None if empty else ID_SCHEMA
    answers = yield [Ask(prompt, COMPONENT, schema=schema) for prompt in prompts]
    chosen: set[int] = set()
    failed: list[Sequence[int]] = []  # the positions of each failed call
    invented = 0
    for prompt, ids_shown, answer in zip(prompts, allowed, answers, strict=True):
        usable = partial(usable_ids, ids_shown, empty=empty)
        text = tally.note(prompt, answer, settings.counter, usable)
        if text is None:
            failed.append([i - 1 for i in sorted(ids_shown)])
            continue
        ids, dropped = parse_ids(text, ids_shown)
        chosen.update(i - 1 for i in ids)
        invented += dropped
    tally.dropped += invented
    # Each call may name what another one shows; all of them together may not name nothing shown.
    if invented and not chosen and not failed:
        tally.failures.append(
            "the answers name only ids of paragraphs that were not shown"
        )
        failed = [[i - 1 for i in sorted(ids_shown)] for ids_shown in allowed]
    return sorted(chosen.union(_instead(question, paragraphs, failed, settings, tally)))


def hierbase_flow(
    question: str, paragraphs: Sequence[Chunk], settings: Selection, tally: CallStats
) -> Flow[list[int]]:
    """BASE over short forms of the paragraphs, then over those it named."""
    texts = [paragraph.text for paragraph in paragraphs]
    summarised = yield from summarised_flow(paragraphs, settings, tally)
    candidates = yield from base_flow(
        question, paragraphs, short_forms(summarised, settings), settings, tally
    )
    if not candidates and not settings.hier_fallback:
        return []
    candidates = candidates or list(range(len(paragraphs)))
    chosen = yield from base_flow(
        question,
        [paragraphs[i] for i in candidates],
        [texts[i] for i in candidates],
        settings,
        tally,
    )
    return [candidates[i] for i in chosen]


def summarised_flow(
    paragraphs: Sequence[Chunk], settings: Selection, tally: CallStats
) -> Flow[list[Chunk]]:
    """The paragraphs with `extras["summary"]` by the summariser (section 3.3.2, HIERBASE).

    Short paragraphs and those with a summary stay as they are. So does one whose summary fails,
    cannot be used or, unless every paragraph is to have one, is no shorter.
    """
    chosen = list(paragraphs)
    if settings.summariser is None:
        return chosen
    long = []
    for i, paragraph in enumerate(paragraphs):
        is_long = settings.counter(paragraph.text) > settings.short_tokens
        if is_long and not paragraph.extras.get("summary"):
            long.append(i)
    asks = [_summary_ask(paragraphs[i], settings) for i in long]
    answers = (yield asks) if asks else []
    for i, answer in zip(long, answers, strict=True):
        as_published = not settings.short_tokens
        summary, _ = parse_answer("summary", answer, refusals=as_published)
        if not summary:
            tally.failures.append(f"a paragraph's summary: {why_unusable(answer)}")
        elif as_published or len(summary) < len(paragraphs[i].text):
            extras = {**paragraphs[i].extras, "summary": summary}
            chosen[i] = replace(paragraphs[i], extras=extras)
    return chosen


def _summary_ask(paragraph: Chunk, settings: Selection) -> Ask:
    """Build the request for a paragraph's summary, by the model's own prompt unless one is set."""
    template = getattr(settings.summariser, "summary_prompt", PROMPT)
    words = (settings.short_tokens or SUMMARY_TOKENS) * 10 // 13
    prompt = (settings.summary_prompt or template).format(
        title=SEPARATOR.join(paragraph.path), text=paragraph.text.strip(), words=words
    )
    return Ask(prompt, SUMMARY_COMPONENT, llm=settings.summariser)


def short_forms(paragraphs: Sequence[Chunk], settings: Selection) -> list[str]:
    """Return a short form of each paragraph for the first pass of HIERBASE.

    A short paragraph itself, else its `extras["summary"]`, else an extract. An extract is the most
    telling sentences of about 60 tokens; of a table the header row and the first cells of the
    others.
    """
    words = max(1, int((settings.short_tokens or 60) * WORDS_PER_TOKEN))
    forms = []
    for paragraph in paragraphs:
        text = paragraph.text
        if settings.counter(text) <= settings.short_tokens:
            forms.append(text)
            continue
        summary = paragraph.extras.get("summary")
        form = summary.strip() if isinstance(summary, str) else ""
        if not form and paragraph.kind == "table":
            form = _table_outline(text, words)
        forms.append(
            form or summarise(text, max_words=words, language=settings.language)
        )
    return forms


def packed(
    question: str, shown: Sequence[str], settings: Selection
) -> list[list[ShownParagraph]]:
    """Group the texts into calls; none if the question leaves no room."""
    count = settings.counter
    frame = count(settings.prompt.format(paragraphs="", question=question))
    window = window_tokens(settings.context_tokens, count)
    budget = window - frame - settings.answer_tokens
    label = count(f"[{len(shown)}]\n\n")
    if budget < LEAST_BUDGET:
        return []
    return pack_calls(
        shown, budget, count, label_tokens=label, language=settings.language
    )


def rendered(
    question: str,
    shown: Sequence[str],
    parts: Sequence[ShownParagraph],
    settings: Selection,
) -> str:
    """The prompt of one call."""
    lines = []
    for part in parts:
        text = shown[part.position][part.start : part.end].strip()
        lines.append(f"[{part.position + 1}] {text}")
    # Section 3.3.2: "concatenated with a newline separator".
    separator = "\n" if settings.prompt == PAPER_PROMPT else "\n\n"
    return settings.prompt.format(paragraphs=separator.join(lines), question=question)


def _instead(
    question: str,
    paragraphs: Sequence[Chunk],
    failed: Sequence[Sequence[int]],
    settings: Selection,
    tally: CallStats,
) -> list[int]:
    """Select by BM25 among the positions of each failed call, ascending."""
    if not failed:
        return []
    tally.degraded += len(failed)
    tally.cost += StageCost(scored=sum(map(len, failed)))
    scores = lexical_scores(question, paragraphs, settings.language)
    chosen: set[int] = set()
    for positions in failed:
        values = [scores[i] for i in positions]
        best = keep(values, "lexical", k=settings.k, threshold=settings.threshold)
        chosen.update(positions[i] for i in best)
    return sorted(chosen)


def _table_outline(text: str, words: int) -> str:
    """A pipe table's header row, and the other rows' first cells. Both at most `words` words; ""
    for a table without pipes."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "|" in line and any(cell.strip("-: ") for cell in cells):
            rows.append(cells)
    if not rows:
        return ""
    labels = ", ".join(row[0] for row in rows[1:] if row[0])
    lines = filter(None, (" | ".join(rows[0]), labels))
    return "\n".join(" ".join(line.split()[:words]) for line in lines)
