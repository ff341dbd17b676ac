"""`structrag compare`: splitting methods by chunks, costs and a self-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from structrag.cli.options import (
    SEARCHED,
    AsJson,
    AsMarkdown,
    Embedder,
    Format,
    Isolated,
    MaxTokens,
    Paths,
    Reader,
    check_one_form,
    documents,
    embedder_of,
    splitters,
)
from structrag.cli.printing import print_items, show_progress
from structrag.cli.tables import (
    ReportPart,
    ReportTable,
    embedder_text,
    percent,
    points,
    report_text,
)
from structrag.evaluation.comparing import Comparison, SelfTestReport
from structrag.evaluation.comparing import compare as compare_splitters
from structrag.text.plurals import pluralise


def compare(
    paths: Paths,
    method: Annotated[
        str,
        typer.Option(
            help="Some of content_aware, fixed, pic, idms, hiqa and evidence, with commas between."
        ),
    ] = "content_aware,fixed,pic,idms,hiqa,evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    budget: Annotated[
        int, typer.Option(help="Tokens that the self-test hands over for a question.")
    ] = 1000,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """Compare splitting methods on your documents.

    Shown are sizes, what is cut, cost, and a retrieval self-test without labels.

    The self-test asks the documents' own headings, and sentences that point
    to a section, and looks for that section's text. Both are kept out of the index.
    It tells whether a section can be found by what its text says. It does not
    tell how your users' questions fare, and favours methods that cut at section
    borders. For questions of your users: structrag eval.
    """
    check_one_form(as_json, markdown)
    chosen = splitters(method, max_tokens)
    comparison = compare_splitters(
        documents(paths, format=format, reader=reader, isolated=isolated),
        chosen,
        embedder=embedder_of(embedder),
        budget=budget,
        progress=show_progress,
    )
    if as_json:
        print_items([asdict(comparison)], as_json)
    else:
        print_items(
            [report_text(_parts(comparison, max_tokens), markdown=markdown)], as_json
        )


def _parts(comparison: Comparison, max_tokens: int) -> list[ReportPart]:
    units = comparison.units
    size = (
        f"{pluralise(comparison.documents, 'document')}, "
        f"{pluralise(comparison.characters, 'character')}: "
        f"{pluralise(units['sentence'], 'sentence')}, "
        f"{pluralise(units['table'], 'table')}, {pluralise(units['code'], 'block')} of code. "
        f"At most {max_tokens} tokens a chunk."
    )
    test = ReportPart("Self-test", None, [comparison.no_selftest])
    if comparison.selftest:
        test = _selftest(comparison.selftest, comparison.embedder)
    of_chunks = [_chunks(comparison), _cost(comparison)] if comparison.methods else []
    return [ReportPart(notes=[size]), *of_chunks, test]


def _chunks(comparison: Comparison) -> ReportPart:
    head = ["method", "chunks", "tokens min", "median", "p95", "max"]
    head += ["sentences cut", "tables cut", "code cut"]
    rows = []
    for method in comparison.methods:
        values = [method.chunks, *method.tokens, *method.cut.values()]
        rows.append([method.name, *(f"{value:,}" for value in values)])
    note = (
        "Tokens are those of a chunk's text, estimated (p95: 95 of 100 chunks have no more). "
        "Cut: no single chunk holds the whole of it. "
        "What alone is longer than the limit is cut by every method that keeps the limit."
    )
    return ReportPart("Chunks", ReportTable(head, rows), [note])


def _cost(comparison: Comparison) -> ReportPart:
    head = [
        "method",
        "seconds to split",
        "embedded to split",
        "embedded to index",
        "LLM calls",
    ]
    rows = []
    for method in comparison.methods:
        counts = [
            method.embedded_to_split,
            method.embedded_to_index,
            method.model_calls,
        ]
        rows.append(
            [method.name, f"{method.seconds:.2f}", *(f"{count:,}" for count in counts)]
        )
    note = (
        f"Embedded are texts, here by {embedder_text(comparison.embedder)}: "
        "sentences to find where to cut, chunks to index them once (each further view once more). "
        "LLM calls are those that splitting takes if it is given a language model; "
        "it works without, and none was made here."
    )
    return ReportPart("Cost", ReportTable(head, rows), [note])


def _selftest(test: SelfTestReport, embedder: str) -> ReportPart:
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
            difference = "" if name == base else points(test.difference[name][kind])
            cells += [percent(recall[kind]), difference]
        rows.append(cells)
    title = "Self-test: finding sections without labels"
    return ReportPart(title, ReportTable(head, rows), _about(test, asked, embedder))


def _about(test: SelfTestReport, asked: dict[str, int], embedder: str) -> Sequence[str]:
    has_evidence = any(name in SEARCHED for name in test.recall)
    by = (
        "; evidence by EvidenceRetriever, which makes no chunks" if has_evidence else ""
    )
    left_out = "; ".join(f"{count} {reason}" for reason, count in test.left_out.items())
    return [
        "The share of a section's own text, in percent, among the best chunks that fit "
        f"{test.budget:,} tokens, when its heading is asked, or a sentence that points to it; "
        "then the difference to the first method in points. "
        "In brackets the 95% interval of a bootstrap over the questions: "
        "a difference whose interval holds 0 may be chance. "
        f"Searched by {embedder_text(embedder)} and BM25 over all documents{by}. "
        "Headings, heading paths, tables of contents and the sentences asked "
        "are kept out of the index.",
        f"Asked were {asked.get('heading', 0)} of {test.headings} headings."
        + (f" Not asked: {left_out}." if left_out else ""),
        "It tells whether a section can be found by what its text says, "
        "and how much of it then fits the budget. "
        "It does not tell how your users' questions fare: headings are not what users ask. "
        "It favours methods that cut at section borders, "
        "because the text that counts begins and ends there, and it shows nothing "
        "of what heading paths in the index bring, because they are kept out. "
        "With questions of your users: structrag eval.",
    ]
