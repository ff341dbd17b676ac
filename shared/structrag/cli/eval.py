"""Commands that measure splitting methods: `structrag eval` by the user's own questions, and
`structrag compare` by chunks and costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
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
    numbers,
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
from structrag.errors import InvalidParameter
from structrag.evaluation.aggregate import MeanEstimate
from structrag.evaluation.comparing import Comparison
from structrag.evaluation.comparing import compare as compare_splitters
from structrag.evaluation.labelled import (
    BUDGETS,
    DEPTHS,
    Evaluation,
    MethodScores,
    evaluate,
)
from structrag.evaluation.question_files import read_questions
from structrag.evaluation.searched import check_documents
from structrag.text.numbers import pluralise

FEW = 50  # questions, below which a report says so


def eval(
    paths: Paths,
    questions: Annotated[
        Path,
        typer.Option(
            help=(
                "A .jsonl, .json, .csv or .tsv file of questions, each with its quotes, answers, "
                "spans or docs."
            )
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            help="Methods separated by commas: content_aware, fixed, pic, idms, hiqa, evidence."
        ),
    ] = "content_aware,fixed,pic,idms,hiqa,evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    budget: Annotated[
        str,
        typer.Option(help="Token budgets for each question, separated by commas."),
    ] = ",".join(map(str, BUDGETS)),
    k: Annotated[
        str, typer.Option("-k", help="Numbers of chunks, separated by commas.")
    ] = ",".join(map(str, DEPTHS)),
    views: Annotated[
        str,
        typer.Option(help="Views separated by commas: raw, summary, keywords."),
    ] = "raw",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The folder to write eval.md and eval.json to.",
        ),
    ] = None,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """Measure splitting methods on your own questions.

    The report shows how much of the gold evidence each method finds.

    A .jsonl file has one object a line: a "question" and one of

    - "quotes" (passages of the documents, word for word; all are wanted)
    - "answers" (spellings of one answer; any will do)
    - "docs" (names of documents)
    - "spans" (document, start and end in characters)
    """
    check_one_form(as_json, markdown)
    budgets, depths = numbers("--budget", budget), numbers("-k", k)
    if output is not None and output.exists() and not output.is_dir():
        raise InvalidParameter(f"--output must be a folder; {str(output)!r} is a file.")
    chosen = splitters(method, max_tokens)
    model = embedder_of(embedder)
    read = documents(paths, format=format, reader=reader, isolated=isolated)
    check_documents(read, chosen)
    evaluation = evaluate(
        read,
        chosen,
        read_questions(questions, read),
        embedder=model,
        views=[view.strip() for view in views.split(",") if view.strip()],
        depths=depths,
        budgets=budgets,
        progress=show_progress,
    )
    parts = _evaluation_parts(evaluation, max_tokens)
    if as_json:
        print_items([asdict(evaluation)], as_json)
    else:
        print_items([report_text(parts, markdown=markdown)], as_json)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        text = f"# Splitting methods on {questions.name}\n\n{report_text(parts, markdown=True)}\n"
        (output / "eval.md").write_text(text, encoding="utf-8")
        values = json.dumps(asdict(evaluation), indent=1)
        (output / "eval.json").write_text(values + "\n", encoding="utf-8")
        typer.echo(f"{output}: eval.md, eval.json", err=True)


def _evaluation_parts(evaluation: Evaluation, max_tokens: int) -> list[ReportPart]:
    count = len(evaluation.questions)
    notes = [
        f"{pluralise(count, 'question')}, {pluralise(evaluation.documents, 'document')}, at most "
        f"{max_tokens} tokens per chunk. The chunks of every method are searched in the same way, "
        f"over all documents, by {embedder_text(evaluation.embedder)} and BM25 (views: "
        f"{', '.join(evaluation.views)}){_evidence(evaluation)}.",
        "Recall is the percentage of the gold that was found, averaged over the questions, with "
        "its 95% bootstrap interval in brackets. Methods make chunks of different sizes, so "
        "compare them at equal token budgets.",
    ]
    if count < FEW:
        notes.append(
            f"{pluralise(count, 'question')} {'is' if count == 1 else 'are'} few: other questions "
            "may give quite different results, even where every one of these was found and the "
            "interval is a point."
        )
    budgets = [f"{budget} tokens" for budget in evaluation.budgets]
    depths = [f"first {k}" for k in evaluation.depths]
    at_budgets = _table(evaluation, budgets, lambda method: method.recall, percent)
    at_depths = _table(
        evaluation, depths, lambda method: method.recall, percent, depths[-1]
    )
    parts = [
        ReportPart(notes=notes),
        ReportPart("Recall within a token budget", at_budgets),
        ReportPart("Recall among the first k chunks", at_depths),
    ]
    if len(evaluation.methods) > 1:
        note = (
            "Paired differences in points. A difference whose interval contains 0 is not "
            "significant."
        )
        table = _table(
            evaluation, [*budgets, *depths], lambda method: method.difference, points
        )
        rows = [[name, *cells] for name, _, *cells in table.rows[1:]]
        head = [name for name in table.head if name != "chunks"]
        parts.append(
            ReportPart(
                f"Difference to {evaluation.methods[0].name}",
                ReportTable(head, rows),
                [note],
            )
        )
    return parts


def _evidence(evaluation: Evaluation) -> str:
    """What to know of the row of evidence, if there is one."""
    if not any(method.name in SEARCHED for method in evaluation.methods):
        return ""
    return (
        "; evidence by EvidenceRetriever, which returns paragraphs and indexes sentences, rows "
        "and headings instead of chunks"
    )


def _table(
    evaluation: Evaluation,
    names: Sequence[str],
    values: Callable[[MethodScores], Mapping[str, MeanEstimate]],
    shown: Callable[[MeanEstimate], str],
    sized: str = "",
) -> ReportTable:
    """One row a method. `sized`, such as "first 5", adds the mean tokens of so many chunks."""
    head = ["method", "chunks", *names]
    if sized:
        head.append(f"tokens in the {sized}")
    rows = []
    for method in evaluation.methods:
        estimates = values(method)
        row = [
            method.name,
            f"{method.chunks:,}",
            *(shown(estimates[name]) for name in names),
        ]
        if sized:
            row.append(f"{method.tokens[sized]:,.0f}")
        rows.append(row)
    return ReportTable(head, rows)


def compare(
    paths: Paths,
    method: Annotated[
        str,
        typer.Option(
            help="Methods separated by commas: content_aware, fixed, pic, idms, hiqa."
        ),
    ] = "content_aware,fixed,pic,idms,hiqa",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """Compare splitting methods on your documents.

    The report shows chunk sizes, what was cut, and the cost. To measure which method finds more,
    use structrag eval with your own questions.
    """
    check_one_form(as_json, markdown)
    chosen = splitters(method, max_tokens, searched=False)
    model = embedder_of(embedder)
    comparison = compare_splitters(
        documents(paths, format=format, reader=reader, isolated=isolated),
        chosen,
        embedder=model,
        progress=show_progress,
    )
    if as_json:
        print_items([asdict(comparison)], as_json)
    else:
        print_items(
            [report_text(_comparison_parts(comparison, max_tokens), markdown=markdown)],
            as_json,
        )


def _comparison_parts(comparison: Comparison, max_tokens: int) -> list[ReportPart]:
    units = comparison.units
    size = (
        f"{pluralise(comparison.documents, 'document')}, "
        f"{pluralise(comparison.characters, 'character')}: "
        f"{pluralise(units['sentence'], 'sentence')}, {pluralise(units['table'], 'table')}, "
        f"{pluralise(units['code'], 'block')} of code. At most {max_tokens} tokens per chunk."
    )
    return [ReportPart(notes=[size]), _chunks(comparison), _cost(comparison)]


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
