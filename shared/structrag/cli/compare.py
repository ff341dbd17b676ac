"""`structrag compare`: what several splitting methods make of documents, what they cost, and how
well their chunks are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from structrag.cli.options import (
    AsJson,
    AsMarkdown,
    Embedder,
    Format,
    MaxTokens,
    Paths,
    Reader,
    check_one_form,
    documents,
    splitters,
)
from structrag.cli.printing import print_items, show_progress
from structrag.cli.tables import Part, Table, embedder_text, percent, points, report_text
from structrag.evaluation.comparing import Comparison, SelfTestReport
from structrag.evaluation.comparing import compare as compare_splitters
from structrag.models.embedders import as_embedder


def compare(
    paths: Paths,
    method: Annotated[
        str,
        typer.Option(help="Some of content_aware, fixed, pic, idms and hiqa, with commas between."),
    ] = "content_aware,fixed,pic,idms,hiqa",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    budget: Annotated[
        int, typer.Option(help="Tokens that the self-test hands over for a question.")
    ] = 1000,
    format: Format = "auto",
    reader: Reader = "layout",
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """Compare splitting methods on your documents: sizes, what is cut, cost, and a retrieval
    self-test without labels.

    The self-test asks the documents' own headings, and sentences that point
    to a section, and looks for that section's text; both are kept out of the index.
    It tells whether a section can be found by what its text says. It does not
    tell how your users' questions fare, and favours methods that cut at section
    borders. For questions of your users: structrag eval.
    """
    check_one_form(as_json, markdown)
    chosen = splitters(method, max_tokens)
    found = compare_splitters(
        list(documents(paths, format=format, reader=reader)),
        chosen,
        embedder=as_embedder(embedder) if embedder else None,
        budget=budget,
        progress=show_progress,
    )
    print_items(
        [asdict(found)] if as_json else [report_text(_parts(found, max_tokens), markdown=markdown)],
        as_json,
    )


def _parts(found: Comparison, max_tokens: int) -> list[Part]:
    units = found.units
    size = (
        f"{found.documents:,} documents, {found.characters:,} characters: {units['sentence']:,} "
        f"sentences, {units['table']:,} tables, "
        f"{units['code']:,} blocks of code. At most {max_tokens} tokens a chunk."
    )
    test = (
        [_selftest(found.selftest, found.embedder)]
        if found.selftest
        else [Part("Self-test", None, [found.no_selftest])]
    )
    return [Part(notes=[size]), _chunks(found), _cost(found), *test]


def _chunks(found: Comparison) -> Part:
    head = [
        "method",
        "chunks",
        "tokens min",
        "median",
        "p95",
        "max",
        "sentences cut",
        "tables cut",
        "code cut",
    ]
    rows = [
        [
            method.name,
            *(f"{value:,}" for value in (method.chunks, *method.tokens, *method.cut.values())),
        ]
        for method in found.methods
    ]
    note = (
        "Tokens are those of a chunk's text, estimated (p95: 95 of 100 chunks have no more). Cut: "
        "no single chunk holds the whole of it. "
        "What alone is longer than the limit is cut by every method that keeps the limit."
    )
    return Part("Chunks", Table(head, rows), [note])


def _cost(found: Comparison) -> Part:
    head = ["method", "seconds to split", "embedded to split", "embedded to index", "LLM calls"]
    rows = [
        [
            method.name,
            f"{method.seconds:.2f}",
            f"{method.embedded_to_split:,}",
            f"{method.embedded_to_index:,}",
            f"{method.model_calls:,}",
        ]
        for method in found.methods
    ]
    note = (
        f"Embedded are texts, here by {embedder_text(found.embedder)}: sentences to find where to "
        "cut, chunks to index them once (each "
        "further view once more). LLM calls are those that splitting takes if it is given a "
        "language model; it works without, and none "
        "was made here."
    )
    return Part("Cost", Table(head, rows), [note])


def _selftest(test: SelfTestReport, embedder: str) -> Part:
    kinds = list(next(iter(test.recall.values())))
    base = next(iter(test.recall))
    asked = {kind: test.recall[base][kind].n for kind in kinds}
    head = ["method"]
    for kind in kinds:
        head += [f"{asked[kind]} {kind}s", f"against {base}"]
    rows = []
    for name, recall in test.recall.items():
        cells = [name]
        for kind in kinds:
            cells += [
                percent(recall[kind]),
                "" if name == base else points(test.difference[name][kind]),
            ]
        rows.append(cells)
    return Part(
        "Self-test: finding sections without labels",
        Table(head, rows),
        _about(test, asked, embedder),
    )


def _about(test: SelfTestReport, asked: dict[str, int], embedder: str) -> Sequence[str]:
    left_out = "; ".join(f"{count} {reason}" for reason, count in test.left_out.items())
    return [
        "The share of a section's own text, in percent, among the best chunks that fit "
        f"{test.budget:,} tokens, when its heading is asked, "
        "or a sentence that points to it; then the difference to the first method in points. In "
        "brackets the 95% interval of a bootstrap "
        "over the questions: a difference whose interval holds 0 may be chance. "
        f"Searched by {embedder_text(embedder)} and BM25 over all documents. Headings, heading "
        "paths, tables of contents and the "
        "sentences asked are kept out of the index.",
        f"Asked were {asked.get('heading', 0)} of {test.headings} headings."
        + (f" Not asked: {left_out}." if left_out else ""),
        "It tells whether a section can be found by what its text says, and how much of it then "
        "fits the budget. It does not tell how your "
        "users' questions fare: headings are not what users ask. It favours methods that cut at "
        "section borders, because the text that "
        "counts begins and ends there, and it shows nothing of what heading paths in the index "
        "bring, because they are kept out. With "
        "questions of your users: structrag eval.",
    ]
