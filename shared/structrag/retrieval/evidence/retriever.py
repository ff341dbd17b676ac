"""Evidence within a token budget. Sentences are matched word by word, and given as paragraphs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    check_at_least,
    check_choice,
    check_optional,
    check_query,
    checked_k,
)
from structrag.index.add_batch import AddBatch, AddReport
from structrag.index.corpus import CorpusReader, CorpusStore, OwnRoute, ranked_rows
from structrag.index.document_index import (
    Address,
    DocumentIndex,
    check_same_config,
    warn_of_nameless,
)
from structrag.index.snapshot import Settings
from structrag.index.store import FIRST_LEVEL, Store
from structrag.model_calls.naming import setting_name
from structrag.model_calls.requests import (
    Embed,
    EmbedTokens,
    Flow,
    Request,
    Search,
    TokenEncoder,
    gather,
)
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import CallOptions, check_call_options
from structrag.models.embedders import as_embedder
from structrag.models.token_vectors import as_token_encoder
from structrag.reading.settings import ReadOptions
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.evidence.atom_arrays import is_word
from structrag.retrieval.evidence.level import (
    FOUND,
    KIND,
    EvidenceAdding,
    EvidenceLevel,
)
from structrag.retrieval.evidence.passages import CONTEXTS, PassageReader, pack
from structrag.retrieval.evidence.pool import TOKENS, VIEW, Pool
from structrag.retrieval.evidence.scores import (
    SHORTLIST,
    Frequencies,
    Question,
    Ranking,
    SentenceMatch,
    explain_flow,
    frequencies_in,
    pieces_of,
    rank,
)
from structrag.retrieval.fusion import reciprocal_rank_fusion
from structrag.retrieval.retriever import Retriever
from structrag.text.arrays import FloatArray, Int32Array
from structrag.text.terms import stems, tokenizer_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

ORDERS = "rank", "document"  # of hits
LONGEST_END = 2000  # characters of a question that are read at either end
ASKED = 2  # times the pieces that are read: of so many by each route the best count
DIGITS = 4  # to which the scores of all stores agree
VERSION = 8  # of the arrays: raised when the same document gives others


_OPEN: WeakValueDictionary[str, EvidenceRetriever] = WeakValueDictionary()


def opened(handle: str) -> EvidenceRetriever | None:
    """Return the retriever of a handle; None if it is gone or belongs to another process."""
    return _OPEN.get(handle)


class EvidenceOptions(CallOptions, total=False):
    """All arguments of `EvidenceRetriever` but for the `embedding`."""

    token_encoder: TokenEncoder | None
    max_tokens: int
    order: str
    context: str
    read_options: ReadOptions | None
    language: str
    store: Address | None


class EvidenceRetriever(DocumentIndex[AddReport, EvidenceLevel], Retriever):
    """Finds the passages that answer a question, within a token budget.

    Example:
        >>> from structrag import read_text
        >>> document = read_text("# Pumps\\n\\nThe blue pump leaks.\\n\\n# Cats\\n\\nCats sleep.")
        >>> retriever = EvidenceRetriever.from_documents([document])
        >>> (hit,) = retriever.search("Which pump leaks?", max_tokens=6)
        >>> hit.chunk.text, hit.chunk.path, hit.rank
        ('The blue pump leaks.', ('Pumps',), 1)

    Every sentence, table row and heading is scored by how well the words around it match those of
    the question. The best ones are returned with their paragraphs until the token budget is used.
    Each hit is an exact slice of a document.

    With an encoder of token vectors (any sentence-transformers model with a fast tokenizer, or
    `TransformersTokens`), the tokens of the question are matched with those around each sentence.
    Any other embedder uses sentence vectors instead, and the results are not as good.
    docs/evidence.md has the formulas and figures.

    Args:
        embedding: Anything that `as_embedder` accepts. None: LSA over the documents, refitted when
            they change.
        token_encoder: The encoder of token vectors, for an `embedding` that has none; `embedding`
            then embeds only the sentences.
        max_tokens: The token budget for all hits of a search together.
        order: "rank" for the best first, or "document" for reading order.
        context: The text before each passage (`chunk.context`), which counts towards the budget.
            "lead": what a part of a table or list cannot be read without, that is the caption and
            header of a table, or the sentence before a list. "all": the heading path too. "none":
            nothing.
        read_options, language: How text is read; `read_options.counter` counts the tokens of the
            budget. Pass `language` alone or in `read_options`.
        store: The place of the documents: a folder, "lancedb:" and a folder or bucket, or "milvus:"
            and a file or server; created if missing. Each `add` and `delete` writes to
            it. None: in memory, until `save`. An engine needs an `embedding`.
        options: The settings of `CallSettings`.

    A hit's score is that of its best sentence, from 0 to 1; 1 means the best match in every
    respect. Scores of one search fall with the rank; they cannot be compared between questions. A
    hit's `parts` say what matched: "tokens", "vectors" and "stems" around its best sentence,
    "section vectors" and "section stems" in its section, "titles" above it. They add up to the
    score.
    """

    SAVED: ClassVar[tuple[str, ...]] = ("kind", "version")
    FITS_ENGINES: ClassVar[bool] = True

    def __init__(
        self,
        embedding: Any = None,
        *,
        token_encoder: TokenEncoder | None = None,
        max_tokens: int = 1000,
        order: str = "rank",
        context: str = "lead",
        read_options: ReadOptions | None = None,
        language: str = "english",
        store: Address | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        check_at_least("max_tokens", max_tokens, 1)
        self.max_tokens = max_tokens
        self.order: str = check_choice("order", order, ORDERS)
        self.context: str = check_choice("context", context, CONTEXTS)
        self.read_options: ReadOptions = read_options or ReadOptions(language=language)
        self.token_encoder: TokenEncoder | None = _token_encoder(
            embedding, token_encoder
        )
        # One model is called once: its sums of token vectors replace vectors of sentences.
        has_another = embedding is not None and token_encoder is not None
        has_embedder = self.token_encoder is None or has_another
        self.embedder = as_embedder(embedding) if has_embedder else None
        check_call_options(options, EvidenceRetriever)
        language = self.read_options.language
        views = (VIEW,) if self.token_encoder is None else (VIEW, TOKENS)
        super().__init__(
            Store(views, tokenizer=tokenizer_for(language, stems=True)),
            Runner(embedder=self.embedder, **options),
            store,
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[EvidenceOptions],
    ) -> EvidenceRetriever:
        """Index documents and return the retriever; options are those of the class."""
        retriever = cls(embedding, **options)
        retriever.add(documents)
        return retriever

    # -- documents in and out

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.document_ids)

    @property
    def level(self) -> EvidenceLevel:
        """The documents as they are searched."""
        return self.levels[FIRST_LEVEL]

    def _searched(self, store: CorpusStore) -> dict[str, EvidenceLevel]:
        return {FIRST_LEVEL: EvidenceLevel(store, self.embedder)}

    def _check_for_engine(self, settings: Settings) -> None:
        if hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                "embedding must be a model where an engine keeps the documents; got LSA, whose "
                "vectors change with every document. Pass embedding=..., or a folder as store."
            )

    def _preparing(self) -> Callable[..., AddBatch]:
        return partial(
            EvidenceAdding,
            read_options=self.read_options,
            token_encoder=self.token_encoder,
            embedder=self.embedder,
            level=self.level,
        )

    def _report(self, work: AddBatch) -> AddReport:
        """Its `chunks` are sentences, rows and headings."""
        return work.report()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        embedding: Any = None,
        *,
        verify: bool = False,
        **options: Unpack[EvidenceOptions],
    ) -> EvidenceRetriever:
        """Open a saved retriever; arrays are memory-mapped.

        Models are not saved: pass the same `embedding` and options again. `verify` compares the
        checksums of all files, not only of the small ones.

        Raises:
            IndexDamaged: there is no index, or it is incomplete, altered or from another program.
            InvalidParameter: a model or a setting is not the one it was built with.
        """
        return cls._loaded(path, verify, {**options, "embedding": embedding})

    def _check_saved(self, address: Address, saved: Mapping[str, Any]) -> None:
        if saved["version"] != VERSION:
            raise IndexDamaged(
                f"The index at {os.fspath(address)!r} was made by another release, whose format "
                "this one cannot read. Index the documents again."
            )
        # Most indexes have one model: it is what `embedding` must be.
        built, given = (
            {
                "embedding": config["embedding"] or config["token_encoder"],
                "token_encoder": config["token_encoder"],
                "read_options": config["reading"],
            }
            for config in (saved, self.config())
        )
        warn_of_nameless(str(given["embedding"]))
        check_same_config(address, built, given, "build a new index")

    def warm_up(self) -> None:
        """Prepare what the first search would otherwise prepare. With LSA these are the vectors,
        which `save` then writes."""
        self.level.near(self.level.reader(), (), None)

    @property
    def handle(self) -> str:
        """A name by which `opened` finds this retriever while it exists."""
        _OPEN[str(id(self))] = self
        return str(id(self))

    def encodes_like(self, other: EvidenceRetriever) -> bool:
        """Return True if both retrievers make the same arrays of a document."""
        mine, its = self.config(), other.config()
        return (
            not hasattr(self.embedder, "fit")
            and all(mine[name] == its[name] for name in ("embedding", "token_encoder"))
            and self.read_options.language == other.read_options.language
        )

    def config(self) -> dict[str, Any]:
        """Return the settings that decide vectors and arrays. They are saved with the documents."""
        return {
            "kind": KIND,
            "version": VERSION,
            "embedding": self.embedder.name if self.embedder is not None else None,
            "token_encoder": self.token_encoder.name
            if self.token_encoder is not None
            else None,
            "reading": setting_name(self.read_options),
        }

    def settings_name(self) -> str:
        """Everything except the document that decides what is indexed, as one string."""
        return setting_name(self.config())

    # -- searching

    def search(
        self,
        query: str,
        k: float | None = None,
        *,
        where: Any = None,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> list[Hit]:
        """The passages that answer a question: exact slices of documents.

        Args:
            query: The question. A blank one has no hits.
            k: The largest number of passages. Adjacent passages stay separate with `k` and are
                joined with None (no limit). With `max_tokens` too, passages close to each other are
                joined across at most 120 tokens, to make room for others until the budget is used.
            where: Limits the search to documents: `{"doc_id": "report"}`, any metadata (`{"year":
                [2020, 2021]}`), or a function of a document's metadata.
            max_tokens: The token budget for all passages, contexts included. None: the retriever's
                setting, or no limit if `k` is given. A larger budget finds everything that a
                smaller one finds.
            order: "rank" or "document"; None: the retriever's setting.

        Raises:
            InvalidParameter: the query is not a string, another argument is not allowed, or no
                document has a key of `where`.
        """
        return self.run(
            self.flow(query, k, where=where, max_tokens=max_tokens, order=order)
        )

    async def asearch(
        self,
        query: str,
        k: float | None = None,
        *,
        where: Any = None,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> list[Hit]:
        """`search` on an event loop."""
        flow = self.flow(query, k, where=where, max_tokens=max_tokens, order=order)
        return await self.arun(flow)

    def batch(
        self, queries: Iterable[str], k: float | None = None, **options: Any
    ) -> list[list[Hit]]:
        """Run `search` for several questions, encoded together, with the same options."""
        return self.run(self._batch_flow(queries, k, options))

    async def abatch(
        self, queries: Iterable[str], k: float | None = None, **options: Any
    ) -> list[list[Hit]]:
        """`batch` on an event loop."""
        return await self.arun(self._batch_flow(queries, k, options))

    def _batch_flow(
        self, queries: Iterable[str], k: float | None, options: Mapping[str, Any]
    ) -> Flow[list[list[Hit]]]:
        if isinstance(queries, str):
            raise InvalidParameter(
                "queries must be a list of strings; got one. Put it in a list."
            )
        return gather([self.flow(query, k, **options) for query in queries])

    def explain(
        self, query: str, hits: Sequence[Hit], *, where: Any = None
    ) -> list[tuple[SentenceMatch, ...]]:
        """Explain how the sentences of each hit match the question.

        The match is shown word by word, for inspection: by cosines of token vectors, for which the
        encoder reads the pieces around the hits again, else by stems. Pass the `where` of the
        search that returned the hits.
        """
        return self.run(self._explain_flow(query, hits, where))

    def blocks(self, doc_id: str) -> list[Chunk]:
        """The paragraphs, lists and tables of a document, in reading order, each with the headings
        above it. Raises InvalidParameter if the document is unknown."""
        passages = self._passages(doc_id)
        return [] if passages is None else passages.blocks()

    def neighbours(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """The blocks before and after a passage, as `blocks` returns them. None at the start or end
        of the document. A passage that begins or ends inside a block has that block as its
        neighbour.

        Example:
            >>> from structrag import read_text
            >>> document = read_text("Pumps leak.\\n\\nSeals wear.\\n\\nCats sleep.", id="d")
            >>> retriever = EvidenceRetriever.from_documents([document])
            >>> (hit,) = retriever.search("What do seals do?", 1)
            >>> [beside.text for beside in retriever.neighbours(hit.chunk)]
            ['Pumps leak.', 'Cats sleep.']
        """
        passages = self._passages(chunk.doc_id)
        if passages is None:
            return None, None
        return passages.beside(chunk.start, chunk.end)

    def _passages(self, doc_id: str) -> PassageReader | None:
        """The passages of one document; None for one without text."""
        pool = self.level.whole(self.store.reader(), doc_id)
        if pool is None:
            return None
        return PassageReader(pool, self.read_options, self.context)

    def _explain_flow(
        self, query: str, hits: Sequence[Hit], where: Any
    ) -> Flow[list[tuple[SentenceMatch, ...]]]:
        def has_hits(pool: Pool, _: Ranking) -> bool:
            by_id = {stored.id: stored for stored in pool.documents}
            chunks = [hit.chunk for hit in hits]
            return all(
                chunk.doc_id in by_id and pieces_of(by_id[chunk.doc_id], chunk)
                for chunk in chunks
            )

        asked = yield from self._asked_flow(query, where, has_hits)
        if asked is None:
            return [() for _ in hits]
        return (
            yield from explain_flow(
                query,
                hits,
                *asked,
                self.token_encoder,
                self.level.quantiser,
                self.read_options.language,
            )
        )

    def flow(
        self,
        query: str,
        k: float | None = None,
        *,
        where: Any = None,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        most = None if k is None else checked_k(k)
        check_optional("max_tokens", max_tokens, 1)
        if most is None and max_tokens is None:
            max_tokens = self.max_tokens
        order = self.order if order is None else check_choice("order", order, ORDERS)
        hits: list[Hit] = []

        def is_filled(pool: Pool, ranking: Ranking) -> bool:
            hits[:], is_enough = self._hits(pool, ranking, most, max_tokens)
            return is_enough

        asked = yield from self._asked_flow(query, where, is_filled)
        if asked is None:
            return []
        if order == "document":
            # Runs of a document follow each other; of the last its place is as good.
            ids = (stored.id for stored in asked[0].documents)
            places = {doc_id: place for place, doc_id in enumerate(ids)}
            hits.sort(key=lambda hit: (places[hit.chunk.doc_id], hit.chunk.start))
        return hits

    def sentence_scores_flow(
        self, query: str, *, where: Any = None
    ) -> Flow[dict[str, SentenceScores]]:
        """The score of every sentence, row and heading, as steps. Those of the documents searched.
        By document; a blank query, or nothing to search, gives nothing. Raises as `search`."""
        asked = yield from self._asked_flow(query, where, None)
        if asked is None:
            return {}
        pool, ranking = asked
        bounds = pairwise(pool.firsts.tolist())
        return {
            stored.id: SentenceScores(
                pool.atoms.starts[first:stop], ranking.scores[first:stop]
            )
            for stored, (first, stop) in zip(pool.documents, bounds, strict=True)
        }

    def _asked_flow(
        self,
        query: str,
        where: Any,
        is_enough: Callable[[Pool, Ranking], bool] | None,
    ) -> Flow[tuple[Pool, Ranking] | None]:
        """Find the pieces that meet a condition, and rank their atoms for a question. As long as
        they are not enough, twice as many are read; None: all. None for a blank query, and if there
        is nothing to search."""
        check_query(query)
        level = self.level
        reader = level.reader()
        reader.select(where)  # refused now, whatever the query
        if not query.strip() or not len(reader):
            return None
        question = yield from self._question_flow(query, reader.fitted_embedder)
        n_pieces = FOUND
        while True:
            if is_enough is None:
                pool = level.all_of(reader, where)
            else:
                rows = yield from self._found_flow(reader, question, where, n_pieces)
                pool = level.near(reader, rows, where, n_pieces)
            if pool is None:
                return None
            frequencies = self._frequencies(reader, question, pool)
            shortlist = SHORTLIST * n_pieces // FOUND
            ranking = rank(
                pool, question, frequencies, level.quantiser, shortlist=shortlist
            )
            if is_enough is None or is_enough(pool, ranking) or pool.is_all:
                return pool, ranking
            n_pieces *= 2

    def _found_flow(
        self, reader: CorpusReader, question: Question, where: Any, n_pieces: int
    ) -> Flow[list[int]]:
        """The rows of the pieces that answer a question best, by vectors and by stems."""
        route, vector = OwnRoute(reader), question.vector
        vector = vector if vector is not None and vector.any() else None
        rankings = yield [
            Search(
                f"{kind}:{VIEW}", question.text, vector, ASKED * n_pieces, where, route
            )
            for kind in ("dense", "bm25")
        ]
        best = [
            _best_rows(ranked_rows(reader, ranking))[:n_pieces] for ranking in rankings
        ]
        return reciprocal_rank_fusion(best)[:n_pieces]

    def _frequencies(
        self, reader: CorpusReader, question: Question, pool: Pool
    ) -> Frequencies:
        """Count the pieces with the question's stems and tokens: among the candidates if all of
        them were read, else in the whole store."""
        ids = [] if question.ids is None else question.ids.tolist()
        if pool.is_all:
            return frequencies_in(pool, question, pool.token_frequencies(ids))
        n_pieces, of_stems = reader.frequencies(VIEW, [*question.stems])
        of_tokens = reader.frequencies(TOKENS, [*map(str, ids)])[1] if ids else []
        return Frequencies(
            n_pieces, np.array(of_stems, dtype=float), np.array(of_tokens, dtype=float)
        )

    def _hits(
        self, pool: Pool, ranking: Ranking, k: int | None, max_tokens: int | None
    ) -> tuple[list[Hit], bool]:
        """The passages that answer a question, by rank. False if there is room for more."""
        reader = PassageReader(pool, self.read_options, self.context)
        units = reader.by_worth(ranking)
        passages = pack(
            pool,
            units,
            cache(reader.tokens),
            max_tokens=max_tokens,
            k=k,
            joins=reader.joins,
            ends=reader.ends,
        )
        if not passages and max_tokens is not None:
            best = next(reader.by_worth(ranking))
            return reader.cut(best, ranking, max_tokens), True
        # Joined passages leave gaps between the ranks at which they were taken.
        hits = [
            reader.hit(passage, ranking, place)
            for place, passage in enumerate(passages, start=1)
        ]
        return hits, len(hits) == k or next(units, None) is not None

    def _question_flow(self, query: str, fitted_embedder: Any) -> Flow[Question]:
        """The question as its encoders see it. `fitted_embedder` is the embedder that made the
        vectors, if it is fitted."""
        requests: list[Request] = []
        if self.token_encoder is not None:
            ends = _ends(query)
            requests.append(EmbedTokens((ends,), self.token_encoder, query=True))
        if self.embedder is not None:
            requests.append(Embed((query,), query=True, embedder=fitted_embedder))
        answers = list((yield requests))
        counts = Counter(stems(query, language=self.read_options.language))
        if self.token_encoder is None:
            return Question(query, counts, answers[0][0])
        (tokens,) = answers[0]
        vector = tokens.vector if self.embedder is None else answers[1][0]
        words = is_word(_ends(query), tokens.spans)
        return Question(query, counts, vector, tokens.vectors[words], tokens.ids[words])


def _ends(query: str) -> str:
    """The beginning and the end of a long question, which is mostly a text that was pasted. Its
    stems are all counted."""
    if len(query) <= 2 * LONGEST_END:
        return query
    return f"{query[:LONGEST_END]}\n{query[-LONGEST_END:]}"


def _best_rows(scores: Mapping[int, float]) -> list[int]:
    """The best rows, in the same order in every store: what it cannot tell apart by row."""
    return sorted(scores, key=lambda row: (-round(scores[row], DIGITS), row))


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """A document's sentences, rows and headings with their scores. They are in reading order."""

    starts: Int32Array  # (n,) in characters of the document
    # (n,) of one search, higher is better, in no fixed range.
    scores: FloatArray


def _token_encoder(embedding: Any, token_encoder: Any) -> TokenEncoder | None:
    """The encoder of tokens: the chosen one, else the embedding."""
    if token_encoder is not None:
        encoder = as_token_encoder(token_encoder)
        if encoder is None:
            raise InvalidParameter(
                "token_encoder must have a name and embed_tokens(texts, query=False), such as "
                "TransformersTokens or SentenceTransformerEmbedder with a fast tokenizer; got "
                f"{type(token_encoder).__name__}."
            )
        return encoder
    if embedding is None:
        return None
    # one that gives vectors of tokens alone is no embedder
    return as_token_encoder(embedding) or as_token_encoder(as_embedder(embedding))
