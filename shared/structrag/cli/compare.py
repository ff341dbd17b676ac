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
from structrag.cli.printing import (
    ReportPart,
    ReportTable,
    embedder_text,
    percent,
    points,
    print_items,
    report_text,
    show_progress,
)
from structrag.evaluation.comparing import Comparison, SelfTestReport
from structrag.evaluation.comparing import compare as compare_splitters
from structrag.text.numbers import pluralise


def compare(
    paths: Paths,
    method: Annotated[
        str,
        typer.Option(
            help="Methods separated by commas: content_aware, fixed, pic, idms, hiqa, evidence."
        ),
    ] = "content_aware,fixed,pic,idms,hiqa,evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    budget: Annotated[
        int, typer.Option(help="The token budget of the self-test for each question.")
    ] = 1000,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """Compare splitting methods on your documents.

    The report shows chunk sizes, what was cut, the cost, and a retrieval self-test without labels.

    The self-test searches for a section by its heading, or by a sentence that refers to it; both
    are removed from the index. It shows whether the text of a section can be found. It does not
    show how well your users' questions are answered, and it favours methods that cut at section
    borders. To measure with your own questions, use structrag eval.
    """
    check_one_form(as_json, markdown)
    chosen = splitters(method, max_tokens)
    model = embedder_of(embedder)
    comparison = compare_splitters(
        documents(paths, format=format, reader=reader, isolated=isolated),
        chosen,
        embedder=model,
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
        f"{pluralise(units['sentence'], 'sentence')}, {pluralise(units['table'], 'table')}, "
        f"{pluralise(units['code'], 'block')} of code. At most {max_tokens} tokens per chunk."
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
        "Tokens are estimated from the text of a chunk (p95: 95% of the chunks have no more). "
        "Cut means that no single chunk holds the whole sentence, table or code block. Every "
        "method that keeps the limit must cut what is longer than the limit."
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
        f"Embedded counts the texts sent to {embedder_text(comparison.embedder)}: sentences to "
        "decide where to cut, and each chunk once to index it (once more for each further view). "
        "LLM calls are the calls that splitting would make with a language model; none was made "
        "here."
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
        "; evidence is found by EvidenceRetriever, which makes no chunks"
        if has_evidence
        else ""
    )
    left_out = "; ".join(f"{count} {reason}" for reason, count in test.left_out.items())
    return [
        "The query is the heading of a section, or a sentence that refers to it. Each figure is "
        f"the percentage of the section's own text among the best chunks within {test.budget:,} "
        "tokens, then the difference to the first method in points. Brackets hold the 95% "
        "bootstrap interval over the queries; a difference whose interval contains 0 is not "
        f"significant. All documents are searched by {embedder_text(embedder)} and BM25{by}. "
        "Headings, heading paths, tables of contents and the query sentences are removed from "
        "the index.",
        f"{asked.get('heading', 0)} of {test.headings} headings were used as queries."
        + (f" Not used: {left_out}." if left_out else ""),
        "The self-test shows whether the text of a section can be found, and how much of it fits "
        "the budget. It does not show how well your users' questions are answered, because users "
        "do not ask headings. It favours methods that cut at section borders, where the counted "
        "text begins and ends. It does not measure the benefit of heading paths, because they "
        "are removed. To measure with your own questions, use structrag eval.",
    ]
