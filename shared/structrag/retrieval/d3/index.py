"""The index D3 works on: condensed sections, parts of sections, and paragraphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from structrag.errors import check_choice
from structrag.index.add_batch import (
    AddBatch,
    IndexingOptions,
    Splitter,
)
from structrag.index.corpus import CorpusStore
from structrag.index.document_index import Address, DocumentIndex, check_embedder
from structrag.index.levels import SearchedLevel
from structrag.index.snapshot import Reader, Snapshot
from structrag.index.store import Store
from structrag.index.views import ViewSettings
from structrag.model_calls.naming import setting_name
from structrag.model_calls.requests import Embedder
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import (
    CallOptions,
    check_call_options,
)
from structrag.model_calls.usage import fallbacks_line
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.reading.settings import ReadOptions
from structrag.retrieval.d3.condensing import (
    PROMPT,
    ParagraphSplitter,
    PartSplitter,
    SectionSplitter,
    SummarisedParagraphs,
)
from structrag.retrieval.d3.outlines import SectionLayout, build_layout
from structrag.text.numbers import pluralise
from structrag.text.terms import tokenizer_for
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


SECTIONS, PARTS, PARAGRAPHS = "sections", "parts", "paragraphs"
# Each with its views.
LEVELS = {PARAGRAPHS: ("raw",), SECTIONS: ("raw",), PARTS: ("raw",)}


@dataclass(frozen=True, slots=True)
class D3AddReport:
    """The result of adding documents.

    Example:
        >>> from structrag import D3Index, read_text
        >>> report = D3Index().add([read_text("# Pump\\n\\nIt leaks.", format="markdown")])
        >>> report.added, report.sections, report.paragraphs
        (1, 1, 1)
    """

    added: int
    replaced: int
    unchanged: int
    sections: int  # of the added and replaced documents
    parts: int
    paragraphs: int
    usage: dict[str, Any]  # what it cost, as `Usage.as_dict`

    def __str__(self) -> str:
        why = fallbacks_line(self.usage["fallbacks"], self.usage["reasons"])
        return (
            f"{pluralise(self.added, 'document')} added, {self.replaced:,} replaced, "
            f"{self.unchanged:,} unchanged; {pluralise(self.sections, 'section')}, "
            f"{pluralise(self.parts, 'part')}, {pluralise(self.paragraphs, 'paragraph')}; "
            f"{pluralise(self.usage['calls'], 'language-model call')}"
            + (f"; fell back: {why}" if why else "")
        )


class D3Index(DocumentIndex[D3AddReport, SearchedLevel]):
    """Indexes documents for D3: by sections, parts and paragraphs.

    Example:
        >>> from structrag import read_text
        >>> text = "# Pump\\n\\nIt leaks.\\n\\n# Valve\\n\\nIt is made of brass.\\n"
        >>> report = D3Index().add([read_text(text, format="markdown")])
        >>> report.sections, report.paragraphs
        (2, 2)

    A document is one entry of a store, at three levels. `sections` holds the path and summary of
    each section, for the language model to read; `parts` holds runs of whole paragraphs, for
    routing without a language model; `paragraphs` holds the units of evidence. A document is stored
    at all levels or not at all. An unchanged document is not indexed again.

    Args:
        embedder: The embedder of parts and paragraphs, anything that `as_embedder` accepts; None:
            LSA over each.
        llm: Summarises long sections: a function `str -> str`, a `LanguageModel`, or a
            `TransformersSummariser`; None: extractive.
        preset: "default", or "paper": every section is summarised, even a short one, from the text
            alone; the summary is left unchanged; a section is listed whole, whatever its length;
            there are no keywords.
        whole_tokens, keywords, prompt: As in `SectionSplitter`; None: by the preset.
        paragraph_summaries: Whether every paragraph is summarised as well, by the same rules, for
            the strategy "hierbase"; a retriever then asks for none.
        exclude_titles, plain_headings, counter, language: As in `SectionSplitter`.
        store: A folder, as in `Index`; not the address of an engine.
        stems, options: As in `Index`.
    """

    SAVED: ClassVar[tuple[str, ...]] = ("d3", "embedder")

    def __init__(
        self,
        *,
        embedder: Any = None,
        llm: Any = None,
        preset: str = "default",
        whole_tokens: int | None = None,
        paragraph_summaries: bool = False,
        keywords: int | None = None,
        prompt: str | None = None,
        exclude_titles: Sequence[str] = (),
        plain_headings: bool = True,
        counter: TokenCounter = count_tokens,
        language: str = "english",
        store: Address | None = None,
        stems: bool = False,
        **options: Unpack[CallOptions],
    ) -> None:
        paper = check_choice("preset", preset, ("default", "paper")) == "paper"
        llm = as_language_model(llm)
        read_options = ReadOptions(
            exclude_titles=exclude_titles,
            plain_headings=plain_headings,
            counter=counter,
            language=language,
        )
        if prompt is None and llm is not None:
            prompt = getattr(llm, "summary_prompt", PROMPT)
        by_preset: dict[str, Any] = {
            "whole_tokens": whole_tokens,
            "keywords": keywords,
            "prompt": prompt,
        }
        changes = {
            name: value for name, value in by_preset.items() if value is not None
        }
        make = SectionSplitter.paper if paper else SectionSplitter
        splitter = make(**changes, **read_options.options())
        check_call_options(options, D3Index)
        self._saved: dict[str, Any] = {
            "preset": preset,
            **{name: getattr(splitter, name) for name in by_preset},
            "paragraph_summaries": paragraph_summaries,
            "plain_headings": plain_headings,
            "language": language,
            "stems": stems,
            "exclude_titles": list(read_options.exclude_titles),
        }
        self.prompt: str = splitter.prompt
        paragraphs = ParagraphSplitter(
            splitter.paragraph_tokens, **read_options.options()
        )
        self._splitters: dict[str, Splitter] = {
            PARAGRAPHS: SummarisedParagraphs(paragraphs, splitter)
            if paragraph_summaries
            else paragraphs,
            SECTIONS: splitter,
            PARTS: PartSplitter(
                paragraph_tokens=splitter.paragraph_tokens, **read_options.options()
            ),
        }
        self.embedder: Embedder = as_embedder(embedder)
        self.language = language
        self._layout: SectionLayout | None = None
        super().__init__(
            Store(LEVELS, tokenizer=tokenizer_for(language, stems=stems)),
            Runner(llm=llm, embedder=self.embedder, **options),
            store,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_layout": None}

    def _searched(self, store: Store) -> dict[str, SearchedLevel]:
        # Sections are read by the language model, and not searched.
        embedders = {PARAGRAPHS: self.embedder, SECTIONS: None, PARTS: self.embedder}
        return {
            name: SearchedLevel(store, embedder, name)
            for name, embedder in embedders.items()
        }

    def _check_saved(self, address: Address, saved: Mapping[str, Any]) -> None:
        check_embedder(address, saved, self.embedder.name)

    @property
    def sections(self) -> Reader:
        """The current sections, without their text."""
        return self.own_store.reader(SECTIONS)

    @property
    def parts(self) -> Reader:
        """The current runs of paragraphs."""
        return self.own_store.reader(PARTS)

    @property
    def paragraphs(self) -> Reader:
        """The current paragraphs."""
        return self.own_store.reader(PARAGRAPHS)

    def searched(self, level: str, snapshot: Snapshot | None = None) -> Reader:
        """A level as vectors search it, now or in a snapshot."""
        return self.levels[level].reader(snapshot)

    def _preparing(self) -> Callable[..., AddBatch]:
        is_fitted = hasattr(self.embedder, "fit")
        levels = {}
        for level, views in LEVELS.items():
            levels[level] = IndexingOptions(
                self._splitters[level],
                ViewSettings(names=views, language=self.language),
                None if is_fitted or level == SECTIONS else self.embedder,
                "windows",
                None,
                self._kept(level),
            )
        return partial(AddBatch, levels=levels)

    def _report(self, work: AddBatch) -> D3AddReport:
        report = work.report()
        return D3AddReport(
            report.added,
            report.replaced,
            report.unchanged,
            work.further[SECTIONS],
            work.further[PARTS],
            report.chunks,
            report.usage,
        )

    def settings_name(self) -> str:
        """Everything except the document that decides what is indexed, as one string."""
        llm = self.runner.llm.name if self.runner.llm else None
        return setting_name([list(self._splitters.values()), llm, self.embedder.name])

    def layout(self, snapshot: Snapshot | None = None) -> SectionLayout:
        """The sections with their paragraphs, now or in a snapshot. Built once after each
        change."""
        snapshot = snapshot or self.own_store.snapshot()
        layout = self._layout
        if layout is None or layout.changes != snapshot.changes:
            layout = self._layout = build_layout(
                snapshot.reader(SECTIONS),
                snapshot.reader(PARTS),
                snapshot.reader(PARAGRAPHS),
            )
        return layout

    def config(self) -> dict[str, Any]:
        """The options and model names that are saved with the index."""
        return {
            "d3": self._saved,
            "embedder": self.embedder.name,
            "settings": self.settings_name(),
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        verify: bool = False,
        embedder: Any = None,
        llm: Any = None,
        counter: TokenCounter = count_tokens,
        **options: Unpack[CallOptions],
    ) -> D3Index:
        """Open a saved index with its settings.

        Models are not saved: pass the same `embedder` (and `llm`, `counter`) again. `verify`
        compares the checksums of all files. Raises IndexDamaged if there is no index, or if it is
        incomplete, altered, from another program or from a newer release; InvalidParameter if the
        embedder is not the one it was built with.
        """
        models = {"embedder": embedder, "llm": llm, "counter": counter}
        return cls._loaded(path, verify, {**models, **options})

    @classmethod
    def _with_saved(
        cls, address: Address, store: CorpusStore, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {**options, **store.config["d3"]}
