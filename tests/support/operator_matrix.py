"""docs/ops.md: what became of the ONNX node suite, operator by operator."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from onnx import defs
from support.node_suite import EXACT, Outcome, Verdict
from support.onnx_cases import Case, cases

from edgekit.converters.onnx.reader import handlers
from edgekit.core.types import DType

PAGE = Path(__file__).parents[2] / "docs/ops.md"
_DOMAINS = {
    "": "ONNX",
    "ai.onnx.ml": "ONNX-ML",
    "ai.onnx.preview": "Preview",
    "ai.onnx.preview.training": "Preview: training",
}


@dataclass
class _Row:
    """What is known of one operator."""

    opsets: set[int] = field(default_factory=set)
    counts: Counter[Verdict] = field(default_factory=Counter)
    types: set[DType] = field(default_factory=set)
    constant: set[str] = field(default_factory=set)  # operands that had to be constants
    reasons: Counter[str] = field(default_factory=Counter)


def page(outcomes: Sequence[Outcome]) -> str:
    """The text of docs/ops.md for a run of everything."""
    kinds = {case.name: case.kind for case in cases()}
    outcomes = [outcome for outcome in outcomes if kinds[outcome.name] == "node"]
    return "\n".join(_lines(_rows(outcomes), outcomes)) + "\n"


def release(text: str) -> str:
    """The release of onnx that a page was written with."""
    return text.partition("node suite of onnx\n")[2].partition(":")[0]


def _rows(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], _Row]:
    by_name = {case.name: case for case in cases()}
    rows: dict[tuple[str, str], _Row] = defaultdict(_Row)
    for outcome in outcomes:
        # A case of an operator with a function body comes twice; the second is its body, expanded.
        case = by_name[outcome.name.partition("_expanded")[0]]
        (node,) = case.model.graph.node
        row = rows[node.domain, node.op_type]
        row.opsets |= {o.version for o in case.model.opset_import if o.domain == node.domain}
        row.counts[outcome.verdict] += 1
        if outcome.verdict is Verdict.RIGHT:
            row.types |= set(_types(case))
            if case.name == outcome.name:
                row.constant |= set(_operands(node, outcome.bound))
        else:
            row.reasons[_reason(outcome)] += 1
    return rows


def _types(case: Case) -> Iterator[DType]:
    graph = case.model.graph
    for value in (*graph.input, *graph.output):
        yield DType.of(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def _operands(node: onnx.NodeProto, bound: Sequence[str]) -> Iterator[str]:
    """The names that the specification gives to these inputs of a node."""
    formal = defs.get_schema(node.op_type, node.domain).inputs
    for i, name in enumerate(node.input):
        if name in bound and formal:
            yield formal[min(i, len(formal) - 1)].name


def _reason(outcome: Outcome) -> str:
    """The error without what differs from case to case."""
    text = outcome.detail.splitlines()[0].partition("   ")[0]
    return re.sub(r"\[[\d,]*\]", "[...]", re.sub(r"^E\d+ ", "", text))


def _lines(rows: Mapping[tuple[str, str], _Row], outcomes: Sequence[Outcome]) -> Iterator[str]:
    counts = Counter(outcome.verdict for outcome in outcomes)
    yield "# Operators"
    yield ""
    yield "Written by `scripts/conformance.py --write-docs` from the node suite of onnx"
    yield f"{onnx.__version__}: each case is converted, compiled as C and run."
    yield f"Of {len(outcomes):,} cases {counts[Verdict.RIGHT]:,} are right within the suite's tolerances, and"
    yield f"{counts[Verdict.REFUSED]:,} are refused with an error that names the node."
    yield ""
    yield f"{' and '.join(f'`{name}`' for name in EXACT)} are judged by the exact result:"
    yield "what the suite expects there is off by more than its own tolerance."
    yield "Where ONNX Runtime and onnx's reference evaluator differ in Resize, the suite holds EdgeKit to the"
    yield "evaluator, and models of users follow the runtime: see ADR 0049."
    yield ""
    yield "*Constant* are operands that must not depend on the model's inputs: generated code fixes shapes"
    yield "and counts. *Types* are those of inputs and outputs of right cases. Operators that the"
    yield "specification defines by others count twice: as they are, and expanded."
    for domain, title in _DOMAINS.items():
        own = sorted((name, row) for (d, name), row in rows.items() if d == domain)
        untested = sorted(name for d, name in handlers() if d == domain and (d, name) not in rows)
        if own:
            yield from (
                "",
                f"## {title}",
                "",
                "| operator | opset | right | refused | types | constant | refused are |",
            )
            yield "|---|---|---:|---:|---|---|---|"
        for name, row in own:
            yield _table_line(name, row)
        if untested:
            yield from ("", f"Supported, and not in the suite: {', '.join(untested)}.")


def _table_line(name: str, row: _Row) -> str:
    opsets = f"{min(row.opsets)}-{max(row.opsets)}" if len(row.opsets) > 1 else str(min(row.opsets))
    reasons = "; ".join(f"{reason} ({n})" for reason, n in sorted(row.reasons.items()))
    others = sum(n for verdict, n in row.counts.items() if verdict is not Verdict.RIGHT)
    types = " ".join(d.value for d in DType if d in row.types)
    constant = ", ".join(sorted(row.constant))
    cells = (name, opsets, row.counts[Verdict.RIGHT], others, types, constant, reasons.replace("|", "\\|"))
    return "| " + " | ".join(map(str, cells)) + " |"
