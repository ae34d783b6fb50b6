"""Judges 20,000 random networks of all formats by ONNX Runtime, LiteRT and torch, as tests do with 100.

Seeded and resumable: what is done lies in build/reliability/second_truth.jsonl, a line for each block
of seeds. Networks that an earlier version of the code got wrong or refused are judged again before the
section is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from support.random_networks.families import FAMILIES, Block, make, run, wrong_in_c
from support.random_networks.judge import judged
from support.random_networks.trial import Recipe, RuntimeRefusalError, UnfitError

from benchmarks.results import RELIABILITY, commit, cumulated, table, write_section

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "reliability" / "second_truth.jsonl"
_BLOCK = 50  # seeds of one family that a process takes at a time
_COMPILED = 4  # networks of a block that are compiled, too


def planned(count: int, seed: int) -> list[tuple[str, range]]:
    """Blocks of seeds, in an order in which all families proceed alike, however many there are of each."""
    blocks = []
    for name, family in FAMILIES.items():
        seeds = range(seed, seed + count * family.share // 1000)
        blocks += [(at / len(seeds), name, seeds[at : at + _BLOCK]) for at in range(0, len(seeds), _BLOCK)]
    return [(name, seeds) for _, name, seeds in sorted(blocks, key=lambda block: block[:2])]


def done(seed: int) -> dict[str, list[Block]]:
    """The blocks of earlier runs with this seed, by commit."""
    found: dict[str, list[Block]] = {}
    if STATE.exists():
        for record in map(json.loads, STATE.read_text(encoding="utf-8").splitlines()):
            if record["seed"] == seed:
                found.setdefault(record["commit"], []).append(Block(**record["block"]))
    return found


def work(planned: tuple[str, Sequence[int]]) -> Block:
    return run(*planned, _COMPILED)


def judge_all(count: int, seed: int, jobs: int) -> None:
    """Judge what is not judged yet; each block is kept as soon as it is done."""
    known = {(block.family, block.first) for blocks in done(seed).values() for block in blocks}
    version = commit()
    rest = [(family, seeds) for family, seeds in planned(count, seed) if (family, seeds[0]) not in known]
    STATE.parent.mkdir(parents=True, exist_ok=True)
    with (
        STATE.open("a", encoding="utf-8") as file,
        get_context("spawn").Pool(jobs, maxtasksperchild=20) as pool,
    ):
        for block in pool.imap_unordered(work, rest):
            file.write(json.dumps({"commit": version, "seed": seed, "block": block.record()}) + "\n")
            file.flush()
            faults = "".join(f"\n  {recipe} {words}" for recipe, words in block.wrong.items())
            print(f"{block.family} {block.first}: {block.networks} networks{faults}", file=sys.stderr)


def judged_again(block: Block) -> None:
    """What is still wrong or refused with the code as it is now."""
    for kept in (block.wrong, block.refused):
        for recipe in list(kept):
            words = fault(recipe)
            if words:
                kept[recipe] = words
            else:
                del kept[recipe]


def fault(recipe: str) -> str:
    """What is wrong with a network, in the simulator or in C, or why it is refused."""
    try:
        trial = make(Recipe.parse(recipe))
    except (UnfitError, RuntimeRefusalError):
        return ""  # the families make another network of this recipe now
    verdict = judged(trial)
    in_c = verdict.graph is not None and not verdict.wrong and not verdict.graph.states
    return (
        verdict.wrong or verdict.refused or ("".join(wrong_in_c([(trial, verdict)]).values()) if in_c else "")
    )


def report(found: Mapping[str, Sequence[Block]], seed: int, planned_count: int) -> str:
    """The networks of this seed by family, and all that were ever judged by commit."""
    blocks = [block for of_commit in found.values() for block in of_commit]
    rows: list[Sequence[str]] = []
    all_operators: set[str] = set()
    for name, family in FAMILIES.items():
        own = [block for block in blocks if block.family == name]
        operators = {kind for block in own for kind in block.operators}
        # Operators of one name are one, whatever the format calls them.
        all_operators |= {kind.lower().replace("_", "") for kind in operators}
        rows.append([family.words, *_sums(own), f"{len(operators)}"])
    rows.append(["all", *_sums(blocks), f"{len(all_operators)}"])
    head = ["networks of", "judged", "compiled as C", "wrong", "refused", "operators"]
    errors = [error.split("   ")[0] for block in blocks for error in block.refused.values()]
    reasons = Counter(errors)
    refusals = "".join(f"\n- {count}: {words}" for words, count in reasons.most_common())
    wrong = "".join(f"\n- `{recipe}`: {words}" for block in blocks for recipe, words in block.wrong.items())
    total = sum(block.networks for block in blocks)
    words = (
        f"{total:,} random networks from {planned_count:,} seeds (starting at {seed} in each family; the"
        " other runtime rejects the rest): several layers with residuals, branches, odd sizes, strides,"
        " dilations and groups, in the operator set of each format. The simulator runs all of them, the"
        " generated C some, and both are compared with the native runtime of the format. TFLite integers,"
        " data movement and comparisons are equal bit for bit; floats agree to within the effect of rounding"
        " noise in the last places of each value."
    )
    parts = [
        textwrap.fill(words, 115),
        table(head, rows),
        "All runs, by the commit that they ran on:",
        cumulated(
            "reliability.second_truth",
            ["commit", "seed", "judged", "compiled as C", "wrong", "refused"],
            [[version, f"{seed}", *_sums(of_commit)] for version, of_commit in found.items()],
            RELIABILITY,
        ),
    ]
    parts += [f"Refused, with an error that says why:\n{refusals}"] if refusals else []
    parts += [f"Wrong:\n{wrong}"] if wrong else []
    return "\n\n".join(parts)


def _sums(blocks: Sequence[Block]) -> list[str]:
    counts: list[int] = [
        sum(block.networks for block in blocks),
        sum(block.compiled for block in blocks),
        sum(len(block.wrong) for block in blocks),
        sum(len(block.refused) for block in blocks),
    ]
    return [f"{count:,}" for count in counts]


def main(arguments: Sequence[str] | None = None) -> None:
    parser: Any = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", action="store_true", help="write the section from what is done so far")
    given = parser.parse_args(arguments)
    if not given.report:
        judge_all(given.networks, given.seed, given.jobs)
    found = done(given.seed)
    for blocks in found.values():
        for block in blocks:
            judged_again(block)
    text = report(found, given.seed, given.networks)
    write_section("reliability.second_truth", "Random networks against other runtimes", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
