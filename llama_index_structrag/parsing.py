"""Base of the node parsers: from nodes to core documents, and from chunks to nodes that keep the
limit."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from llama_index.core.bridge.pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.node_parser.interface import NodeParser
from llama_index.core.schema import BaseNode, MetadataMode, RelatedNodeInfo, TextNode
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.utils import get_tokenizer, get_tqdm_iterable
from typing_extensions import Self

from llama_index_structrag.conversion import (
    EMBED_EXCLUDED_KEY,
    OWN_KEYS,
    add_page_label,
    check_nodes,
    chunk_metadata,
    hide_structure,
    link_neighbours,
    make_node,
    read_node,
)
from llama_index_structrag.settings import (
    IdFunc,
    Tokenizer,
    is_standard,
    picklable,
    span_id,
    token_counter,
)
from structrag.errors import check_arguments, check_choice
from structrag.integrations.arguments import with_one_embedder
from structrag.integrations.documents import stable_uuid
from structrag.integrations.metadata import (
    CONTEXT_KEY,
    chunk_notes,
    is_oversize,
    without_page_starts,
)
from structrag.integrations.places import (
    original_span,
    parent_of,
    trimmed,
    trusted_start,
    under_titles,
)
from structrag.integrations.splitters import defaults_of, hints_of
from structrag.model_calls.requests import Flow, advance
from structrag.records import Chunk, Document
from structrag.text.sentences import LANGUAGES
from structrag.text.tokens import TokenCounter, count_tokens

PARSER_HINTS = hints_of(
    counter="tokenizer",
    length_function="tokenizer",
)


def place_of(node: BaseNode) -> tuple[RelatedNodeInfo, str, int | None]:
    """The document that a node's text came from, an id for the text, and its offset there.

    A node without a SOURCE is its own document; offsets of another parser are trusted where their
    length fits the text, and else None.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    start = trusted_start(
        text, getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    )
    source = node.source_node
    if source is None:
        source = node.as_related_node_info()
        source.metadata = without_page_starts(source.metadata)
        return source, node.node_id, start or 0
    mark = stable_uuid(text) if start is None else start
    return source, f"{source.node_id}@{mark}", start


def inherited(
    node: BaseNode, room: int, counter: TokenCounter
) -> tuple[dict[str, Any], list[str], int]:
    """A node's metadata for what is made of it, the keys not to embed, the tokens of the others.

    If the embedded metadata has more than `room` tokens, its longest values are not embedded.
    """
    metadata = {
        key: value for key, value in node.metadata.items() if key not in OWN_KEYS
    }
    hidden = node.excluded_embed_metadata_keys
    visible = {key: value for key, value in metadata.items() if key not in hidden}

    def size_without(excluded: Sequence[str]) -> int:
        keys = [*hidden, *excluded]
        shown = node.model_copy(
            update={"metadata": metadata, "excluded_embed_metadata_keys": keys}
        )
        return counter(shown.get_metadata_str(MetadataMode.EMBED))

    excluded, tokens = hide_longest(visible, size_without, room)
    return {**metadata, EMBED_EXCLUDED_KEY: ", ".join(excluded)}, excluded, tokens


Fitted = tuple[Chunk, TextNode, int]  # a node of a chunk, its tokens as it is embedded
_SHORT = 2000  # characters of a text whose count is remembered


class Fitter:
    """Splits documents so that nodes keep a parser's limit as embedded, for one call of it.

    How LlamaIndex joins metadata, titles and text is known only once it has done so. So the limit
    that the splitter is given begins at what the metadata leaves, and shrinks by the excess until
    every size is at most `chunk_size`, or the limit is one token. Titles are left out where they
    would take much of the limit: where their label takes over a quarter of it, where the excess
    with them does, or where a chunk with them exceeds the limit however short.

    Attributes:
        count: The parser's counter, which counts equal short texts once.
        splitter: The core's splitter for a limit in tokens, with titles in front or without.
    """

    def __init__(self, parser: StructureNodeParser) -> None:
        tokenizer = parser.tokenizer or get_tokenizer()
        counter = token_counter(tokenizer)
        short = lru_cache(1000)(counter)

        def count(text: str) -> int:
            return short(text) if len(text) <= _SHORT else counter(text)

        @lru_cache(100)
        def splitter(limit: int, titles: bool) -> Any:
            return parser.core_splitter(limit, count, context=titles)

        self.count, self.splitter = count, splitter
        self._most = parser.chunk_size
        # Each of its tokens has a byte or more, so a text of few bytes need not be counted.
        self._counts_bytes = is_standard(tokenizer)
        shows_titles = parser.include_metadata and parser.add_context
        self._label = count(f"{CONTEXT_KEY}: \n\n") if shows_titles else None

    def flow(
        self,
        document: Document,
        make: Callable[[Chunk], TextNode],
        metadata_tokens: int,
    ) -> Flow[list[Fitted]]:
        """The nodes of a document that `make` makes, beside `metadata_tokens` in each."""
        room = self._most - metadata_tokens
        titles = self._label is not None and self._label * 4 <= room
        limit = room - (self._label or 0) if titles else room
        while True:
            splitter = self.splitter(limit, titles)
            chunks = yield from split_flow(splitter, document)
            if titles and not any(chunk.context for chunk in chunks):
                # There are none, so their label takes room for nothing.
                limit, titles = room, False
                if len(chunks) != 1 or hasattr(splitter, "split_flow"):
                    continue
            fitted = [self._fitted(chunk, make) for chunk in chunks]
            excess = _largest_size(fitted, titles) - self._most
            if excess <= 0 or (limit == 1 and not titles):
                return fitted
            if titles and (excess * 4 > limit or any(map(is_oversize, chunks))):
                limit, titles = room, False
            elif limit == 1:
                return fitted
            else:
                limit = max(1, limit - excess)

    def _fitted(self, chunk: Chunk, make: Callable[[Chunk], TextNode]) -> Fitted:
        node = make(chunk)
        text = node.get_content(metadata_mode=MetadataMode.EMBED)
        if self._counts_bytes and len(text.encode("utf-8", "replace")) <= self._most:
            return chunk, node, 0
        return chunk, node, self.count(text)


def split_flow(splitter: Any, document: Document) -> Flow[list[Chunk]]:
    """The chunks of a document by any splitter, as steps."""
    if hasattr(splitter, "split_flow"):
        return (yield from splitter.split_flow(document))  # type: ignore[no-any-return]
    return splitter.split(document)  # type: ignore[no-any-return]


def hide_longest(
    values: Mapping[str, Any], size_without: Callable[[Sequence[str]], int], room: int
) -> tuple[list[str], int]:
    """The longest values to hide so that the others fit.

    The keys of those to hide, the longest first, and the tokens of the others.

    Example:
        >>> values = {"title": "Pumps", "abstract": "All about pumps and valves."}
        >>> hide_longest(values, lambda hidden: 40 - 30 * len(hidden), 20)
        (['abstract'], 10)

    Args:
        values: Those that would be embedded.
        size_without: The tokens of all of them but for the hidden keys.
        room: Tokens that they may take.
    """
    visible = sorted(values, key=lambda key: -len(str(values[key])))
    hidden: list[str] = []
    while (size := size_without(hidden)) > room and visible:
        hidden.append(visible.pop(0))
    return hidden, size


def _largest_size(fitted: Sequence[Fitted], titles: bool) -> int:
    """The largest size that a lower limit can reduce, or 0."""
    # Without titles a chunk of one long character cannot become shorter.
    sizes = [size for chunk, _, size in fitted if titles or not is_oversize(chunk)]
    return max(sizes, default=0)


class ParserArguments(TypedDict, total=False):
    """The fields of every node parser that the core does not know."""

    include_metadata: bool
    include_prev_next_rel: bool
    callback_manager: CallbackManager
    id_func: Callable[..., str]
    chunk_size: int
    tokenizer: Callable[[str], Sequence[Any]] | None
    format: Literal["auto", "html", "markdown", "text"]
    drop_navigation: bool
    strip: bool
    add_context: bool
    metadata_lists: bool
    algorithm_version: Literal[1]


class StructureNodeParser(NodeParser):
    """Base of the node parsers; subclasses define how documents are split.

    Offsets are exact: `start_char_idx` and `end_char_idx` refer to the document's text, even after
    another parser that kept its offsets. For HTML they refer to the visible text; `source_start`
    and `source_end` in the metadata refer to the markup. Text that another parser changed, or left
    without offsets, has none. Ids depend on document id, heading path and text, like those of
    retrievers, and after another parser also on the settings; an edit elsewhere leaves them.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True
    )

    CORE: ClassVar[Any]  # the core's splitter
    # A chunk's extras -> keys of a node's metadata, as in `chunk_notes`.
    KEYS: ClassVar[Mapping[str, str]] = {}

    chunk_size: int = Field(
        default=1024,
        gt=0,
        description="The token limit of a node's embedded text, including metadata.",
    )
    tokenizer: Tokenizer = Field(
        default=None,
        description="A callable from str to a list of tokens; None: LlamaIndex's global tokenizer.",
    )
    format: Literal["auto", "html", "markdown", "text"] = Field(
        default="auto",
        description=(
            "Format of the documents; auto: detected from file_type, the file's suffix or the "
            "text."
        ),
    )
    drop_navigation: bool = Field(
        default=True,
        description="For HTML: leave out nav elements and elements with the role navigation.",
    )
    strip: bool = Field(
        default=True,
        description=(
            "Whether to strip blank lines before and white space after a node's text; offsets "
            "are adjusted."
        ),
    )
    add_context: bool = Field(
        default=True,
        description="Whether nodes carry the titles above them as heading_context.",
    )
    metadata_lists: bool = Field(
        default=False,
        description="Whether heading_path and hiqa_images are lists, which some stores reject.",
    )
    algorithm_version: Literal[1] = Field(
        default=1,
        description="The version changes when the same input would be split differently.",
    )
    id_func: IdFunc = Field(
        default=span_id,
        description="A callable from the node's number and its document to an id.",
    )

    if TYPE_CHECKING:  # the settings of the core are fields as well

        def __init__(self, **settings: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    @model_validator(mode="before")
    @classmethod
    def _drop_none(cls, data: Any) -> Any:
        """Leave out optional settings that are None, so defaults count. Raises UnknownArgument for
        a name that is no setting."""
        if not isinstance(data, dict):
            return data
        if "embed_model" in cls.model_fields:
            data = with_one_embedder(data, "embed_model")
        names = [name for name in data if isinstance(name, str)]
        check_arguments(cls.__name__, names, cls.model_fields, PARSER_HINTS)
        optional = {"callback_manager", "id_func"}
        return {
            name: value
            for name, value in data.items()
            if value is not None or name not in optional
        }

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        check_choice("language", self.language, LANGUAGES)
        counter = token_counter(self.tokenizer) if self.tokenizer else count_tokens
        self.core_splitter(self.chunk_size, counter)
        return self

    @classmethod
    def from_defaults(cls, **settings: Any) -> Self:
        """The same as calling the class."""
        return cls(**settings)

    @classmethod
    def core_settings(cls, values: Any) -> dict[str, Any]:
        """The settings that the core's splitter has under the same name, with their `values`."""
        names = sorted(defaults_of(cls.CORE).keys() & cls.model_fields.keys())
        settings = {name: getattr(values, name) for name in names}
        return {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in settings.items()
        }

    def core_splitter(
        self, limit: int, counter: TokenCounter, *, context: bool = True
    ) -> Any:
        """The core's splitter with these settings and a limit of `limit` tokens."""
        sizes = self._sizes(limit, context and self.add_context)
        return self.CORE(
            **{
                **self.core_settings(self),
                "max_tokens": limit,
                "counter": counter,
                **sizes,
            }
        )

    @abstractmethod
    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        """The core's settings that have another name here."""

    def get_nodes_from_documents(
        self, documents: Sequence[Any], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """The nodes of documents. Raises InvalidParameter for anything but documents and nodes."""
        checked: list[Any] = check_nodes(documents)
        return super().get_nodes_from_documents(checked, show_progress, **kwargs)

    async def aget_nodes_from_documents(
        self, documents: Sequence[Any], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """`get_nodes_from_documents` in a worker thread."""
        checked: list[Any] = check_nodes(documents)
        return await super().aget_nodes_from_documents(checked, show_progress, **kwargs)

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        fitter = Fitter(self)
        shown = get_tqdm_iterable(nodes, show_progress, "Parsing nodes")
        # They ask for nothing, so the first step is the last.
        ended: list[Any] = [
            advance(self._node_flow(node, fitter), None) for node in shown
        ]
        return self._finished(nodes, [done.result for done in ended])

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kw: Any
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress, **kw)

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, LlamaDocument]
    ) -> list[BaseNode]:
        """Nothing: the base class would search for offsets that are there."""
        return nodes

    def _finished(
        self, nodes: Sequence[BaseNode], families: Sequence[Sequence[BaseNode]]
    ) -> list[BaseNode]:
        """The children of the nodes, in order, with ids and links."""
        settings = repr(sorted(self.to_dict().items()))
        seen: dict[str, int] = {}
        parsed: list[BaseNode] = []
        for node, children in zip(nodes, families, strict=True):
            parsed += children
            # A parser behind another one may leave a node whole: its child is told from it.
            behind = [settings] if node.source_node is not None else []
            for i, child in enumerate(children):
                if not isinstance(child, TextNode) or child is node:
                    continue  # passed on as it is
                if self.id_func is span_id:
                    child.id_ = _fresh_id(child, behind, seen)
                else:
                    child.id_ = self.id_func(i, node)
        if self.include_prev_next_rel:
            link_neighbours(parsed)
        return parsed

    def _node_flow(self, node: BaseNode, fitter: Fitter) -> Flow[list[BaseNode]]:
        """The nodes of a node; their texts as embedded keep `chunk_size`."""
        if not node.get_content(metadata_mode=MetadataMode.NONE).strip():
            return [node] if getattr(node, "image_resource", None) else []
        source, name, base = place_of(node)
        document = read_node(
            node, name, format=self.format, drop_navigation=self.drop_navigation
        )
        parent = parent_of(document, node.metadata, base)
        document = under_titles(document, parent)
        shows_metadata = self.include_metadata
        metadata, excluded, tokens = (
            inherited(node, self.chunk_size // 2, fitter.count)
            if shows_metadata
            else ({}, [], 0)
        )

        def child(whole: Chunk) -> TextNode:
            chunk = trimmed(whole) if self.strip else whole
            notes = {
                **metadata,
                **chunk_metadata(parent.place(chunk), lists=self.metadata_lists),
                **parent.source_notes(chunk, document),
            }
            span = original_span(chunk, document, base)
            name = f"{source.node_id}{chunk.id.removeprefix(document.id)}"
            new_node = make_node(
                name, chunk.text, span, notes if shows_metadata else {}, node, source
            )
            new_node.excluded_embed_metadata_keys.extend(excluded)
            if shows_metadata:
                add_page_label(new_node, document.meta, chunk)
                self.show(new_node, whole)
                placed = parent.place(whole)
                facts = chunk_notes(placed, self.KEYS, lists=self.metadata_lists)
                new_node.metadata.update({**facts, "oversize": False})
                hide_structure(new_node)
            return new_node

        fitted = yield from fitter.flow(document, child, tokens)
        for _, new_node, size in fitted if shows_metadata else ():
            new_node.metadata["oversize"] = size > self.chunk_size
        return [new_node for _, new_node, _ in fitted]

    def show(self, node: TextNode, chunk: Chunk) -> None:
        """Set what models see of a chunk besides text and context; nothing by default."""

    def __getstate__(self) -> dict[Any, Any]:
        """The state for pickle. Unlike the base class it never drops a setting, nor touches this
        object."""
        state = dict(BaseModel.__getstate__(self))
        fields = dict(state["__dict__"])
        fields.pop("callback_manager", None)
        functions = {
            name: fields[name]
            for name in ("id_func", "describe_image")
            if name in fields
        }
        return {
            **state,
            "__dict__": {**fields, **picklable(self.tokenizer, **functions)},
        }


def _fresh_id(child: TextNode, more: Sequence[str], seen: dict[str, int]) -> str:
    """A stable id, of the chunk's. Equal ones, which only another parser or a document that comes
    twice can make, are numbered."""
    name = stable_uuid(child.id_, *more)
    seen[name] = seen.get(name, -1) + 1
    return stable_uuid(name, str(seen[name])) if seen[name] else name
