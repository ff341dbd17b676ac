"""A scripted language model that answers from the gold evidence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.question_sets import Dataset, Question
from structrag.records import Chunk
from structrag.retrieval.d3.condensing import ParagraphSplitter, SectionSplitter
from structrag.retrieval.d3.evidence import short_forms
from structrag.retrieval.d3.outlines import IDS_PROMPT, NAMES_PROMPT
from structrag.retrieval.d3.selection import Selection
from structrag.retrieval.multihop.hops import NEXT_PROMPT, UNANSWERABLE

SHOWN = 160  # characters by which a paragraph is known in a prompt
_QUESTION = re.compile(r"^Question:\s(.*)$", re.MULTILINE)
_OUTLINE, _NAMES = IDS_PROMPT[:30], NAMES_PROMPT[:26]
_ITEM = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_NAME = re.compile(r"^\* Section: (.*)$", re.MULTILINE)


def gold_chunks(question: Question, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks of which the question's gold holds half or more, or that hold half or more of a
    gold span."""
    return [
        chunk
        for chunk in chunks
        if any(
            doc_id == chunk.doc_id
            and 2 * (min(end, chunk.end) - max(start, chunk.start))
            >= min(end - start, len(chunk.text))
            for doc_id, start, end in question.gold
        )
    ]


class Oracle:
    """Names, of what a prompt shows, the sections and paragraphs that hold gold evidence; knows the
    answer where it sees any.

    It reads prompts by what they show: ids in square brackets in front of a section's path or a
    paragraph's beginning. So it never names what was not shown, and answers nothing where no gold
    is. Self-ask it gives a follow-up question for each paragraph of the evidence. Sections shown
    by name, as with preset `paper`, it names. With `extra` it names, of an outline with ids, so
    many sections more than hold gold, those behind the first that does.
    """

    name = "oracle"

    def __init__(
        self,
        questions: Sequence[Question],
        paragraphs: Sequence[Chunk],
        sections: Sequence[Chunk],
        extra: int = 0,
        selection: Selection | None = None,
    ) -> None:
        self.extra = extra
        self._short = replace(selection or Selection(), strategy="hierbase")
        self.answers: dict[str, Sequence[str]] = {}
        self.paragraphs: dict[str, set[str]] = defaultdict(set)
        self.sections: dict[str, set[str]] = defaultdict(set)
        self.follow_ups: dict[str, list[str]] = {}
        for question in questions:
            asked, gold = question.question, gold_chunks(question, paragraphs)
            parts = [f"{asked} Part {i}." for i in range(1, len(gold) + 1)]
            self.follow_ups[asked] = parts if len(parts) > 1 else [asked]
            for text, known in [
                (asked, gold),
                *zip(parts, ([one] for one in gold), strict=True),
            ]:
                self.answers[text] = question.answers
                self._learn(text, known, sections)

    def _learn(
        self, asked: str, gold: Sequence[Chunk], sections: Sequence[Chunk]
    ) -> None:
        texts = [chunk.text for chunk in gold] + short_forms(gold, self._short)
        self.paragraphs[asked].update(text.strip()[:SHOWN] for text in texts)
        self.sections[asked].update(
            _shown_path(s)
            for s in sections
            if any(s.start <= g.start < s.end and s.doc_id == g.doc_id for g in gold)
        )

    def complete(self, prompt: str) -> str:
        """Ids, "yes" or "no", a follow-up question or the answer, as the prompt asks for."""
        question = _QUESTION.findall(prompt)[-1]
        gold = self.paragraphs[question]
        if prompt.startswith(NEXT_PROMPT[:SHOWN]):
            *before, answer = prompt.split("Intermediate answer: ")
            follow_ups = self.follow_ups[question]
            return (
                f"Follow up: {follow_ups[len(before)]}"
                if len(before) < len(follow_ups)
                else f"So the final answer is: {answer}"
            )
        if prompt.rstrip().endswith("Answer:"):
            seen = any(text in prompt for text in gold)
            return (
                self.answers[question][0]
                if seen and self.answers[question]
                else UNANSWERABLE
            )
        if '"yes" or "no"' in prompt:
            return "yes" if any(f"\n\n{text}" in prompt for text in gold) else "no"
        if prompt.startswith(_NAMES):
            named = [
                name
                for name in _NAME.findall(prompt)
                if name in self.sections[question]
            ]
        else:
            named = self._ids(prompt, question)
        return ", ".join(dict.fromkeys(named)) or "none"

    async def acomplete(self, prompt: str) -> str:
        """`complete`; it takes no time."""
        return self.complete(prompt)

    def _ids(self, prompt: str, question: str) -> list[str]:
        shown, found = [], []
        for item in _ITEM.finditer(prompt):
            line = _squeezed(prompt[item.end() :].split("\n", 1)[0]).removeprefix(
                "Document: "
            )
            is_section = line and any(
                path == line or path.endswith(f" > {line}")
                for path in self.sections[question]
            )
            shown.append(item[1])
            if is_section or any(
                prompt.startswith(text, item.end())
                for text in self.paragraphs[question]
            ):
                found.append(item[1])
        if self.extra and found and prompt.startswith(_OUTLINE):
            first = shown.index(found[0])
            found += [
                each for each in shown[first:] + shown[:first] if each not in found
            ][: self.extra]
        return found


def paragraph_splitter(preset: str) -> ParagraphSplitter:
    """The paragraphs of a `D3Index` with that preset."""
    return ParagraphSplitter(0) if preset == "paper" else ParagraphSplitter()


def oracle_for(dataset: Dataset, extra: int = 0, preset: str = "default") -> Oracle:
    """An oracle for the set's questions, asked by systems with that preset."""
    is_paper = preset == "paper"
    by_paragraph = paragraph_splitter(preset)
    by_section = SectionSplitter.paper() if is_paper else SectionSplitter()
    paragraphs, sections = (
        [chunk for document in dataset.documents for chunk in splitter.split(document)]
        for splitter in (by_paragraph, by_section)
    )
    selection = Selection.paper() if is_paper else Selection()
    return Oracle(dataset.questions, paragraphs, sections, extra, selection)


def _shown_path(section: Chunk) -> str:
    """How a prompt shows a section, but for titles in front."""
    part = (
        " (part {} of {})".format(*section.extras["part"])
        if "part" in section.extras
        else ""
    )
    return _squeezed(" > ".join(section.path)) + part


def _squeezed(text: str) -> str:
    return " ".join(text.split())
