"""The records that flow through the library, in their order. Document -> Section, Block -> Chunk ->
Hit All are frozen. Every span is a half-open range of **characters** `[start, end)` into
`Document.text`."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from typing import Any, Literal
from urllib.parse import quote

import xxhash

BlockKind = Literal[
    "paragraph", "list", "table", "code", "image", "math", "quote", "html", "other"
]


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading found by a format's reader. `[start, end)` is its whole line or lines, line end
    included."""

    level: int  # from 1, outermost
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph-like piece of a section's own body. The blocks of a body tile it, blank lines
    included."""

    kind: BlockKind
    start: int
    end: int
    # good places to cut inside: starts of list items, table rows, code lines; ascending
    cuts: tuple[int, ...] = ()
    # tables: end of the header rows, which pieces of a cut table repeat; 0: no header
    header_end: int = 0
    # Where its own text begins (of a table, the header rows), behind a heading; None: at `start`.
    header_start: int | None = None

    @property
    def text_start(self) -> int:
        """Where the block's own text begins, behind a heading before it."""
        return self.start if self.header_start is None else self.header_start


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Where each run of a text came from in its file.

    Documents from HTML and PDF have one, as their text is not the file's own.
    Run i is `text[text_starts[i]:text_starts[i + 1]]` and begins at `source_starts[i]`. Inside a
    run offsets advance together where `exact[i]`; otherwise the whole run maps to the one source
    place (white space that was collapsed, a character reference).
    """

    text_starts: tuple[int, ...]
    source_starts: tuple[int, ...]
    exact: tuple[bool, ...]

    def to_source(self, offset: int) -> int:
        """The source offset of a character of the text; 0 without runs."""
        run = bisect_right(self.text_starts, offset) - 1
        if run < 0:
            return 0
        inside = offset - self.text_starts[run] if self.exact[run] else 0
        return self.source_starts[run] + inside

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the text begins and ends in the source. `start` is below `end`, which is
        not included."""
        return self.to_source(start), self.to_source(end - 1) + 1


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image of a page. Its alt text, where it has one, stands in the text from `offset` on."""

    offset: int
    file: str  # the address as it is written
    alt: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Headings, blocks and images, in order, seen in markup outside the text."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    source_map: SourceMap
    images: tuple[PlacedImage, ...] = ()


class _WeaklyReferenced:
    """A base with slots whose instances can be weakly referenced."""

    __slots__ = ("__weakref__",)  # dataclass(weakref_slot=True) needs Python 3.11


@dataclass(frozen=True, slots=True)
class Document(_WeaklyReferenced):
    """A text to split and search. Create one with `read_text` or `read_file`.

    Example:
        >>> from structrag import read_text
        >>> document = read_text("# Pumps\\n\\nPumps move water.", id="guide")
        >>> document.id, document.title, document.format
        ('guide', 'Pumps', 'markdown')

    `text` is what people see: the unchanged text of Markdown and plain text, the visible text of
    HTML. It never changes afterwards.
    """

    text: str
    id: str = ""  # default: the source's name, else derived from the text
    title: str = ""
    format: str = "text"  # "markdown", "html" or "text"
    meta: Mapping[str, Any] = field(default_factory=dict)
    layout: Layout | None = None  # for formats whose markup is not in `text`

    def __post_init__(self) -> None:
        if not self.id:
            source = self.meta.get("source")
            digest = sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            object.__setattr__(self, "id", str(source) if source else digest)


@dataclass(frozen=True, slots=True)
class Section:
    """A titled division of a document.

    Example:
        >>> from structrag import read_text
        >>> from structrag.reading.sections import parse
        >>> document = read_text("# Pumps\\n\\nPumps move water.")
        >>> section = parse(document).sections[1]
        >>> section.title, section.level, document.text[section.body_start : section.body_end]
        ('Pumps', 1, '\\nPumps move water.')

    Ordinal 0 is the root, whose body is the text before the first heading. `[start, body_start)` is
    the heading, `[body_start, body_end)` the body before the first child, `[start, end)` the
    section with everything below it.
    """

    doc_id: str
    ordinal: int  # position in reading order, the root is 0
    level: int  # 0 for the root
    title: str
    # Titles from the outermost heading to its own; () for the root.
    path: tuple[str, ...]
    start: int
    body_start: int
    body_end: int
    end: int
    parent: int | None  # ordinal
    children: tuple[int, ...]  # ordinals

    @property
    def id(self) -> str:
        return f"{self.doc_id}#{self.ordinal}"


def chunk_id(doc_id: str, path: Sequence[str], text: str, number: int = 1) -> str:
    """The id of a chunk: its document, and a digest of its heading path and its text.

    An edit elsewhere in the document leaves it as it is. White space around the text does not
    count. `number` is that of the chunk among the equal ones of its document, from 1.

    Example:
        >>> chunk_id("guide", ["Pumps"], "Pumps move water.")
        'guide:cd07c05eabb0bdd2'
        >>> chunk_id("guide", ["Pumps"], "Pumps move water.", 2)
        'guide:cd07c05eabb0bdd2.2'
    """
    content = "\0".join([*path, text.strip()]).encode("utf-8", "surrogatepass")
    digest = xxhash.xxh3_64_hexdigest(content)
    return f"{doc_id}:{digest}.{number}" if number > 1 else f"{doc_id}:{digest}"


def citation_of(doc_id: str, place: str) -> str:
    """A citation: the id of a document, and what `structrag.citations.cite` says of a passage."""
    name = quote(doc_id, errors="surrogatepass").replace("~", "%7E")
    citation = f"c1~{name}~{place}"
    digest = sha256(citation.encode()).digest()
    return citation + urlsafe_b64encode(digest[:3]).decode()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one document: `document.text[start:end] == text` always holds.

    Example:
        >>> from structrag import ContentAwareSplitter, read_text
        >>> (chunk,) = ContentAwareSplitter().split(read_text("# Pumps\\n\\nPumps move water."))
        >>> chunk.path, chunk.start, chunk.end, chunk.body
        (('Pumps',), 0, 26, '\\nPumps move water.')

    A chunk is never blank.

    `[start, body_start)` is the front matter or the headings that the text starts with. It is empty
    if the text starts with neither, or consists of nothing else. A `body_start` outside the chunk
    is moved to the nearer end.
    """

    id: str  # of `chunk_id`
    doc_id: str
    section_id: str
    start: int
    end: int
    text: str
    # stands in front of the text for indexing: heading path, a table's header rows
    context: str = ""
    n_tokens: int = 0  # of `text` alone; extras["index_tokens"] counts `index_text`
    path: tuple[str, ...] = ()  # heading titles, outermost first, the own one included
    kind: str = "text"
    extras: Mapping[str, Any] = field(default_factory=dict)  # JSON values only
    # Like `start`, an offset into the document's text; default: `start`.
    body_start: int = 0
    cited: str = field(default="", compare=False, repr=False)  # as `cite` gives it

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "body_start", min(max(self.body_start, self.start), self.end)
        )

    @property
    def span(self) -> tuple[str, int, int]:
        """The document's id, start and end, as `structrag.evaluation` takes them."""
        return self.doc_id, self.start, self.end

    @property
    def body(self) -> str:
        """The text without the headings it starts with. A chunk that holds only headings keeps
        them."""
        return self.text[self.body_start - self.start :]

    @property
    def index_text(self) -> str:
        """What the view `raw` indexes: the context, a newline, the text.

        It is embedded, and indexed for BM25. If an enricher left a shorter body in
        `extras["reduced"]`, that body replaces the text.
        """
        body = str(self.extras.get("reduced") or self.text)
        return f"{self.context}\n{body}" if self.context else body


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found for a query.

    Example:
        >>> from structrag import Index, read_text
        >>> index = Index()
        >>> report = index.add([read_text("# Pumps\\n\\nPumps move water.", id="guide")])
        >>> (hit,) = index.search("water", route="bm25")
        >>> hit.chunk.doc_id, hit.rank, hit.routes
        ('guide', 1, {'bm25:raw': 1})

    `routes` and `scores` hold only the routes that found the chunk. Each retriever documents its
    routes, and how `parts` make up the score: usually they add up to it.
    """

    chunk: Chunk
    score: float
    rank: int  # from 1
    # Route -> rank from 1 on that route.
    routes: Mapping[str, float] = field(default_factory=dict)
    # route -> its own score, as it gave it
    scores: Mapping[str, float] = field(default_factory=dict)
    # Route -> what it added to the score.
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def citation(self) -> str:
        """A short string that finds the passage again when its document was edited.

        `structrag.citations.resolve` takes it. "" for a chunk of no index of structrag.
        """
        chunk = self.chunk
        return citation_of(chunk.doc_id, chunk.cited) if chunk.cited else ""

    @property
    def boxes(self) -> Sequence[Any]:
        """Where the passage stands on the pages of its PDF, if the document's id is its path.

        `structrag.show.boxes` finds them, also for other ids, and has the units and the errors.
        """
        return import_module("structrag.show").boxes(self.chunk.doc_id, self)  # type: ignore[no-any-return]
