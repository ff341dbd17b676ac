"""The index D3 works on: condensed sections, parts of sections, and paragraphs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structrag.asking.requests import COUNTS, Usage, fallbacks_line
from structrag.asking.settings import Asking, AskingOptions, as_cache, asking_of
from structrag.errors import IndexDamaged, check_choice
from structrag.index.adding import Splitter
from structrag.index.index import AddReport, Index
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.models.summariser import TransformersSummariser
from structrag.reading.settings import Reading
from structrag.records import Document
from structrag.retrieval.d3.condensing import SectionSplitter
from structrag.retrieval.d3.layout import Layout, build_layout
from structrag.retrieval.d3.paragraphs import PART_TOKENS, ParagraphSplitter, PartSplitter
from structrag.retrieval.d3.saving import save_folder, saved_options
from structrag.retrieval.d3.turns import Turns
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True)
class D3AddReport:
    """What adding documents did, by unit; `documents` are counted in `sections`."""

    sections: AddReport
    parts: AddReport
    paragraphs: AddReport

    @property
    def usage(self) -> dict[str, Any]:
        """What all three cost together, as `Usage.as_dict`."""
        total = Usage()
        for report in (self.sections, self.parts, self.paragraphs):
            counts = {name: report.usage[name] for name in COUNTS}
            fallbacks = Counter(report.usage["fallbacks"])
            total += Usage(**counts, fallbacks=fallbacks, reasons=report.usage["reasons"])
        return total.as_dict()

    def __str__(self) -> str:
        report = self.sections
        why = fallbacks_line(report.usage["fallbacks"], report.usage["reasons"])
        return (
            f"{report.added} documents added, {report.replaced} replaced, {report.unchanged} "
            f"unchanged; {report.chunks} sections, {self.parts.chunks} parts, "
            f"{self.paragraphs.chunks} paragraphs; {report.usage['calls']} language-model calls"
            + (f"; fell back: {why}" if why else "")
        )


class D3Index:
    """Documents as D3 reads them: by sections, parts and paragraphs.

    Example:
        >>> from structrag import read_text
        >>> text = "# Pump\\n\\nIt leaks.\\n\\n# Valve\\n\\nIt is made of brass.\\n"
        >>> report = D3Index().add([read_text(text, format="markdown")])
        >>> report.sections.chunks, report.paragraphs.chunks
        (2, 2)

    These are three `Index` objects that always hold the same documents. `sections` has each section
    as path and summary, which the language model is shown; `parts` runs of whole paragraphs, by
    which routing works without a language model; `paragraphs` the units of evidence. A document is
    in all three or in none, and one that has not changed is left alone.

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
        dtype, asking, options: As in `Index`; one cache serves all three.
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
        if prompt is None and isinstance(llm, TransformersSummariser):
            prompt = "{text}"
        by_preset: dict[str, Any] = {
            "summary_tokens": summary_tokens,
            "whole_tokens": whole_tokens,
            "section_tokens": section_tokens,
            "paragraph_tokens": paragraph_tokens,
            "keywords": keywords,
            "prompt": prompt,
        }
        changes = {name: value for name, value in by_preset.items() if value is not None}
        make = SectionSplitter.paper if paper else SectionSplitter
        splitter = make(window_tokens=window_tokens, **changes, **reading.options())
        asking = asking_of(asking, options)
        self.cache = as_cache(asking.cache)
        self._saved: dict[str, Any] = {
            "preset": preset,
            **{name: getattr(splitter, name) for name in by_preset},
            "window_tokens": window_tokens,
            "part_tokens": part_tokens,
            "plain_headings": plain_headings,
            "language": language,
            "exclude_titles": list(reading.exclude_titles),
        }
        self._options: dict[str, Any] = {
            "language": language,
            "dtype": dtype,
            "asking": asking,
        }
        self._splitters: dict[str, Splitter] = {
            "sections": splitter,
            "parts": PartSplitter(part_tokens, splitter.paragraph_tokens, **reading.options()),
            "paragraphs": ParagraphSplitter(splitter.paragraph_tokens, **reading.options()),
        }
        self._models = {
            "sections": {"llm": llm},
            "parts": {"embedder": embedder},
            "paragraphs": {"embedder": embedder},
        }
        if embedder is not None:
            shared = as_embedder(embedder)
            self._models["parts"] = self._models["paragraphs"] = {"embedder": shared}
        self.sections, self.parts, self.paragraphs = (self._index(name) for name in self._splitters)
        self._layout: tuple[tuple[int, ...], Layout] | None = None
        self._changing = Turns()

    def _index(self, name: str, path: Path | None = None, *, verify: bool = False) -> Index:
        options: dict[str, Any] = {
            **self._options,
            **self._models[name],
            "splitter": self._splitters[name],
        }
        if path is None:
            return Index(views=("raw",), **options)
        del options["dtype"]  # a saved index has its own
        return Index.load(path / name, verify=verify, **options)

    @property
    def indexes(self) -> tuple[Index, Index, Index]:
        """Sections, parts and paragraphs."""
        return self.sections, self.parts, self.paragraphs

    @property
    def document_ids(self) -> list[str]:
        """In the order of their first adding."""
        return self.paragraphs.document_ids

    @property
    def usage(self) -> Usage:
        """What indexing and the questions' vectors have cost.

        Since this was made or loaded, and without what a retriever asks.
        """
        return sum((index.usage for index in self.indexes), Usage())

    def __len__(self) -> int:
        """The number of paragraphs."""
        return len(self.paragraphs)

    def add(self, documents: Iterable[Document]) -> D3AddReport:
        """Add documents, or replace those that changed.

        It waits for another call that is changing the index. Errors are those of `Index.add`; a
        document that one of the three failed on is in none. InvalidParameter on an event loop where
        an `aadd` is under way.
        """
        return self._add(documents, known_only=False)

    def update(self, documents: Iterable[Document]) -> D3AddReport:
        """`add` for documents that must be there already.

        InvalidParameter, and nothing has changed, if one is not.
        """
        return self._add(documents, known_only=True)

    def _add(self, documents: Iterable[Document], *, known_only: bool) -> D3AddReport:
        batch = documents if isinstance(documents, Document) else list(documents)
        with self._changing.taken():
            try:
                reports = [
                    index.update(batch) if known_only else index.add(batch)
                    for index in self.indexes
                ]
            except BaseException:
                self._make_whole(batch)
                raise
        return D3AddReport(*reports)

    async def aadd(self, documents: Iterable[Document]) -> D3AddReport:
        """`add` on an event loop."""
        return await self._aadd(documents, known_only=False)

    async def aupdate(self, documents: Iterable[Document]) -> D3AddReport:
        """`update` on an event loop."""
        return await self._aadd(documents, known_only=True)

    async def _aadd(self, documents: Iterable[Document], *, known_only: bool) -> D3AddReport:
        batch: Any = documents if isinstance(documents, Document) else list(documents)
        async with self._changing.awaited():
            try:
                reports = [
                    await (index.aupdate(batch) if known_only else index.aadd(batch))
                    for index in self.indexes
                ]
            except BaseException:
                self._make_whole(batch)
                raise
        return D3AddReport(*reports)

    def _make_whole(self, documents: Any) -> None:
        """Take out documents that a failure left in different versions."""
        if isinstance(documents, Document):  # not in a list, which was the failure
            return
        for document in documents:
            if not isinstance(document, Document):
                continue
            if not any(document.id in index.store for index in self.indexes):
                continue
            new = [
                index.store.fingerprint(document.id) == index.fingerprint(document)
                for index in self.indexes
            ]
            if any(new) and not all(new):
                self._delete(document.id)

    def delete(self, doc_id: str) -> bool:
        """Remove a document; False if there is none of this id."""
        with self._changing.taken():
            return self._delete(doc_id)

    def _delete(self, doc_id: str) -> bool:
        deleted = [index.delete(doc_id) for index in self.indexes]
        return any(deleted)

    @property
    def changes(self) -> tuple[int, ...]:
        """Differs after documents were added or deleted; rows hold while it stays."""
        return tuple(index.store.changes for index in self.indexes)

    def layout(self) -> Layout:
        """The sections with their paragraphs, put together once after a change."""
        changes = self.changes
        if self._layout is not None and self._layout[0] == changes:
            return self._layout[1]
        layout = build_layout(self.sections.store, self.parts.store, self.paragraphs.store)
        self._layout = (changes, layout)
        return layout

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete.

        Raises InvalidParameter if `path` is a file, or a folder that holds something else; then
        nothing is changed.
        """
        savers = [index.save for index in self.indexes]
        with self._changing.taken():
            save_folder(Path(path), dict(zip(self._splitters, savers, strict=True)), self._saved)

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
        index = cls(
            embedder=embedder,
            llm=llm,
            counter=counter,
            asking=asking_of(asking, options),
            **saved_options(Path(path)),
        )
        index.sections, index.parts, index.paragraphs = (
            index._index(name, Path(path), verify=verify) for name in index._splitters
        )
        if len({tuple(level.document_ids) for level in index.indexes}) != 1:
            raise IndexDamaged(
                f"{os.fspath(path)!r} holds parts of different indexes; build it again."
            )
        return index
