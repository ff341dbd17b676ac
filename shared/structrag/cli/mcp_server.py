"""The tools that `structrag mcp` serves: search, evidence, outlines, sections and citations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Annotated, Any, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AliasChoices, Field, ValidationError
from typing_extensions import TypedDict

from structrag._version import __version__
from structrag.citations import cited_document, resolve
from structrag.cli.engine_index import EngineIndex
from structrag.cli.index_folder import Changes, IndexFolder
from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    StructragError,
    check_at_least,
)
from structrag.integrations.metadata import PAGE_LABEL_KEY, PLACE_KEY, place_notes
from structrag.reading.outline import Outline
from structrag.reading.pdf.boxes import boxes, page_image
from structrag.records import Hit, citation_of
from structrag.text.heading_path import SEPARATOR
from structrag.text.tokens import count_tokens, without_surrogates

T = TypeVar("T")
# A question by its other name is taken too.
Query = Annotated[str, Field(validation_alias=AliasChoices("query", "question"))]
LEFT_OUT = (None, "", "null")  # what stands for no argument
WORDS = ("query", "question", "citation")  # arguments in which it may be meant
FRESH = 2.0  # seconds in which files are not looked at again
NEVER = float("-inf")
INSTRUCTIONS = (
    "This server searches a folder of documents. Use evidence to answer a question, search to "
    "look for words, and outline and read_section to read around a passage. Cite passages by "
    "document, path, start and end. Call resolve with a passage's citation to check that it is "
    "still there, and show_page to see a passage of a PDF on its page. start and end are character "
    "offsets into the document's text, and every passage is an exact slice of it."
)


class FoundPassage(TypedDict):
    """A passage that was found."""

    document: str  # as `outline` and `read_section` take it
    title: str  # of the document
    path: list[str]  # titles that lead to it
    section: int  # the number of its section, as `read_section` takes it
    start: int  # characters of the document's text
    end: int
    pages: str  # of a PDF, from 1, such as "3" or "3-4"; else ""
    place: str  # in the file, such as "slide 4" or "sheet Prices A12:C20"; else ""
    # What the text is read with: header of a table's rows, lead-in of a list's items.
    context: str
    text: str
    score: float
    citation: str  # as `resolve` takes it


class OutlineEntry(TypedDict):
    """A document, or a section of one."""

    document: str
    section: int  # 0: the whole document
    title: str
    path: list[str]
    start: int
    end: int
    tokens: int  # of the text with everything below it, estimated


class Contents(TypedDict):
    """A part of a list of documents or sections."""

    entries: list[OutlineEntry]
    first: int  # the place of the first in the whole list, from 0
    total: int  # how many the whole list has


class SectionText(TypedDict):
    """The text of a section."""

    document: str
    path: list[str]
    start: int
    end: int
    text: str
    more: bool  # whether it was cut at `max_tokens`; `end` is where to read on


class Library:
    """The documents of some files and folders, searched and read.

    Nothing else is, whatever the index holds and wherever links lead that replace a file or folder.

    Args:
        kept: The index; it is brought up to date when it is used.
        paths, how: As in `IndexFolder.update`; without paths it serves what is in the index.
    """

    def __init__(
        self, kept: IndexFolder | EngineIndex, paths: Sequence[Path], **how: Any
    ) -> None:
        self.kept = kept
        self.paths: list[Path] = list(paths)
        self.how = how
        # The folder that documents are named from; an id that is no path is its name.
        folders = [
            os.path.abspath(path if path.is_dir() else path.parent) for path in paths
        ] or [*map(os.path.dirname, filter(os.path.isabs, kept.index.document_ids))]
        self.base: str = os.path.commonpath(folders) if folders else ""
        self._looked = NEVER
        self._lock = RLock()

    def refresh(self) -> Changes:
        """Read what changed, unless that was done just now.

        Raises:
            InvalidDocument: at the first time there is nothing to serve. Later it may come again.
        """
        with self._lock:
            changes = Changes()
            if monotonic() - self._looked < FRESH:
                return changes
            try:
                changes = self.kept.update(self.paths, **self.how)
            except InvalidDocument:
                if self._looked == NEVER:
                    raise
            self._looked = monotonic()
            return changes

    def find(
        self, query: str, k: int | None, max_tokens: int | None
    ) -> list[FoundPassage]:
        """Passages for a query. Raises InvalidParameter if it is blank."""
        if not query.strip():
            raise InvalidParameter(
                "query must be a question or search words; got only blanks."
            )

        def passages() -> list[FoundPassage]:
            where = self.kept.where
            hits = self.kept.index.search(query, k, max_tokens=max_tokens, where=where)
            return [self._passage(hit) for hit in hits]

        return self._now(passages)

    def _now(self, answer: Callable[[], T]) -> T:
        """What is there now answers. What is wrong may be right after another look, such as at a
        file that has left."""
        with self._lock:
            self.refresh()
            try:
                answered = answer()
            except InvalidParameter:
                self._looked -= 2 * FRESH
                self.refresh()
                answered = answer()
            return cast("T", _plain(answered))

    def contents(self, document: str = "", first: int = 0, most: int = 100) -> Contents:
        """The documents, those in a folder, or the sections of one. `most` of them at once, from
        the one at `first`, so that a long list is read in parts."""
        check_at_least("first", first, 0)
        check_at_least("most", most, 1)

        def listed() -> Contents:
            names = self._inside(document)
            some = slice(first, first + most)
            if names or not document:
                entries = [
                    self._entry(name, self._outline(name), 0) for name in names[some]
                ]
                return Contents(entries=entries, first=first, total=len(names))
            name = self._name(document)
            outline = self._outline(name)
            numbers = range(1, len(outline.sections))
            entries = [self._entry(name, outline, number) for number in numbers[some]]
            return Contents(entries=entries, first=first, total=len(numbers))

        return self._now(listed)

    def _inside(self, folder: str) -> list[str]:
        """The documents in a folder, "" for all; none for anything else."""
        inside = os.path.join(self._place(folder), "") if folder else ""
        return [name for name in self.kept.names if name.startswith(inside)]

    def _place(self, shown: str) -> str:
        """The absolute path of a name that may stand below the base."""
        return os.path.normpath(os.path.join(self.base, shown))

    def read(
        self, document: str, section: int | str, max_tokens: int, start: int = 0
    ) -> SectionText:
        """The text of a section with everything below it. 0 stands for the whole document, and for
        the section's own start."""
        check_at_least("max_tokens", max_tokens, 1)
        return self._now(lambda: self._section(document, section, max_tokens, start))

    def _section(
        self, document: str, section: int | str, max_tokens: int, start: int
    ) -> SectionText:
        name = self._name(document)
        outline = self._outline(name)
        sections, text = outline.sections, outline.document.text
        named = str(section).strip().casefold()
        for number, chosen in enumerate(sections):
            titles = chosen.title, SEPARATOR.join(chosen.path)
            if named in (str(number), *map(str.casefold, titles)):
                break
        else:
            raise InvalidParameter(
                f"section must be a number from 0 to {len(sections) - 1} or a title in "
                f"{document!r}; got {section!r}. The tool outline lists the sections."
            )
        first, end = chosen.start, chosen.end
        start = start or first
        if not first <= start <= end:
            raise InvalidParameter(
                f"start must be 0 or from {first} to {end}, where section {section} of "
                f"{document!r} stands; got {start}. To continue reading, pass the `end` of "
                "the last answer."
            )
        cut = _cut(text, start, end, max_tokens)
        return SectionText(
            document=self._shown(name),
            path=list(chosen.path),
            start=start,
            end=cut,
            text=text[start:cut],
            more=cut < end,
        )

    def resolve(self, citation: str) -> dict[str, Any]:
        """What has become of a cited passage."""
        cited = cited_document(citation)

        def resolution() -> dict[str, Any]:
            document = self._outline(self._name(cited)).document
            return asdict(resolve(citation, replace(document, id=cited)))

        return self._now(resolution)

    def page(self, citation: str) -> tuple[list[dict[str, Any]], bytes]:
        """The boxes of a cited passage, and the page."""
        cited = cited_document(citation)

        def picture() -> tuple[list[dict[str, Any]], bytes]:
            document = self._outline(self._name(cited)).document
            now = resolve(citation, replace(document, id=cited))
            placed = [box._asdict() for box in boxes(document, now)]
            return placed, page_image(document, now)

        return self._now(picture)

    def _passage(self, hit: Hit) -> FoundPassage:
        chunk = hit.chunk
        if not self.kept.is_there(chunk.doc_id):
            raise _not_served(self._shown(chunk.doc_id))
        document = self.kept.index.store.document(chunk.doc_id)
        notes = place_notes(document.meta, chunk)
        return FoundPassage(
            document=self._shown(chunk.doc_id),
            title=document.title,
            path=list(chunk.path),
            section=int(chunk.section_id.rpartition("#")[2]),
            start=chunk.start,
            end=chunk.end,
            pages=notes.get(PAGE_LABEL_KEY, ""),
            place=notes.get(PLACE_KEY, ""),
            context=chunk.context,
            text=chunk.text,
            score=round(hit.score, 4),
            citation=citation_of(self._shown(chunk.doc_id), chunk.cited),
        )

    def _entry(self, name: str, outline: Outline, number: int) -> OutlineEntry:
        section, document = outline.sections[number], outline.document
        return OutlineEntry(
            document=self._shown(name),
            section=number,
            title=section.title if number else document.title,
            path=list(section.path),
            start=section.start,
            end=section.end,
            tokens=count_tokens(document.text[section.start : section.end]),
        )

    def _shown(self, name: str) -> str:
        if not os.path.isabs(name):
            return name
        return os.path.relpath(name, self.base).replace(os.sep, "/")

    def _name(self, document: str) -> str:
        """The id of a document by its short name. Nothing but the documents of the index can be
        read."""
        for name in (document, self._place(document)):
            if document and self.kept.holds(name):
                return name
        for name in self.kept.names:
            if document == without_surrogates(self._shown(name)):
                return name
        raise _not_served(document)

    def _outline(self, name: str) -> Outline:
        outline = self.kept.outline(name, **self.how)
        if outline is None:
            raise _not_served(self._shown(name))
        return outline


def _not_served(document: str) -> InvalidParameter:
    return InvalidParameter(
        f"document must be the name of a document served here; got {document!r}. Call the tool "
        "outline without a document to list them."
    )


def server_of(library: Library) -> MCPServer[Any]:
    """The server with its six tools."""
    server = _Server(
        "structrag", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )

    @server.tool()
    def evidence(query: Query, max_tokens: int = 1000) -> list[FoundPassage]:
        """Return the passages that answer a question, best first, within max_tokens tokens in
        total."""
        return library.find(query, None, max_tokens)

    @server.tool()
    def search(query: Query, k: int = 5) -> list[FoundPassage]:
        """Return the k best passages for search words or a question. Each is a paragraph, a table
        or a list."""
        return library.find(query, k, None)

    @server.tool()
    def outline(document: str = "", first: int = 0, most: int = 100) -> Contents:
        """List the documents, those in a folder (document="manuals/"), or the sections of one
        document. Returns at most `most` entries, starting at `first`; `total` is the number of all
        entries. Sections come with their numbers and sizes.
        """
        return library.contents(document, first, most)

    @server.tool()
    def read_section(
        document: str, section: int | str = 0, start: int = 0, max_tokens: int = 4000
    ) -> SectionText:
        """Return the text of a section (its number or title) and its subsections. Section 0 is the
        whole document. If the text exceeds max_tokens, it is cut and `more` is true: pass the
        returned `end` as start to continue.
        """
        return library.read(document, section, max_tokens, start)

    @server.tool(name="resolve")
    def resolve_citation(citation: str) -> dict[str, Any]:
        """Check whether a cited passage is still in its document. Returns `state` ("there",
        "moved", "changed" or "gone") and the current `text` from `start` to `end`."""
        return library.resolve(citation)

    @server.tool()
    def show_page(citation: str) -> tuple[list[dict[str, Any]], Image]:
        """Return the boxes of a cited passage of a PDF, in points from the upper left corner of
        each page, and a picture of its first page with the passage marked."""
        placed, picture = library.page(citation)
        return placed, Image(data=picture, format="png")

    return server


class _Server(MCPServer[Any]):
    """A server for models, which fill in what they should leave out."""

    async def call_tool(self, name: str, arguments: Any, context: Any = None) -> Any:
        chosen = {
            key: value
            for key, value in arguments.items()
            if key in WORDS or value not in LEFT_OUT
        }
        try:
            return await super().call_tool(name, chosen, context)
        except ToolError as error:
            # The agent is told what it can mend.
            cause, said = error.__cause__, str(error)
            if isinstance(cause, ValidationError):
                (wrong, *_) = cause.errors()
                said = f"{wrong['loc'][0]}: {wrong['msg']}."
            elif isinstance(cause, StructragError):
                said = str(cause)
            raise ToolError(without_surrogates(said)) from error


def _plain(value: Any) -> Any:
    """What JSON can hold: names of files and texts may have surrogates."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [*map(_plain, value)] if isinstance(value, list) else value


def _cut(text: str, start: int, end: int, max_tokens: int) -> int:
    """Where a text of most tokens ends. At a line's end if there is one."""
    low, high = start, min(end, start + max_tokens)
    while high < end and count_tokens(text[start:high]) <= max_tokens:
        low, high = high, min(end, 2 * high - start)
    if high == end and count_tokens(text[start:end]) <= max_tokens:
        return end
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[start:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    line = text.rfind("\n", start, low) + 1
    return line if line > start else max(low, start + 1)
