"""Evidence within a token budget.

Sentences are matched word by word, and given as paragraphs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structrag.asking.naming import setting_name
from structrag.asking.progress import TellDocuments
from structrag.asking.requests import (
    COUNTS,
    Array,
    Embed,
    EmbedTokens,
    Request,
    Steps,
    T,
    TokenEncoder,
    TokenVectors,
    Usage,
)
from structrag.asking.runner import Runner
from structrag.asking.settings import Asking, AskingOptions, asking_of
from structrag.asking.steps import together
from structrag.errors import (
    InvalidParameter,
    UnknownDocument,
    check_at_least,
    check_choice,
    check_ids,
)
from structrag.index.adding import AddReport, checked_documents
from structrag.index.entries import fingerprint
from structrag.index.routes import check_query, checked_k
from structrag.models.embedders import as_embedder
from structrag.models.token_vectors import as_token_encoder
from structrag.reading.outline import Outline
from structrag.reading.settings import Reading
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.evidence.leads import find_leads
from structrag.retrieval.evidence.matching import SentenceMatch, explain_steps
from structrag.retrieval.evidence.packing import pack
from structrag.retrieval.evidence.passages import CONTEXTS, PassageReader
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.quantised import fit_quantiser
from structrag.retrieval.evidence.record import (
    Record,
    find_pieces,
    read_atoms,
    with_tokens,
    with_vectors,
)
from structrag.retrieval.evidence.scores import SHORTLIST, Question, Ranking, rank
from structrag.retrieval.evidence.store import (
    EvidenceStore,
    Shelf,
    Stored,
    stored_document,
)
from structrag.retrieval.evidence.words import is_word
from structrag.retrieval.retriever import Retriever

if TYPE_CHECKING:
    from typing_extensions import Unpack

VERSION = 4  # of what records hold: raised when the same document gives others
GROUP = 256  # pieces of documents that are prepared together
ORDERS = ("rank", "document")


class EvidenceOptions(AskingOptions, total=False):
    """All arguments of `EvidenceRetriever` but for the `embedding`."""

    token_encoder: TokenEncoder | None
    max_tokens: int
    order: str
    context: str
    reading: Reading | None
    language: str
    asking: Asking | None


class EvidenceRetriever(Retriever):
    """Finds the passages that answer a question, within a reader's tokens.

    Example:
        >>> from structrag import read_text
        >>> document = read_text("# Pumps\\n\\nThe blue pump leaks.\\n\\n# Cats\\n\\nCats sleep.")
        >>> retriever = EvidenceRetriever.from_documents([document])
        >>> (hit,) = retriever.search("Which pump leaks?", max_tokens=6)
        >>> hit.chunk.text, hit.chunk.path, hit.rank
        ('The blue pump leaks.', ('Pumps',), 1)

    Every sentence, table row and heading is scored by how well the words around it match those of
    the question. The best bring their paragraphs, until the tokens are used up. Each hit is an
    exact slice of a document.

    With an encoder that gives vectors of tokens (any of sentence-transformers with a fast
    tokenizer, or `TransformersTokens`), the question's tokens are matched with those around each
    sentence. With any other embedder the sentences' vectors are used instead, and the results are
    not as good. docs/evidence.md has the formulas and figures.

    Args:
        embedding: What `as_embedder` takes. None: LSA over the documents, refitted when they
            change.
        token_encoder: Gives vectors of tokens beside an `embedding` that has none; then it embeds
            all, and `embedding` the sentences.
        max_tokens: Most tokens of the reader in all hits of a search together.
        order: "rank" for the best first, or "document" for reading order.
        context: What stands in front of each passage (`chunk.context`) and counts. "lead": what a
            part of a table or list cannot be read without, the caption and header of a table's
            rows and the sentence before a list's items. "all": the heading path too. "none":
            nothing.
        reading, language: How text is read; `reading.counter` counts the reader's tokens. Give
            `language` alone or in `reading`.
        asking, options: An `Asking`, or its settings by their own names.

    A hit's score is that of its best sentence, from 0 to 1, which a sentence has that matches best
    in every way. Scores of one search compare and fall with the rank; they cannot be compared
    between questions. A hit's `parts` are what matched: "tokens", "vectors" and "stems" around its
    best sentence, "section vectors" and "section stems" in its section, "titles" above it. They add
    up to the score.
    """

    def __init__(
        self,
        embedding: Any = None,
        *,
        token_encoder: TokenEncoder | None = None,
        max_tokens: int = 1000,
        order: str = "rank",
        context: str = "lead",
        reading: Reading | None = None,
        language: str = "english",
        asking: Asking | None = None,
        **options: Unpack[AskingOptions],
    ) -> None:
        check_at_least("max_tokens", max_tokens, 1)
        self.max_tokens = max_tokens
        self.order: str = check_choice("order", order, ORDERS)
        self.context: str = check_choice("context", context, CONTEXTS)
        self.reading: Reading = reading or Reading(language=language)
        self.token_encoder: TokenEncoder | None = _token_encoder(
            embedding, token_encoder
        )
        # One model is asked once: its sums of token vectors stand for vectors of sentences.
        has_another = embedding is not None and token_encoder is not None
        has_embedder = self.token_encoder is None or has_another
        self.embedder = as_embedder(embedding) if has_embedder else None
        self.store: EvidenceStore = EvidenceStore()
        self.runner: Runner = Runner(
            embedder=self.embedder, asking=asking_of(asking, options, EvidenceRetriever)
        )
        self._fitting = RLock()

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[EvidenceOptions],
    ) -> EvidenceRetriever:
        """A retriever that holds the documents; options are those of the class."""
        retriever = cls(embedding, **options)
        retriever.add(documents)
        return retriever

    # -- documents in and out

    @property
    def document_ids(self) -> list[str]:
        """In the order of their first adding."""
        return self.store.store.document_ids

    @property
    def usage(self) -> Usage:
        """What this retriever has cost since it was made or loaded."""
        return self.runner.usage

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.store)

    def add(self, documents: Iterable[Document]) -> AddReport:
        """Add documents, or replace those that changed.

        The report's `chunks` are sentences, rows and headings. A document is in whole or not at
        all; those finished before an error are kept.

        Raises:
            InvalidParameter: two documents of one call have the same id, or metadata is not JSON;
                nothing has changed.
            InvalidAnswer: the model returned NaN, or arrays that do not fit together.
            ModelFailed: the model raised; it is the cause.
        """
        return self.run(self._add_steps(documents))

    async def aadd(self, documents: Iterable[Document]) -> AddReport:
        """`add` on an event loop."""
        return await self.arun(self._add_steps(documents))

    def update(self, documents: Iterable[Document]) -> AddReport:
        """`add` for documents that must be there already; else InvalidParameter is raised."""
        return self.run(self._add_steps(documents, known_only=True))

    async def aupdate(self, documents: Iterable[Document]) -> AddReport:
        """`update` on an event loop."""
        return await self.arun(self._add_steps(documents, known_only=True))

    def delete(self, doc_id: str | Iterable[str]) -> bool:
        """Remove one document or several; False if any is missing.

        Raises InvalidParameter for what is no id, before anything is removed.
        """
        # all are removed, whatever the first says
        deleted = [self.store.delete(name) for name in check_ids("doc_id", doc_id)]
        return all(deleted)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write documents and vectors to a folder, moved into place when complete.

        LSA's vectors are written if they have been made: by a search or `warm_up` after the last
        change. Raises InvalidParameter if `path` holds something else than an index.
        """
        self.store.keep_fit()
        self.store.save(path, self.config())

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
        checksums of all files, not only the small ones.

        Raises:
            IndexDamaged: there is no index, or it is incomplete, altered or not ours.
            InvalidParameter: a model or a setting is another one than it was built with.
        """
        retriever = cls(embedding, **options)
        store, config = EvidenceStore.load(path, verify=verify)
        for name, value in retriever.config().items():
            if config.get(name) != value:
                raise InvalidParameter(
                    f"{name} must be what the index at {os.fspath(path)!r} was built with, "
                    f"{config.get(name)!r}; got {value!r}. Pass that, or build a new index."
                )
        retriever.store = store
        return retriever

    def warm_up(self) -> None:
        """Make what the first search would make.

        Documents are read from the files, and LSA's vectors made, which `save` then writes.
        """
        self._shelf().select(None)

    def config(self) -> dict[str, Any]:
        """What decides vectors and arrays, besides the documents.

        It is saved with them.
        """
        return {
            "version": VERSION,
            "embedding": self.embedder.name if self.embedder is not None else None,
            "token_encoder": self.token_encoder.name
            if self.token_encoder is not None
            else None,
            "reading": setting_name(self.reading),
        }

    def _add_steps(
        self, documents: Iterable[Document], *, known_only: bool = False
    ) -> Steps[AddReport]:
        settings = setting_name(self.config())
        checked = checked_documents(documents, self.store if known_only else None)
        prints = [(document, fingerprint(document, settings)) for document in checked]
        before = self.usage.as_dict()
        store = self.store.store
        there = store.fingerprints([document.id for document, _ in prints])
        new = [
            (document, key) for document, key in prints if there.get(document.id) != key
        ]
        added = sum(document.id not in store for document, _ in new)
        atoms = done = 0
        tell = TellDocuments(self.runner.asking.progress, len(new))
        for group in _groups(self._prepared(document, key) for document, key in new):
            records = yield from self._record_steps(group)
            for prepared, record in zip(group, records, strict=True):
                self.store.put(prepared.stored, record, prepared.fingerprint)
                atoms += len(record)
            done += len(group)
            tell(done)
        unchanged = len(prints) - len(new)
        after = self.usage.as_dict()
        spent = {name: after[name] - before[name] for name in COUNTS}
        nothing: dict[str, Any] = {"fallbacks": {}, "reasons": {}}  # falls back here
        return AddReport(
            added, len(new) - added, unchanged, atoms, {**spent, **nothing}
        )

    def _prepared(self, document: Document, key: str) -> _Prepared:
        outline = self.reading.outline(document)
        pieces = find_pieces(document, self.reading)
        leads = find_leads(outline, self.reading)
        return _Prepared(outline, stored_document(outline, pieces, leads), key)

    def _record_steps(self, group: Sequence[_Prepared]) -> Steps[list[Record]]:
        """The records of documents, their texts embedded together."""
        records = [read_atoms(prepared.outline, self.reading) for prepared in group]
        requests: list[Request] = []
        if self.token_encoder is not None:
            requests.append(EmbedTokens(_piece_texts(group), self.token_encoder))
        embeds = self.embedder is not None and not hasattr(self.embedder, "fit")
        if embeds:
            texts = []
            for prepared, record in zip(group, records, strict=True):
                texts += _texts(prepared.outline.document.text, record)
            requests.append(Embed(tuple(texts)))
        if not requests:
            return records
        answers = list((yield requests))
        if self.token_encoder is not None:
            records = self._with_tokens(group, records, answers.pop(0))
        if embeds:
            records = _with_vectors(records, answers.pop(0))
        return records

    def _with_tokens(
        self,
        group: Sequence[_Prepared],
        records: Sequence[Record],
        tokens: Sequence[TokenVectors],
    ) -> list[Record]:
        if self.store.quantiser is None and any(len(of.ids) for of in tokens):
            vectors = np.concatenate([of.vectors for of in tokens])
            self.store.quantiser = fit_quantiser(vectors)
        quantiser = self.store.quantiser
        if quantiser is None:
            return list(records)
        changed = []
        first = 0
        for prepared, record in zip(group, records, strict=True):
            pieces = prepared.stored.pieces
            of_document = tokens[first : first + len(pieces)]
            first += len(pieces)
            if of_document and len(record):
                text = prepared.outline.document.text
                counted = [
                    is_word(text[start:end], of.spans)
                    for (start, end), of in zip(pieces, of_document, strict=True)
                ]
                record = with_tokens(record, pieces, of_document, quantiser, counted)
            changed.append(record)
        return changed

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
            query: A blank one has no hits.
            k: Most passages, none of them joined with the one it touches; None: no limit, and
                those that touch are one. With `max_tokens` too, those nearest to each other become
                one with what is between them (at most 120 tokens) to make room for others, until
                the tokens are used.
            where: Limits the search to documents: `{"doc_id": "report"}`, any metadata
                (`{"year": [2020, 2021]}`), or a function of a document's metadata.
            max_tokens: Most tokens of the reader in all passages together, their contexts included.
                None: the retriever's own, or no limit where `k` is given. What is found within
                fewer tokens is found within more.
            order: "rank" or "document"; None: the retriever's own.

        Raises:
            InvalidParameter: the query is no string, another argument is not allowed, or no
                document has a key of `where`.
        """
        return self.run(
            self.steps(query, k, where=where, max_tokens=max_tokens, order=order)
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
        steps = self.steps(query, k, where=where, max_tokens=max_tokens, order=order)
        return await self.arun(steps)

    def batch(
        self, queries: Iterable[str], k: float | None = None, **options: Any
    ) -> list[list[Hit]]:
        """`search` for several questions, which the model reads together; options as there."""
        return self.run(self._batch_steps(queries, k, options))

    async def abatch(
        self, queries: Iterable[str], k: float | None = None, **options: Any
    ) -> list[list[Hit]]:
        """`batch` on an event loop."""
        return await self.arun(self._batch_steps(queries, k, options))

    def _batch_steps(
        self, queries: Iterable[str], k: float | None, options: Mapping[str, Any]
    ) -> Steps[list[list[Hit]]]:
        if isinstance(queries, str):
            raise InvalidParameter(
                "queries must be a list of strings; got one. Put it in a list."
            )
        return together([self.steps(query, k, **options) for query in queries])

    def explain(
        self, query: str, hits: Sequence[Hit], *, where: Any = None
    ) -> list[tuple[SentenceMatch, ...]]:
        """How the sentences of each hit match the question.

        Word by word, to look at. With token vectors by cosines, for which the encoder reads the
        pieces around the hits again; else by stems. `where` as in the search that gave the hits.
        """
        return self.run(self._explain_steps(query, hits, where))

    def blocks(self, doc_id: str) -> list[Chunk]:
        """The paragraphs, lists and tables of a document, in reading order.

        Each has the headings before it. Raises InvalidParameter if the document is unknown.
        """
        return self._passages(doc_id).blocks(0)

    def neighbours(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """The blocks before and behind a passage, of those that `blocks` gives.

        None where the document begins or ends. A passage that begins or ends inside a block has
        that block beside it.

        Example:
            >>> from structrag import read_text
            >>> document = read_text("Pumps leak.\\n\\nSeals wear.\\n\\nCats sleep.", id="d")
            >>> retriever = EvidenceRetriever.from_documents([document])
            >>> (hit,) = retriever.search("What do seals do?", 1)
            >>> [beside.text for beside in retriever.neighbours(hit.chunk)]
            ['Pumps leak.', 'Cats sleep.']
        """
        return self._passages(chunk.doc_id).beside(0, chunk.start, chunk.end)

    def _passages(self, doc_id: str) -> PassageReader:
        """The passages of one document."""
        shelf = self.store.shelf()
        if doc_id not in shelf.documents:
            raise UnknownDocument(
                f"doc_id must be the id of a document that was added; got {doc_id!r}."
            )
        pool = Pool([shelf.records[doc_id]])
        return PassageReader(
            [shelf.documents[doc_id]], pool, self.reading, self.context
        )

    def _explain_steps(
        self, query: str, hits: Sequence[Hit], where: Any
    ) -> Steps[list[tuple[SentenceMatch, ...]]]:
        check_query(query)
        shelf = self._shelf()
        documents, pool = shelf.select(where)
        if not query.strip() or not len(pool):
            return [() for _ in hits]
        question = yield from self._question_steps(query, shelf.basis)
        ranking, language = self._ranking(pool, question), self.reading.language
        return (
            yield from explain_steps(
                query, hits, documents, pool, ranking, self.token_encoder, language
            )
        )

    def steps(
        self,
        query: str,
        k: float | None = None,
        *,
        where: Any = None,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> Steps[list[Hit]]:
        """`search` as steps."""
        check_query(query)
        most = None if k is None else checked_k(k)
        if max_tokens is not None:
            check_at_least("max_tokens", max_tokens, 1)
        order = self.order if order is None else check_choice("order", order, ORDERS)
        budget = self.max_tokens if max_tokens is None and most is None else max_tokens
        shelf = self._shelf()
        documents, pool = shelf.select(where)
        if not query.strip() or not len(pool):
            return []
        question = yield from self._question_steps(query, shelf.basis)
        hits = self._hits(documents, pool, question, budget, most)
        if order == "document":
            places = {stored.id: place for place, stored in enumerate(documents)}
            hits.sort(key=lambda hit: (places[hit.chunk.doc_id], hit.chunk.start))
        return hits

    def sentence_scores_steps(
        self, query: str, *, where: Any = None
    ) -> Steps[dict[str, SentenceScores]]:
        """The score of every sentence, row and heading, as steps.

        Those of the documents searched. By document; a blank query, or nothing to search, gives
        nothing. Raises as `search`.
        """
        check_query(query)
        shelf = self._shelf()
        documents, pool = shelf.select(where)
        if not query.strip() or not len(pool):
            return {}
        question = yield from self._question_steps(query, shelf.basis)
        scores = self._ranking(pool, question).scores
        bounds = pairwise(pool.firsts.tolist())
        return {
            stored.id: SentenceScores(record.starts, scores[first:stop])
            for stored, record, (first, stop) in zip(
                documents, pool.records, bounds, strict=True
            )
        }

    def _hits(
        self,
        documents: Sequence[Stored],
        pool: Pool,
        question: Question,
        max_tokens: int | None,
        k: int | None,
    ) -> list[Hit]:
        """The passages of a pool that answer a question, by rank."""
        ranking = self._ranking(pool, question)
        reader = PassageReader(documents, pool, self.reading, self.context)
        atoms = ranking.atoms.tolist()
        ranked: Iterable[int] = atoms
        joins: Callable[[int], bool] = reader.joins
        if k is not None:
            # Of so many passages none is wasted on a heading, which answers nothing alone.
            best = next((atom for atom in atoms if not reader.is_heading(atom)), None)
            if best is not None:
                ranked = (atom for atom in atoms if not reader.is_heading(atom))
                atoms = [best]
        if k is not None and max_tokens is None:
            # So many passages of a paragraph each: joined, they would be fewer and longer.
            joins = _never
        elif k is not None:
            # Worse ones would widen the passages only because they are near.
            ranked = islice(ranked, SHORTLIST)
        passages = pack(
            pool, ranked, reader.tokens, max_tokens=max_tokens, k=k, joins=joins
        )
        if not passages and max_tokens is not None:
            return reader.cut(atoms[0], ranking, max_tokens)
        return [
            replace(reader.hit(passage, ranking), rank=place)
            # joined passages leave gaps between the ranks at which they were taken
            for place, passage in enumerate(
                sorted(passages, key=lambda one: one.rank), start=1
            )
        ]

    def _ranking(self, pool: Pool, question: Question) -> Ranking:
        """The atoms of a pool, best first."""
        return rank(
            pool, question, self.store.quantiser, language=self.reading.language
        )

    def run(self, steps: Steps[T]) -> T:
        """Drive steps with this retriever's models."""
        return self.runner.run(steps)

    async def arun(self, steps: Steps[T]) -> T:
        """`run` on an event loop."""
        return await self.runner.arun(steps)

    def _question_steps(self, query: str, basis: Any) -> Steps[Question]:
        """The question as its encoders see it.

        `basis` is the embedder that made the vectors, if it is fitted.
        """
        requests: list[Request] = []
        if self.token_encoder is not None:
            requests.append(EmbedTokens((query,), self.token_encoder, query=True))
        if self.embedder is not None:
            requests.append(Embed((query,), query=True, embedder=basis))
        answers = list((yield requests))
        if self.token_encoder is None:
            return Question(query, answers[0][0])
        (tokens,) = answers[0]
        vector = tokens.vector if self.embedder is None else answers[1][0]
        words = is_word(query, tokens.spans)
        return Question(query, vector, tokens.vectors[words], tokens.ids[words])

    def _shelf(self) -> Shelf:
        """What is there now, with vectors that depend on all documents."""
        if self.embedder is None or not hasattr(self.embedder, "fit"):
            return self.store.shelf()
        with self._fitting:
            shelf = self.store.shelf()
            if shelf.basis is not None:
                return shelf
            saved = self.store.saved_fit(shelf, self.embedder)
            if saved is not None:
                self.store.keep(saved)
                return saved
            passages: list[str] = []
            texts: list[str] = []
            for doc_id, stored in shelf.documents.items():
                passages += [stored.text[start:end] for start, end in stored.pieces]
                texts += _texts(stored.text, shelf.records[doc_id])
            basis = self.embedder.fit(passages)
            vectors = np.asarray(basis.embed(texts), dtype=np.float32)
            records = _with_vectors(list(shelf.records.values()), vectors)
            fitted = shelf.with_records(
                dict(zip(shelf.records, records, strict=True)), basis
            )
            self.store.keep(fitted)
            return fitted


def _never(_: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """A document's sentences, rows and headings with their scores.

    They are in reading order.
    """

    starts: NDArray[np.int32]  # (n,) in characters of the document
    # (n,) of one search, higher is better, in no fixed range.
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document read, before anything is asked of a model."""

    outline: Outline
    stored: Stored
    fingerprint: str


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


def _groups(documents: Iterable[_Prepared]) -> Iterator[list[_Prepared]]:
    """Documents in groups of some hundred pieces."""
    group: list[_Prepared] = []
    pieces = 0
    for prepared in documents:
        group.append(prepared)
        pieces += len(prepared.stored.pieces)
        if pieces >= GROUP:
            yield group
            group, pieces = [], 0
    if group:
        yield group


def _piece_texts(group: Iterable[_Prepared]) -> tuple[str, ...]:
    texts: list[str] = []
    for prepared in group:
        text = prepared.outline.document.text
        texts += [text[start:end] for start, end in prepared.stored.pieces]
    return tuple(texts)


def _texts(text: str, record: Record) -> list[str]:
    """The texts of a document's atoms."""
    return [
        text[start:end] for start, end in zip(record.starts, record.ends, strict=True)
    ]


def _with_vectors(records: Sequence[Record], vectors: Array) -> list[Record]:
    """The records with the vectors of their atoms.

    `vectors` has those of all records, one behind the other.
    """
    bounds = np.cumsum([0, *map(len, records)])
    return [
        with_vectors(record, vectors[first : first + len(record)])
        if len(record)
        else record
        for record, first in zip(records, bounds, strict=False)
    ]
