"""The Markdown formatter of HiQA: any source to structured Markdown, with a language model or
without, and no word lost."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.asking.cache import Cache
from structrag.asking.requests import Progress, Steps, Usage
from structrag.asking.runner import Runner
from structrag.asking.steps import together
from structrag.chunks.asking_splitter import groups_of
from structrag.errors import InvalidParameter, check_at_least
from structrag.formatting.converting import Converted, Converting, convert_steps
from structrag.formatting.messages import PAPER_PROMPT, PROMPT
from structrag.formatting.sources import Source, read_source
from structrag.models.llm import as_language_model
from structrag.reading.files import read_text
from structrag.reading.pdf.pages import Page
from structrag.records import Document

Formattable = str | Document | Sequence[Page]


@dataclass(frozen=True, slots=True)
class FormatReport:
    """How a source became Markdown, and what to look at."""

    mode: str  # "kept" (Markdown already), "layout" (HTML, pages), "rules" (plain text) or "model"
    windows: int = 0  # that the language model was shown
    retries: int = 0  # second calls, because the first answer failed a guard or the call failed
    fallbacks: int = 0  # windows formatted without the model, because the second answer failed too
    restored: int = 0  # words that the model left out and that were put back
    uncertain: tuple[str, ...] = ()  # what may be wrong, one sentence each, with its window or page
    removed: tuple[
        str, ...
    ] = ()  # running heads and page numbers left out, as they stood, in order


@dataclass(frozen=True, slots=True)
class Formatted:
    """A document in Markdown and how it came about."""

    document: Document  # format "markdown"; its id is the original's, which `meta["source"]` names
    report: FormatReport


class HiQAFormatter:
    """Turns plain text, HTML and PDF pages into structured Markdown (HiQA, "Markdown Formatter"),
    losing none of their words.

    Without a language model: plain text by its numbering, capitals and underlines, HTML and pages
    by their layout. With one: plain text, pages, and markup without headings are converted window
    by window, in sequence; each message shows the end of the previous input and output, and the
    window between words of padding. An answer must have 0.7 to 1.5 words for each of the source's,
    at least 95 % of the source's words, next to no others, and heading numbers that do not go down;
    else the model is asked once more, and then this window is formatted without it. Words that an
    accepted answer leaves out are put back where they stood. Markdown that has headings is kept as
    it is.

    Pages of plain text end at form feeds: running heads that repeat on 60 % of the pages stay once,
    page numbers are left out; the report lists them.

    Args:
        llm: A function `str -> str` or a `LanguageModel`; None: no model.
        window_words: Words that a call converts, W.
        padding_words: Words shown before and behind them, K; twice as many of the previous input
            and output are shown.
        prompt: The instruction at the head of each message; what the marks around a window mean is
            added.
        repeat_prompt: Whether the instruction also stands at the end of each message.
        cache: A `Cache` or the path of one: a run that is started again pays for no finished call
            twice.
        max_concurrency: Most calls in flight when several sources are formatted; those of one
            source go one after another.
        max_calls: Most calls in all; then BudgetExceeded. None: no limit.
        progress: Called with ("formatting", windows done, windows) as a source's windows are
            converted.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        window_words: int = 1500,
        padding_words: int = 150,
        prompt: str = PROMPT,
        repeat_prompt: bool = False,
        cache: Cache | str | os.PathLike[str] | None = None,
        max_concurrency: int = 8,
        max_calls: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        _check_whole("window_words", window_words, 1)
        _check_whole("padding_words", padding_words, 0)
        if not isinstance(prompt, str) or not prompt.strip():
            raise InvalidParameter(
                f"prompt must be an instruction for the language model; got {prompt!r}."
            )
        self.settings = Converting(
            window_words, padding_words, prompt.strip(), repeat_prompt, progress
        )
        self.runner = Runner(
            llm=as_language_model(llm),
            cache=Cache(cache) if isinstance(cache, str | os.PathLike) else cache,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
        )

    @classmethod
    def paper(cls, llm: Any = None, **changes: Any) -> HiQAFormatter:
        """As in the paper: every heading at level 1, with a number that shows its depth. Window
        sizes are not given there."""
        return cls(llm, **{"prompt": PAPER_PROMPT, **changes})

    @classmethod
    def code(cls, llm: Any = None, **changes: Any) -> HiQAFormatter:
        """Near the paper's code: windows of 500 words (3,000 characters there) with 50 of padding,
        the instruction before and after."""
        settings = {
            "prompt": PAPER_PROMPT,
            "window_words": 500,
            "padding_words": 50,
            "repeat_prompt": True,
        }
        return cls(llm, **{**settings, **changes})

    @property
    def usage(self) -> Usage:
        """What this formatter has cost so far; windows formatted without the model are counted as
        `fallbacks["windows"]`."""
        return self.runner.usage

    def format(self, source: Formattable) -> Formatted:
        """Format a string (taken as plain text), a Document, or the pages of one.

        An empty source gives an empty document.

        Raises:
            InvalidParameter: the source is none of these.
            BudgetExceeded: `max_calls` was reached.
        """
        return self._counted(self.runner.run(self.steps(source)))

    async def aformat(self, source: Formattable) -> Formatted:
        """`format` on an event loop."""
        return self._counted(await self.runner.arun(self.steps(source)))

    def format_all(self, sources: Iterable[Formattable]) -> Iterator[Formatted]:
        """Format several sources side by side, results in order as groups of bounded size are
        ready."""
        for group in groups_of(sources, _length):
            for formatted in self.runner.run(together([self.steps(source) for source in group])):
                yield self._counted(formatted)

    async def aformat_all(self, sources: Iterable[Formattable]) -> AsyncIterator[Formatted]:
        """`format_all` on an event loop."""
        for group in groups_of(sources, _length):
            for formatted in await self.runner.arun(
                together([self.steps(source) for source in group])
            ):
                yield self._counted(formatted)

    def steps(self, source: Formattable) -> Steps[Formatted]:
        """`format` as steps."""
        read = read_source(source, with_model=self.runner.llm is not None)
        converted = Converted(read.draft.text)
        if read.mode == "model":
            converted = yield from convert_steps(read.draft.text, read.span, self.settings)
        report = FormatReport(
            mode=read.mode,
            windows=converted.windows,
            retries=converted.retries,
            fallbacks=converted.fallbacks,
            restored=converted.restored,
            uncertain=(*read.draft.uncertain, *converted.uncertain),
            removed=read.draft.removed,
        )
        return Formatted(_document(read, converted.text), report)

    def _counted(self, formatted: Formatted) -> Formatted:
        if formatted.report.fallbacks:
            self.usage.fallbacks["windows"] += formatted.report.fallbacks
        return formatted


def _document(read: Source, text: str) -> Document:
    """The new document, with the identity, metadata and title of the original."""
    original = read.document
    title = (original.title if original else "") or read_text(text, format="markdown").title
    if original is None:
        return Document(text, title=title, format="markdown")
    meta = {**original.meta, "source": original.id}
    return Document(text, id=original.id, title=title, format="markdown", meta=meta)


def _length(source: Any) -> int:
    if isinstance(source, Document):
        return len(source.text)
    return len(source) if isinstance(source, str) else 2000 * len(source)


def _check_whole(name: str, value: int, minimum: int) -> None:
    check_at_least(name, value, minimum)
    if value != int(value):
        raise InvalidParameter(f"{name} must be a whole number; got {value!r}.")
