"""The index D3 works on: condensed sections, parts of sections, and paragraphs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from structrag.asking.cache import Cache
from structrag.asking.naming import setting_name
from structrag.asking.requests import Embedder, Request, Steps, Usage, fallbacks_line
from structrag.asking.runner import Runner
from structrag.asking.settings import Asking, AskingOptions, as_cache, asking_of
from structrag.asking.steps import together
from structrag.errors import IndexDamaged, InvalidParameter, check_choice, check_ids
from structrag.index.adding import (
    Adding,
    Preparation,
    Prepared,
    Splitter,
    at_levels,
    prepare_steps,
)
from structrag.index.entries import fingerprint
from structrag.index.index import check_embedder
from structrag.index.levels import SearchedLevel
from structrag.index.opening import Address, engine_of, open_store
from structrag.index.routes import HostVectors
from structrag.index.snapshot import Reader, Settings, Snapshot
from structrag.index.store import Store
from structrag.index.views import ViewSettings
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.models.summariser import TransformersSummariser
from structrag.reading.settings import Reading
from structrag.records import Document
from structrag.retrieval.d3.condensing import PROMPT, SectionSplitter
from structrag.retrieval.d3.layout import Layout, build_layout
from structrag.retrieval.d3.paragraphs import (
    PART_TOKENS,
    ParagraphSplitter,
    PartSplitter,
)
from structrag.text.amounts import amount
from structrag.text.terms import tokenizer_for
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


SECTIONS, PARTS, PARAGRAPHS = "sections", "parts", "paragraphs"
# Each with its views.
LEVELS = {PARAGRAPHS: ("raw",), SECTIONS: ("raw",), PARTS: ("raw",)}


@dataclass(frozen=True, slots=True)
class D3AddReport:
    """What adding documents did.

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
            f"{amount(self.added, 'document')} added, {self.replaced:,} replaced, "
            f"{self.unchanged:,} unchanged; {amount(self.sections, 'section')}, "
            f"{amount(self.parts, 'part')}, {amount(self.paragraphs, 'paragraph')}; "
            f"{amount(self.usage['calls'], 'language-model call')}"
            + (f"; fell back: {why}" if why else "")
        )


class _D3Adding(Adding):
    """One call of `D3Index.add`: a document at all levels is one entry."""

    def __init__(
        self,
        documents: Iterable[Document],
        by_level: Mapping[str, Preparation],
        **options: Any,
    ) -> None:
        super().__init__(documents, how=by_level[PARAGRAPHS], **options)
        self.by_level = by_level

    def steps(self, group: list[tuple[Document, str]]) -> Steps[Prepared]:
        """Prepare a group at all levels."""
        prepared: list[Prepared] = yield from together(
            [prepare_steps(group, how) for how in self.by_level.values()]
        )
        by_level = dict(zip(self.by_level, prepared, strict=True))
        return at_levels(by_level.pop(PARAGRAPHS), by_level, self.store.held)

    def d3_report(self) -> D3AddReport:
        """The counts of this call."""
        report = self.report()
        rows = self.rows
        return D3AddReport(
            report.added,
            report.replaced,
            report.unchanged,
            rows[SECTIONS],
            rows[PARTS],
            report.chunks,
            report.usage,
        )


class D3Index:
    """Documents as D3 reads them: by sections, parts and paragraphs.

    Example:
        >>> from structrag import read_text
        >>> text = "# Pump\\n\\nIt leaks.\\n\\n# Valve\\n\\nIt is made of brass.\\n"
        >>> report = D3Index().add([read_text(text, format="markdown")])
        >>> report.sections, report.paragraphs
        (2, 2)

    A document is one entry of a store, at three levels. `sections` has each section as path and
    summary, which the language model is shown; `parts` runs of whole paragraphs, by which routing
    works without a language model; `paragraphs` the units of evidence. A document is there at all
    levels or not at all, and one that has not changed is left alone.

    Args:
        embedder: Of parts and paragraphs, what `as_embedder` takes; None: LSA over each.
        llm: Summarises long sections: a function `str -> str`, a `LanguageModel`, or a
            `TransformersSummariser`; None: extractive.
        preset: "default", or "paper": every section is summarised, however short, and listed whole,
            however long; no keywords.
        summary_tokens, whole_tokens, section_tokens, paragraph_tokens, keywords, prompt: As in
            `SectionSplitter`; None: by the preset.
        window_tokens: As in `SectionSplitter`.
        part_tokens: As `max_tokens` in `PartSplitter`.
        exclude_titles, plain_headings, counter, language: As in `SectionSplitter`.
        store: A folder, as in `Index`; no engine's place.
        stems, dtype, asking, options: As in `Index`.
    """

    def __init__(
        self,
        *,
        embedder: Any = None,
        llm: Any = None,
        preset: str = "default",
        summary_tokens: int | None = None,
        whole_tokens: int | None = None,
        section_tokens: int | None = None,
        paragraph_tokens: int | None = None,
        window_tokens: int = 1000,
        keywords: int | None = None,
        prompt: str | None = None,
        part_tokens: int = PART_TOKENS,
        exclude_titles: Sequence[str] = (),
        plain_headings: bool = True,
        counter: TokenCounter = count_tokens,
        language: str = "english",
        store: Address | None = None,
        stems: bool = False,
        dtype: str = "float32",
        asking: Asking | None = None,
        **options: Unpack[AskingOptions],
    ) -> None:
        paper = check_choice("preset", preset, ("default", "paper")) == "paper"
        llm = as_language_model(llm)
        reading = Reading(
            exclude_titles=exclude_titles,
            plain_headings=plain_headings,
            counter=counter,
            language=language,
        )
        # Only a summariser knows what to do with bare text.
        if prompt is None and llm is not None:
            prompt = "{text}" if isinstance(llm, TransformersSummariser) else PROMPT
        by_preset: dict[str, Any] = {
            "summary_tokens": summary_tokens,
            "whole_tokens": whole_tokens,
            "section_tokens": section_tokens,
            "paragraph_tokens": paragraph_tokens,
            "keywords": keywords,
            "prompt": prompt,
        }
        changes = {
            name: value for name, value in by_preset.items() if value is not None
        }
        make = SectionSplitter.paper if paper else SectionSplitter
        splitter = make(window_tokens=window_tokens, **changes, **reading.options())
        asking = asking_of(asking, options, D3Index)
        self.cache: Cache | None = as_cache(asking.cache)
        self._saved: dict[str, Any] = {
            "preset": preset,
            **{name: getattr(splitter, name) for name in by_preset},
            "window_tokens": window_tokens,
            "part_tokens": part_tokens,
            "plain_headings": plain_headings,
            "language": language,
            "stems": stems,
            "exclude_titles": list(reading.exclude_titles),
        }
        self._splitters: dict[str, Splitter] = {
            PARAGRAPHS: ParagraphSplitter(
                splitter.paragraph_tokens, **reading.options()
            ),
            SECTIONS: splitter,
            PARTS: PartSplitter(
                part_tokens, splitter.paragraph_tokens, **reading.options()
            ),
        }
        self.embedder: Embedder = as_embedder(embedder)
        self.runner: Runner = Runner(llm=llm, embedder=self.embedder, asking=asking)
        self.language = language
        self.address = store
        memory = Store(
            LEVELS, dtype=dtype, tokenizer=tokenizer_for(language, stems=stems)
        )
        self.store: Store = (
            memory if store is None else self._opened(store, memory.settings)
        )
        self.host: HostVectors = HostVectors(None, LEVELS[PARAGRAPHS])
        self._levels = self._searched_levels()
        self.kept: dict[str, dict[str, dict[Request, Any]]] = {
            name: {} for name in LEVELS
        }
        self._layout: Layout | None = None

    def _opened(self, address: Address, settings: Settings) -> Store:
        """The store at an address, with what is there."""
        store = _store_in_folder(address, settings, self.config())
        if store.config:
            check_embedder(address, store.config, self.embedder.name)
        return store

    def _searched_levels(self) -> dict[str, SearchedLevel]:
        """The levels of the store, by name."""
        # Sections are read by the language model, and not searched.
        embedders = {PARAGRAPHS: self.embedder, SECTIONS: None, PARTS: self.embedder}
        return {
            name: SearchedLevel(self.store, embedder, name)
            for name, embedder in embedders.items()
        }

    @property
    def own_store(self) -> Store:
        """As of `Index`."""
        return self.store

    @property
    def sections(self) -> Reader:
        """The sections there are now, without their text."""
        return self.store.reader(SECTIONS)

    @property
    def parts(self) -> Reader:
        """The runs of paragraphs there are now."""
        return self.store.reader(PARTS)

    @property
    def paragraphs(self) -> Reader:
        """The paragraphs there are now."""
        return self.store.reader(PARAGRAPHS)

    def searched(self, level: str, snapshot: Snapshot | None = None) -> Reader:
        """A level as vectors search it, now or in a snapshot."""
        return self._levels[level].reader(snapshot)

    @property
    def document_ids(self) -> list[str]:
        """In the order of their first adding."""
        return self.store.document_ids

    @property
    def usage(self) -> Usage:
        """What indexing has cost.

        Since this was made or loaded, and without what a retriever asks.
        """
        return self.runner.usage

    def __len__(self) -> int:
        """The number of paragraphs."""
        return len(self.paragraphs)

    def add(self, documents: Iterable[Document]) -> D3AddReport:
        """Add documents, or replace those that changed. Errors are those of `Index.add`."""
        return self._add(self._adding(documents))

    def update(self, documents: Iterable[Document]) -> D3AddReport:
        """`add` for documents that must be there already.

        InvalidParameter, and nothing has changed, if one is not.
        """
        return self._add(self._adding(documents, known_only=True))

    async def aadd(self, documents: Iterable[Document]) -> D3AddReport:
        """`add` on an event loop."""
        return await self._aadd(self._adding(documents))

    async def aupdate(self, documents: Iterable[Document]) -> D3AddReport:
        """`update` on an event loop."""
        return await self._aadd(self._adding(documents, known_only=True))

    def _add(self, work: _D3Adding) -> D3AddReport:
        try:
            for group in work.groups(self.runner.asking.progress):
                work.put(self.runner.run(work.steps(group)))
        finally:
            self._keep()
        return work.d3_report()

    async def _aadd(self, work: _D3Adding) -> D3AddReport:
        try:
            for group in work.groups(self.runner.asking.progress):
                prepared = await self.runner.arun(work.steps(group))
                await asyncio.to_thread(work.put, prepared)
        finally:
            await asyncio.to_thread(self._keep)
        return work.d3_report()

    def _keep(self) -> None:
        """Write what has changed to the index's address, if it has one."""
        if self.address is not None:
            self.save(self.address)

    def _adding(
        self, documents: Iterable[Document], *, known_only: bool = False
    ) -> _D3Adding:
        """One call of `add` or `update`, its documents checked."""
        return _D3Adding(
            documents,
            {name: self._preparation(name) for name in LEVELS},
            store=self.store,
            host=self.host,
            usage=self.usage,
            settings=self.settings_name(),
            known_only=known_only,
        )

    def _preparation(self, level: str) -> Preparation:
        """How documents are prepared at a level."""
        has_vectors = level != SECTIONS and not hasattr(self.embedder, "fit")
        keeps = self.runner.cache is None and self.runner.llm is not None
        return Preparation(
            self._splitters[level],
            ViewSettings(names=LEVELS[level], language=self.language),
            self.embedder if has_vectors else None,
            "windows",
            None,
            kept=self.kept[level] if keeps else None,
        )

    def settings_name(self) -> str:
        """Everything besides the document that decides what is indexed, as one string."""
        llm = self.runner.llm.name if self.runner.llm else None
        return setting_name([list(self._splitters.values()), llm, self.embedder.name])

    def fingerprint(self, document: Document) -> str:
        """What decides a document's entry: itself, every setting and model name."""
        return fingerprint(document, self.settings_name())

    def delete(self, doc_id: str | Iterable[str]) -> bool:
        """Remove one document or several; False if any is missing.

        Raises InvalidParameter for what is no id, before anything is removed.
        """
        names = check_ids("doc_id", doc_id)
        for answers in self.kept.values():
            for name in names:
                answers.pop(name, None)
        # All, whatever the first says.
        deleted = [self.store.delete(name) for name in names]
        self._keep()
        return all(deleted)

    def layout(self, snapshot: Snapshot | None = None) -> Layout:
        """The sections with their paragraphs, put together once after a change.

        Those of now, or of a snapshot.
        """
        snapshot = snapshot or self.store.snapshot()
        layout = self._layout
        if layout is None or layout.changes != snapshot.changes:
            layout = self._layout = build_layout(
                snapshot.reader(SECTIONS),
                snapshot.reader(PARTS),
                snapshot.reader(PARAGRAPHS),
            )
        return layout

    def warm_up(self) -> None:
        """As `Index.warm_up`, for all levels."""
        for level in LEVELS:
            self.searched(level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete.

        As `Index.save`.
        """
        for level in self._levels.values():
            level.keep_fit()
        self.store.save(path, config=self.config())

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
        asking: Asking | None = None,
        **options: Unpack[AskingOptions],
    ) -> D3Index:
        """Open a saved index with its settings.

        Models are not saved: pass the same `embedder` (and `llm`, `counter`) again. `verify`
        compares the checksums of all files. Raises IndexDamaged if there is no index, or it is
        incomplete, altered, not ours or of a newer release; InvalidParameter if the embedder is
        another one than it was built with.
        """
        store = _store_in_folder(path, verify=verify)
        config = store.config
        if not {"d3", "embedder"} <= config.keys():
            raise IndexDamaged(
                f"{os.fspath(path)!r} was not saved by D3Index.save: its manifest lacks the "
                "settings. Open it with Index.load."
            )
        index = cls(
            embedder=embedder,
            llm=llm,
            counter=counter,
            asking=asking_of(asking, options, D3Index),
            dtype=store.settings.dtype,
            **config["d3"],
        )
        check_embedder(path, config, index.embedder.name)
        index.store = store
        index._levels = index._searched_levels()
        return index


def _store_in_folder(
    address: Address,
    settings: Settings | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    verify: bool = False,
) -> Store:
    """`open_store`; InvalidParameter for an engine's place."""
    if engine_of(address) is not None:
        raise InvalidParameter(
            f"store must be a folder for D3Index, which needs every section and paragraph of a "
            f"search in memory; got {str(address)!r}. Pass a folder, or search the engine with "
            "MultiViewRetriever, which reads only what it finds."
        )
    return cast("Store", open_store(address, settings, config, verify=verify))
